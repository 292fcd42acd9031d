// What the setting `jsonrpc` adds to a route, and its relations to other settings. As in cross-checks.ts, a relation with an invalid setting is skipped.

import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import { IDEMPOTENCY_KEY, type KeyPart, type KeySource } from "../../../kernel/config/key-source.ts";
import type { Cors, FingerprintRule, Route } from "../../../kernel/config/resolved.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import { isTable, listOf, readJsonVariable } from "../../../kernel/config/table.ts";
import { pointerTokens } from "../../../kernel/config/values.ts";
import type { FeatureSettings, PlacedRules, SettingsInput } from "../../../kernel/feature-settings.ts";
import { callEntries, jsonRpcEntries, type JsonRpcSettings, ruleOf } from "./json-rpc-entries.ts";
import { replaySetEntries, setEntries } from "./replay-set-entries.ts";

export const jsonRpcSettings: FeatureSettings<JsonRpcSettings> = {
  name: "json-rpc",
  routes: {
    after: "key",
    entries: { ...jsonRpcEntries, ...replaySetEntries },
    tables: { jsonrpc: callEntries, replay_set: setEntries },
    areAlternatives: (settings) => ruleOf(settings) !== null,
  },
  read: ({ env, defaults }) => {
    const written = routesWithKeys(env);
    const isForAll = Object.hasOwn(defaults.settings, KEY_FROM);
    return {
      check: (rules) => rules.flatMap(contradictions),
      resolveRoute: (route, settings) => resolveRoute(route, settings, isForAll || written.has(route.name)),
    };
  },
};

const KEY_FROM = "key_from";

/** The routes that say where their keys are, by their names. Their settings alone do not tell whether they say what is the default. */
function routesWithKeys(env: SettingsInput["env"]): ReadonlySet<string> {
  const variables = Object.keys(env).filter((name) => name.startsWith("ROUTES"));
  const routes = variables.flatMap((name) => {
    const read = readJsonVariable(env[name]);
    return listOf(read.ok ? read.value : []).map((route, at) => [`${name}[${at}]`, route] as const);
  });
  return new Set(routes.flatMap(([name, route]) => (isTable(route) && Object.hasOwn(route, KEY_FROM) ? [name] : [])));
}

/** The session of one connection: a client that comes back has another. */
export const SESSION_HEADER = "mcp-session-id";

/** Where the key is unless the route says so. */
export const KEY_SOURCES: readonly KeySource[] = [
  IDEMPOTENCY_KEY,
  ...[
    "/params/_meta/idempotencyKey",
    "/params/idempotencyKey",
    "/params/arguments/idempotency_key",
    "/params/arguments/meta/idempotency_key",
    "/params/arguments/meta/idempotency-key",
  ].map(bodyPart),
];

function bodyPart(name: string): KeyPart {
  return { kind: "json", name, tokens: pointerTokens(name) };
}

/** What differs between two tries of one call: its id, what is about the connection, and what the server has asked for meanwhile. */
const UNCOMPARED = ["/id", "/params/_meta", "/params/inputResponses", "/params/requestState"];

/** The headers of MCP that pages send. */
const PAGE_HEADERS = ["Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"];

function resolveRoute(route: Route, settings: FullSettings & JsonRpcSettings, writesKeys: boolean): Route {
  const jsonrpc = ruleOf(settings);
  if (jsonrpc === null) return route;
  const { rules, note, cors } = route;
  const keyFrom = writesKeys ? route.keyFrom : KEY_SOURCES;
  const omitHeaders = [...new Set([...rules.omitHeaders, SESSION_HEADER])];
  // Of an encrypted route operators see nothing of requests.
  const label = route.encryptResponses === true ? note.label : (note.label ?? bodyPart("/params/name"));
  return {
    ...route,
    jsonrpc,
    keyFrom,
    fingerprint: fingerprintOf(route.fingerprint, keyFrom),
    rules: { ...rules, omitHeaders, uncompressed: true, awaitsMessage: true },
    note: { ...note, label },
    cors: cors === null ? null : withPageHeaders(cors),
  };
}

