// Shows what a configuration protects, before it is deployed: a short table for people, which no script may parse, and each
// route's settings for scripts. Decides which settings the table shows, and names them as the file does.

import type { UnknownRule } from "../record/record.ts";
import { sourceText, writtenSource } from "./key-source.ts";
import { publishedBy } from "../../features/outbox/settings/checks.ts";
import { type Config, type ForwardKey, type Consumer, type Queue, type Route } from "./resolved.ts";
import { describeOrigin } from "./settings-origin.ts";
import type { Settings } from "./settings.ts";
import { formatDuration } from "./units.ts";
import { describeIdentity } from "./identity.ts";
import { identityNames, scopePartName } from "./scope-part.ts";

const HEADINGS = [
  "path",
  "methods",
  "origin",
  "key",
  "scope",
  "unknown",
  "duplicate",
  "retention",
] as const satisfies readonly (keyof Settings | "path")[];

/** One line per route, indented, in columns. */
export function describeConfig(config: Config): string {
  const { consumerPath } = config;
  const rows = [
    HEADINGS,
    ...config.routes.map(describeRoute),
    ...config.queues.map(describeQueue),
    ...config.consumers.map((consumer) => describeConsumer(consumer, consumerPath)),
  ];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .concat(config.routes.map((route) => `  ${route.path}: ${promiseOf(route)}`))
    .concat(config.routes.flatMap((route) => ignoredOf(route).map((ignored) => `  ${route.path}: ${ignored}`)))
    .concat(config.routes.flatMap((route) => identitiesOf(route).map((text) => `  ${route.path}: ${text}`)))
    .concat(config.queues.map((queue) => `  ${queue.route.path}: ${messagePromiseOf(queue)}`))
    .concat(
      [...config.routes, ...[...config.queues, ...config.consumers].map(({ route }) => route)].flatMap((route) =>
        publishedBy(route, config.destinations).map((text) => `  ${route.path}: ${text}`),
      ),
    )
    .concat(config.consumers.map((consumer) => `  ${consumer.route.path}: ${claimPromiseOf(consumer)}`))
    .concat(`  everything else goes to ${describeOrigin(config.origin)} unprotected`)
    .join("\n");
}

/** A route for scripts: its settings on one level, without the groups in which the gateway keeps them. */
export function flatRoute({ rules: { policy, lists, ...rules }, layouts, ...route }: Route): object {
  const previousShards = layouts.elders.map(({ shards, jurisdiction }) => ({ shards, jurisdiction }));
  const keyFrom = route.keyFrom.map(writtenSource);
  return { ...route, keyFrom, ...layouts.own, previousShards, ...policy, ...lists, ...rules };
}

/** A queue for scripts. */
export function flatQueue({ route, callHeaders, scopeParts, ...queue }: Queue): object {
  const scope = scopeParts.map(sourceText);
  return { ...flatRoute(route), ...queue, scope, callHeaders: callHeaders.map(({ name }) => name) };
}

function describeRoute({ rules: { policy, duplicate, waitMs }, ...route }: Route): readonly string[] {
  return [
    route.path,
    route.methods.join(","),
    describeOrigin(route.origin),
    `${route.key}${describePlaces(route)}${describeForwarding(route.forwardKey)}`,
    route.scope.length === 0 ? "none" : route.scope.map(scopePartName).join("+"),
    policy.unknown,
    duplicate === "reject" ? duplicate : `${duplicate} ${formatDuration(waitMs)}`,
    formatDuration(policy.retentionMs),
  ];
}

/** What tells the route's callers apart, where that is not the credential of the day. */
function identitiesOf({ scope, identities }: Route): readonly string[] {
  const used = identityNames([scope]);
  return identities
    .filter(({ name }) => used.includes(name))
    .map((identity) => {
      const others = identity.anonymous === "allow" ? "; callers without a credential share one scope" : "";
      return `a refreshed credential finds its records: ${describeIdentity(identity)}${others}`;
    });
}

function describeQueue({ route, url, hasIdAsKey, scopeParts }: Queue): readonly string[] {
  const [, , , , , unknown = "", duplicate = "", retention = ""] = describeRoute(route);
  const key = [...route.keyFrom.map(sourceText), ...(hasIdAsKey ? ["id"] : [])].join(" or ");
  const scope = ["queue", ...scopeParts.map(sourceText)].join("+");
  return [route.path, "message", url, key, scope, unknown, duplicate, retention];
}

/** What the queue's rule for unknown outcomes means for its messages. */
function messagePromiseOf({ route: { rules }, deadLetter, giveUpAfterMs }: Queue): string {
  const until = `refused messages are tried for ${formatDuration(giveUpAfterMs)}, dead letters go to ${deadLetter}`;
  switch (rules.policy.unknown) {
    case "hold":
      return `no second effect: after an unknown outcome, the message waits with its record until an operator decides (unknown = "hold"); ${until}`;
    case "verify":
      return `no second effect: after an unknown outcome, the message is tried again only if the origin, asked, knows nothing of the first try (unknown = "verify"); ${until}`;
    case "retry":
      return `a second effect is possible: after an unknown outcome, the message is tried again when the lock has ended (unknown = "retry"), which only an origin that knows keys makes safe; ${until}`;
  }
}

