// Shows what a configuration protects, before it is deployed: a short table for people, which no script may parse, and each
// route's settings for scripts. Decides which settings the table shows, and names them as the file does.

import { sourceText, writtenSources } from "../../kernel/config/key-source.ts";
import { type Config, type ForwardKey, protectsKeys, type Route } from "../../kernel/config/resolved.ts";
import { scopePartName } from "../../kernel/config/scope-part.ts";
import { describeOrigin } from "../../kernel/config/settings-origin.ts";
import { formatDuration } from "../../kernel/config/units.ts";
import type { DescribedEntry, RouteColumn } from "../../kernel/node-feature.ts";
import type { UnknownRule } from "../../kernel/record/record.ts";
import { ENTRY_KINDS, promisesOfFeatures } from "./of-features.ts";

const HEADINGS: readonly RouteColumn[] = [
  "path",
  "methods",
  "origin",
  "key",
  "scope",
  "unknown",
  "duplicate",
  "retention",
];

type Row = Readonly<Record<RouteColumn, string>>;

/** One line per route, indented, in columns. */
export function describeConfig(config: Config): string {
  const entries = ENTRY_KINDS.flatMap(({ of }) => of(config));
  const described: readonly Row[] = [
    ...config.routes.map(describeRoute),
    ...entries.map(({ route, cells }): Row => Object.assign(describeRoute(route), cells)),
  ];
  const rows = [HEADINGS, ...described.map((row) => HEADINGS.map((heading) => row[heading]))];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .concat(config.routes.filter(protectsKeys).map((route) => `  ${route.path}: ${promiseOf(route)}`))
    .concat(config.routes.flatMap((route) => ignoredOf(route).map((ignored) => `  ${route.path}: ${ignored}`)))
    .concat(promisesOfFeatures(config).map((promise) => `  ${promise}`))
    .concat(`  everything else goes to ${describeOrigin(config.origin)} unprotected`)
    .join("\n");
}

/** A route for scripts: its settings on one level, without the groups in which the gateway keeps them. */
export function flatRoute({
  rules: { policy, lists, ...rules },
  layouts,
  keyFrom,
  contentKey,
  ...route
}: Route): object {
  const previousShards = layouts.previous.map(({ shards, jurisdiction }) => ({ shards, jurisdiction }));
  const written = writtenSources({ keyFrom, contentKey });
  return { ...route, keyFrom: written, ...layouts.own, previousShards, ...policy, ...lists, ...rules };
}

/** An entry of a feature for scripts. */
export function flatEntry({ route, json }: DescribedEntry): object {
  return { ...flatRoute(route), ...json };
}

function describeRoute({ rules: { policy, duplicate, waitMs }, ...route }: Route): Row {
  return {
    path: route.path,
    methods: route.methods.join(","),
    origin: describeOrigin(route.origin),
    key: `${route.key}${describePlaces(route)}${describeForwarding(route.forwardKey)}`,
    scope: route.scope.length === 0 ? "none" : route.scope.map(scopePartName).join("+"),
    unknown: policy.unknown,
    duplicate: duplicate === "reject" ? duplicate : `${duplicate} ${formatDuration(waitMs)}`,
    retention: formatDuration(policy.retentionMs),
  };
}

/** What the route's rule for unknown outcomes means for whoever retries. */
function promiseOf(route: Route): string {
  const encrypted =
    route.encryptResponses === true ? "; responses open for their callers only (encrypt_responses = true)" : "";
  return promiseOfRule(route) + encrypted + acceptanceOf(route);
}

/** What the gateway promises about requests that it has accepted: which attempts it makes without being asked again. */
function acceptanceOf({ async: when, rules: { policy } }: Route): string {
  const { schedule } = policy;
  if (schedule === undefined) return "";
  const which = when === "always" ? "requests are" : "requests that ask for it are";
  const again = `up to ${schedule.attempts} in ${formatDuration(schedule.giveUpAfterMs)}`;
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
function describePlaces({ keyFrom, contentKey }: Pick<Route, "keyFrom" | "contentKey">): string {
  const places = [...keyFrom.map(sourceText), ...(contentKey === null ? [] : ["its content"])].join(" or ");
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
