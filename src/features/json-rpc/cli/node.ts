// JSON-RPC in Node: the texts of its setting, and what `check` says of routes that have it.

import { writtenSources } from "../../../kernel/config/key-source.ts";
import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import type { SettingsTable } from "../../../kernel/config/table.ts";
import type { GivenSetting } from "../../../kernel/feature-settings.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { judgeAttempt } from "../../../kernel/record/verdict.ts";
import { matchesNamePattern } from "../choose-route.ts";
import { TOOLS_CALL } from "../read-call.ts";
import { KEY_SOURCES, SESSION_HEADER, uncomparedPointers } from "../settings/feature.ts";
import { callEntries, callTexts, jsonRpcEntries, jsonRpcTexts } from "../settings/json-rpc-entries.ts";
import { replaySetEntries, replaySetTexts, setEntries, setTexts } from "../settings/replay-set-entries.ts";

export const jsonRpcNode: NodeFeature = {
  name: "json-rpc",
  texts: [
    [jsonRpcEntries, jsonRpcTexts],
    [callEntries, callTexts],
    [replaySetEntries, replaySetTexts],
    [setEntries, setTexts],
  ],
  check: { warnings: uncalledRoutes, routeWarnings: callWarnings, writtenFor },
  promises,
};

/** What applies to a route with calls where nobody has written anything. */
const UNWRITTEN: SettingsTable = {
  key_from: writtenSources({ keyFrom: KEY_SOURCES, contentKey: null }),
  fingerprint: { body: "json", except: uncomparedPointers(KEY_SOURCES) },
  omit_headers: ["set-cookie", SESSION_HEADER],
};

function writtenFor(route: SettingsTable, defaults: SettingsTable): Readonly<Record<string, GivenSetting>> {
  if ((route["jsonrpc"] ?? defaults["jsonrpc"] ?? false) === false) return {};
  const unwritten = Object.entries(UNWRITTEN).filter(
    ([name]) => !Object.hasOwn(route, name) && !Object.hasOwn(defaults, name),
  );
  return Object.fromEntries(unwritten.map(([name, value]) => [name, { value, from: "follows from jsonrpc" }]));
}

/** What a server of MCP answers, before it calls anything, to a session that it does not have. */
const NO_SESSION = { kind: "answered", status: 404 } as const;

const SESSIONS = 'with refused = ["4xx", 503, 521, 523, 525, 526, 530] the try of the next session acts';

function promises({ routes }: Config): readonly string[] {
  return routes.flatMap(({ path, jsonrpc, rules: { lists } }) => {
    if (jsonrpc === null) return [];
    const isKept = jsonrpc.methods.includes(TOOLS_CALL) && judgeAttempt(NO_SESSION, lists) === "result";
    const { methods, tools, optional } = jsonrpc;
    const some = optional.length === 0 ? "" : ` (${optional.join(", ")} also without a key, unprotected)`;
    return [
      `${path}: protects calls of ${methods.join(", ")}, tools ${tools.join(", ") || "none"}${some}; all other JSON-RPC passes`,
      ...(isKept
        ? [`${path}: the 404 of a session that the server has forgotten is kept, and replayed: ${SESSIONS}`]
        : []),
    ];
  });
}

function callWarnings(route: Route): readonly ConfigProblem[] {
  return [...openRoutes(route), ...sharedIds(route)];
}

/** Clients who read problems as JSON-RPC find their calls by the id in replays, too. */
function sharedIds({ name, jsonrpc, problemShape }: Route): readonly ConfigProblem[] {
  const body = problemShape?.body;
  const isRpc = body?.kind === "object" && body.members.some(([member]) => member === "jsonrpc");
  if (jsonrpc !== null || !isRpc) return [];
  const message =
    "has problems for clients of JSON-RPC, and replays under the id of the first call, for whose response the next one waits in vain: write jsonrpc = true";
  return [{ path: `${name}.problems`, message }];
}

function openRoutes({ name, jsonrpc, onStoreFailure }: Route): readonly ConfigProblem[] {
  if (jsonrpc === null || onStoreFailure !== "open") return [];
  const message =
    'is "open": while records cannot be reached, each try of a call acts again: write on_store_failure = "closed"';
  return [{ path: `${name}.on_store_failure`, code: "protection-weakened", message }];
}

/** Routes that get no call, because an earlier one of the same path names all of theirs. */
function uncalledRoutes({ routes }: Config): readonly ConfigProblem[] {
  return routes.flatMap((route, index) => {
    const earlier = routes.slice(0, index).find((one) => one.path === route.path && namesAll(one, route));
    if (earlier === undefined) return [];
    const message = `gets no call, because ${earlier.name} of the same path names them all first: write this route above that one`;
    return [{ path: `${route.name}.jsonrpc`, code: "route-unreachable", message } as const];
  });
}

function namesAll({ jsonrpc: wide }: Route, { jsonrpc: narrow }: Route): boolean {
  if (wide === null || narrow === null) return false;
  const tools = [...wide.tools, ...wide.optional];
  return coversNames(wide.methods, narrow.methods) && coversNames(tools, [...narrow.tools, ...narrow.optional]);
}

function coversNames(names: readonly string[], others: readonly string[]): boolean {
  return others.every((other) => names.some((name) => matchesNamePattern(name, other)));
}