/** A group for scripts. */
export function flatConsumer({ route, ...consumer }: Consumer): object {
  return { ...flatRoute(route), ...consumer };
}

function describeConsumer({ route, group }: Consumer, path: string | null): readonly string[] {
  const { unknown, retentionMs } = route.rules.policy;
  return [route.path, "claim", `${path}/${group}`, "required", "group", unknown, "reject", formatDuration(retentionMs)];
}

/** What a claim of this group is worth. */
function claimPromiseOf({ route, maxLockMs }: Consumer): string {
  const { unknown, lockMs } = route.rules.policy;
  const lease = `a claim holds its key for ${formatDuration(lockMs)}, at most ${formatDuration(maxLockMs)}`;
  return unknown === "hold"
    ? `${lease}; if its holder does not say how it ended, nobody gets the key until an operator decides (unknown = "hold")`
    : `${lease}; if its holder does not say how it ended, the next one gets the key, and a second effect is possible (unknown = "retry"): pass the attempt's number to what can refuse an older one`;
}

/** What the route's rule for unknown outcomes means for whoever retries. */
function promiseOf(route: Route): string {
  const sealed = route.sealed === true ? "; responses open for their callers only (sealed = true)" : "";
  return promiseOfRule(route) + sealed + acceptanceOf(route);
}

/** What the gateway promises about requests that it has accepted: which attempts it makes without being asked again. */
function acceptanceOf({ async: when, rules: { policy } }: Route): string {
  const { drive } = policy;
  if (drive === undefined) return "";
  const which = when === "always" ? "requests are" : "requests that ask for it are";
  const again = `up to ${drive.attempts} in ${formatDuration(drive.giveUpAfterMs)}`;
  return `; ${which} answered before their result (async = "${when}"), and the gateway repeats ${AGAIN[policy.unknown]}, ${again}`;
}

const AGAIN: Readonly<Record<UnknownRule, string>> = {
  hold: "refused attempts by itself, and none whose outcome is unknown",
  verify: "refused attempts by itself, and those of which the origin, asked, knows nothing",
  retry:
    "by itself refused attempts and those whose outcome is unknown, each of which may take effect again unless the origin knows keys",
};

function promiseOfRule({ rules: { policy }, onStoreFailure, graphql }: Route): string {
  const queries = graphql ? "; GraphQL queries and subscriptions pass (graphql = true)" : "";
  const late =
    policy.rememberMs === undefined
      ? ""
      : `; for ${formatDuration(policy.rememberMs)}, a duplicate after the retention gets 409 key-expired`;
  const open =
    onStoreFailure === "open"
      ? `; a request whose record cannot be reached is unprotected (on_store_failure = "open")${queries}`
      : queries;
  switch (policy.unknown) {
    case "hold":
      return `no second effect: after an unknown outcome, retries get 409 until an operator decides (unknown = "hold")${late}${open}`;
    case "verify":
      return `no second effect: after an unknown outcome, a retry runs only if the origin, asked, knows nothing of the first try (unknown = "verify")${late}${open}`;
    case "retry":
      return `a second effect is possible: after an unknown outcome, a retry runs when the lock has ended (unknown = "retry"), which only an origin that knows keys makes safe${late}${open}`;
  }
}

/** What a client may change under the same key, which is then replayed instead of refused. */
function ignoredOf({ fingerprint: { body, selection, query, queryExcept } }: Route): readonly string[] {
  const ignored: string[] = [];
  if (body === "none") ignored.push("the body");
  if (selection?.kind === "except") ignored.push(`${selection.pointers.join(", ")} of the body`);
  if (selection?.kind === "only") ignored.push(`all of the body but ${selection.pointers.join(", ")}`);
  if (query === "none") ignored.push("the query");
  if (queryExcept.length > 0) ignored.push(`${queryExcept.join(", ")} in the query`);
  if (ignored.length === 0) return [];
  return [
    `not compared: ${ignored.join("; ")}. With the same key, a change there is replayed, not refused (fingerprint)`,
  ];
}

/** Where the key is, unless it is where all clients send it. */
function describePlaces({ keyFrom }: Pick<Route, "keyFrom">): string {
  const places = keyFrom.map(sourceText).join(" or ");
  return places === "header:Idempotency-Key" ? "" : ` (${places})`;
}

function describeForwarding(forwardKey: ForwardKey): string {
  switch (forwardKey.kind) {
    case "client":
      return "";
    case "none":
      return ", not forwarded";
    case "step":
      return `, forwarded as :${forwardKey.step}`;
  }
}