function fingerprintOf(rule: FingerprintRule, keyFrom: readonly KeySource[]): FingerprintRule {
  const { selection } = rule;
  if (selection?.kind === "only") return { ...rule, body: "json" };
  const pointers = uncomparedPointers(keyFrom, selection?.pointers ?? []);
  return { ...rule, body: "json", selection: { kind: "except", pointers } };
}

/** What of a call does not count. `own`: what the route says itself. */
export function uncomparedPointers(keyFrom: readonly KeySource[], own: readonly string[] = []): readonly string[] {
  const keys = keyFrom.flatMap((source) => (source.kind === "json" ? [source.name] : []));
  const all = [...new Set([...own, ...UNCOMPARED, ...keys])];
  return all.filter((one) => !all.some((above) => one.startsWith(`${above}/`))).toSorted();
}

function withPageHeaders(cors: Cors): Cors {
  return {
    ...cors,
    allowHeaders: withNames(cors.allowHeaders, PAGE_HEADERS),
    exposeHeaders: withNames(cors.exposeHeaders, [PAGE_HEADERS[0] ?? ""]),
  };
}

function withNames(names: readonly string[], more: readonly string[]): readonly string[] {
  const known = new Set(names.map((name) => name.toLowerCase()));
  return [...names, ...more.filter((name) => !known.has(name.toLowerCase()))];
}

function withoutCalls(place: string): ConfigProblem {
  return {
    path: `${place}.replay_set`,
    code: "settings-contradict",
    message:
      "is only for routes with jsonrpc, because only their replays are edited: write jsonrpc = true, or leave it out",
  };
}

type Contradiction = readonly [setting: string, isSet: boolean, why: string];

function contradictions({ place: own, inForce }: PlacedRules<JsonRpcSettings>): readonly ConfigProblem[] {
  const { all, place } = inForce;
  if (!own.startsWith("ROUTES") || !inForce.isKnown("jsonrpc", "replay_set")) return [];
  if (ruleOf(all) === null) return all.replay_set.length === 0 ? [] : [withoutCalls(place("replay_set"))];
  const path = `${place("jsonrpc")}.jsonrpc`;
  return impossible(all)
    .filter(([, isSet]) => isSet)
    .map(([setting, , why]) => ({
      path,
      code: "settings-contradict",
      message: `must not be there with ${setting}, because ${why}: leave out one of the two`,
    }));
}

/** Other features' settings are known by name alone. */
function impossible(all: FullSettings & JsonRpcSettings): readonly Contradiction[] {
  const of = (name: string): unknown => Reflect.get(all, name);
  const { body, headers = [] } = all.fingerprint;
  const sources = of("key_from");
  const hasSession =
    headers.includes(SESSION_HEADER) ||
    all.scope.some((part) => part.kind === "header" && part.name.toLowerCase() === SESSION_HEADER);
  return [
    ['duplicate = "attach"', all.duplicate === "attach", "only one caller may follow a stream of messages"],
    ["async", (of("async") ?? "never") !== "never", "a 202 is no response to a call"],
    ["verify", all.unknown === "verify", "an answer to GET is no response to a call"],
    ["methods without POST", !all.methods.includes("POST"), "calls come by POST"],
    ["digest in key_from", hasKind(sources, "content"), "two equal payments are two"],
    ["form in key_from", hasKind(sources, "form"), "the body of a call is JSON"],
    ["graphql = true", of("graphql") === true, "a body is one of the two"],
    ["fingerprint.body", body !== undefined && body !== "json", "two tries of a call differ in their ids"],
    [`${SESSION_HEADER} in scope or fingerprint`, hasSession, "a client that comes back has another session"],
  ];
}

/** Whether any of the sources, or of their parts, is of this kind. */
function hasKind(sources: unknown, kind: string): boolean {
  if (typeof sources !== "object" || sources === null) return false;
  return Reflect.get(sources, "kind") === kind || Object.values(sources).some((one: unknown) => hasKind(one, kind));
}
