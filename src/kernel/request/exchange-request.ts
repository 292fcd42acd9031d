// From a request with a key to the exchange that the shard runs: its scope, body and fingerprint are read here. Nothing is
// sent before all of the request has been found good.

import { layoutName } from "../config/layout.ts";
import type { Route, RouteRules } from "../config/resolved.ts";
import type { ClientProblem } from "../record/problem.ts";
import { attemptId, durationMs, type RecordId } from "../record/units.ts";
import type { RouteTelemetry } from "../traffic/exchange-reporter.ts";
import type { EncryptionDeriver } from "../encryption/encryption.ts";
import type { BodyReader } from "./body-reader.ts";
import { lastEventId } from "../resume/event-stream.ts";
import { type ComparisonRule, comparedHeaders, comparisonOf } from "./comparison.ts";
import { comparedQuery } from "./compared-query.ts";
import { type FingerprintParts, fingerprintRequest } from "./fingerprint.ts";
import { forwardedHost, requestedHost } from "./host.ts";
import { declaredLength, type HeadersView } from "./headers.ts";
import type {
  AnsweredAtOnce,
  CanonicalMultipart,
  ProveCaller,
  ProverPorts,
  ReadingFunctions,
  SearchedKey,
  SearchKey,
} from "../request-feature.ts";
import type { ExchangeIntent, SearchIntent } from "./intent.ts";
import type { AsyncRequest, ExchangeRequest, NamesIn, RecordName, StreamedUpload, Verification } from "./message.ts";
import { monitorPathOf } from "./monitor-url.ts";
import { originCall, verificationOf } from "./origin-parts.ts";
import { isAccepted, preferencesIn } from "./prefer.ts";
import { type NotableRequest, noteOf } from "../notes/request-note.ts";
import { nameRecord } from "./record-name.ts";
import { type HeldOrFlowing, readBody, unreadOf } from "./body.ts";
import { callerLane, countFor, NO_PROOFS, type CallerProofs, readScope, type ScopeValues } from "./scope.ts";
import type { PassOn } from "./pass-through.ts";

/** The parts of a request that have been read. `echo`: the key of a refused request, as far as it is known. */
export type ReadExchange =
  | { readonly kind: "exchange"; readonly exchange: ExchangeRequest }
  /** `unread` is the body, or the rest of it, that is still to be taken off the wire; `null` for none. */
  | {
      readonly kind: "refuse";
      readonly problem: ClientProblem;
      readonly echo: string | null;
      readonly unread: BodyReader | null;
    }
  | PassOn
  | AnsweredAtOnce;

/** What requests are read with. */
export interface ReadPorts {
  readonly proveCaller: ProveCaller;
  readonly encryptions: EncryptionDeriver;
  /** Only where the feature is. */
  readonly searchKey?: SearchKey;
  readonly canonicalMultipart?: CanonicalMultipart;
}

/** The ports that features fill, as far as they are there. */
export function readingFeatures(
  { callerProver, keySearch, graphqlReader, canonicalMultipart }: ReadingFunctions,
  ports: ProverPorts,
): Omit<ReadPorts, "encryptions"> {
  return {
    proveCaller: callerProver?.(ports) ?? (() => Promise.resolve(NO_PROOFS)),
    ...(keySearch === undefined ? null : { searchKey: keySearch(graphqlReader ?? null) }),
    ...(canonicalMultipart === undefined ? null : { canonicalMultipart }),
  };
}

export async function readExchange(
  intent: ExchangeIntent | SearchIntent,
  telemetry: RouteTelemetry,
  ports: ReadPorts,
): Promise<ReadExchange> {
  const { route } = intent;
  const { proveCaller } = ports;
  const hasIdentities = route.identities.length > 0;
  let known: ReadScopes | null = null;
  // The caller is proved before the body is read for the key, where that key is required. Of a GraphQL request only the body tells
  // whether it needs one: queries pass.
  if (hasIdentities && intent.kind === "search" && route.key === "required" && !route.graphql) {
    const { headers, passing } = intent;
    const caller = { route, headers, url: passing.url };
    const read = readScopes(caller, await proveCaller(caller));
    if ("problem" in read) return { kind: "refuse", ...read, echo: null, unread: unreadOf(passing.request, headers) };
    known = read;
  }
  const keyed =
    intent.kind === "exchange" ? ({ kind: "keyed", intent, body: null } as const) : await searched(intent, ports);
  switch (keyed.kind) {
    case "keyed": {
      const proofs = hasIdentities && known === null ? await proveCaller(keyed.intent) : NO_PROOFS;
      return readKeyed(keyed.intent, keyed.body, known ?? readScopes(keyed.intent, proofs), telemetry, ports);
    }
    case "refuse":
      return { ...keyed, echo: null };
    case "pass":
    case "answered":
      return keyed;
  }
}

function searched(intent: SearchIntent, { searchKey }: ReadPorts): Promise<SearchedKey> {
  if (searchKey === undefined) throw new TypeError("no feature searches for keys");
  return searchKey(intent);
}

/** `read` is the body if it has been read already. */
async function readKeyed(
  intent: ExchangeIntent,
  read: HeldOrFlowing | null,
  scopes: ReadScopes | { readonly problem: ClientProblem },
  telemetry: RouteTelemetry,
  { encryptions, canonicalMultipart }: ReadPorts,
): Promise<ReadExchange> {
  const { route, key } = intent;
  const refuseKeyed = (problem: ClientProblem, unread: BodyReader | null = null): ReadExchange => {
    if (read?.kind === "whole") read.body.free();
    return { kind: "refuse", problem, echo: key.raw, unread };
  };
  if ("problem" in scopes) {
    if (read === null) return refuseKeyed(scopes.problem, unreadOf(intent.request, intent.headers));
    // What has been read of a large body counts as held until it is drained.
    return refuseKeyed(scopes.problem, read.kind === "over" ? read.rest : null);
  }
  const body = read ?? (await readBody(intent, "forward"));
  switch (body.kind) {
    case "refuse":
      return refuseKeyed(body.problem, body.rest);
    case "too-large":
      return refuseKeyed({ code: "body-too-large", limitBytes: route.maxRequestBodyBytes }, body.rest);
    case "whole":
    case "over": {
      const exchange = await exchangeOf(intent, scopes, body, telemetry, canonicalMultipart);
      if (route.encryptResponses === false) return { kind: "exchange", exchange };
      const head = await encryptions.encrypted(exchange.head, scopes.scope, route.encryptResponses);
      return { kind: "exchange", exchange: { ...exchange, head } };
    }
  }
}

async function exchangeOf(
  intent: ExchangeIntent,
  scopes: ReadScopes,
  body: HeldOrFlowing,
  { log, serverTiming, trace, isTraced }: RouteTelemetry,
  canonicalMultipart: CanonicalMultipart | undefined,
): Promise<ExchangeRequest> {
  const { request, headers, url, route, key } = intent;
  const comparison = comparisonOf(route.fingerprint, headers);
  const parts: FingerprintParts = {
    method: request.method,
    path: url.pathname,
    query: comparedQuery(url.search, route.fingerprint),
    headers: comparedHeaders(route.fingerprint.headers, headers, comparison),
  };
  const bytes = body.kind === "whole" ? body.body.bytes : new Uint8Array();
  const namesIn = namerOf(key.key, scopes);
  const isWhole = body.kind === "whole";
  const notable: NotableRequest = {
    method: request.method,
    pathname: url.pathname,
    search: url.search,
    headers,
    caller: request,
    scope: scopes.scope,
    body: isWhole ? bytes : null,
    sizeBytes: isWhole ? bytes.byteLength : declaredLength(headers),
  };
  const [names, fingerprint] = await Promise.all([
    namesIn(route.layouts.own),
    // If the body is still coming, the shard digests its bytes, and the fingerprint computed here is not used.
    fingerprintRequest(parts, bytes, comparison, request, canonicalMultipart),
  ]);
  const asked = verificationOf(intent, isWhole ? bytes : null);
  const verification = asked instanceof Promise ? await asked : asked;
  const newKeys = route.newKeys === null ? null : await countFor(route.newKeys, scopes.scope, headers);
  return {
    head: {
      record: { ...recordNames(names), key: key.key, route: route.path, lane: scopes.lane },
      request: {
        echo: key.raw,
        attemptId: attemptId(crypto.randomUUID()),
        fingerprint,
        sameBytes: route.fingerprint.body === "bytes",
        upload: body.kind === "whole" ? null : uploadOf(headers, route, parts, comparison),
        isCached: false,
        lastEventId: lastEventId(headers.get("last-event-id")),
      },
      rules: rulesFor(route, verification),
      call: originCall(intent, trace, bytes.byteLength > 0),
      verification,
      telemetry: { log, serverTiming, trace, ...(isTraced === undefined ? null : { isTraced }) },
      ...(newKeys === null ? null : { newKeys }),
      ...(route.async === "never" ? null : { async: asyncRequestOf(intent) }),
    },
    note: () => noteOf(route.note, notable, Date.now()),
    namesIn,
    body: bytes,
    rest: body.kind === "whole" ? null : body.rest,
    free: () => {
      if (body.kind === "whole") body.body.free();
    },
  };
}

/** Names the record of a key for its caller: in the scope, then in the older ones. */
export function namerOf(key: string, { scope, olderScopes }: Omit<ReadScopes, "lane">): NamesIn {
  return async (layout) => {
    const nameIn = (values: ScopeValues): Promise<RecordId> => nameRecord(key, values, layoutName(layout));
    return [await nameIn(scope), ...(olderScopes.length === 0 ? [] : await Promise.all(olderScopes.map(nameIn)))];
  };
}

/** Of a route that accepts requests: whether this one is, where its outcome is read, and how long its client waits for it. */
function asyncRequestOf({ request, headers, url, route, key }: ExchangeIntent): AsyncRequest {
  const preferences = preferencesIn(headers.get("prefer"));
  return {
    accepts: isAccepted(route.async, preferences),
    monitor: monitorPathOf({ method: request.method, path: url.pathname, key: key.key }),
    waitMs: durationMs(Math.min(preferences.waitMs ?? 0, route.rules.waitMs)),
    isPreferred: preferences.respondAsync,
  };
}

/** A record by its names: its own, then those of older scopes. */
export function recordNames([id, ...olderIds]: Awaited<ReturnType<NamesIn>>): Pick<RecordName, "id" | "olderIds"> {
  return olderIds.length === 0 ? { id } : { id, olderIds };
}

export interface ReadScopes {
  readonly scope: ScopeValues;
  readonly olderScopes: readonly ScopeValues[];
  /** Whose turn the request takes (kernel/record/lanes.ts). */
  readonly lane: number;
}

/**
 * The request's scope and its older ones. A request that an older scope cannot tell was refused there, so it has no record there; but if
 * only nobody can say now who its caller was there, it may have one.
 */
export function readScopes(
  { headers, url, route }: Pick<ExchangeIntent, "headers" | "url" | "route">,
  proofs: CallerProofs,
): ReadScopes | { readonly problem: ClientProblem } {
  const [host, seen] = [requestedHost(url), forwardedHost(url, headers, route)];
  const scope = readScope(headers, host, route.scope, proofs, seen);
  if ("problem" in scope) return scope;
  const olderScopes: ScopeValues[] = [];
  for (const parts of route.previousScopes) {
    const older = readScope(headers, host, parts, proofs, seen);
    if ("values" in older) olderScopes.push(older.values);
    else if (older.problem.code === "identity-unavailable") return older;
  }
  return { scope: scope.values, olderScopes, lane: callerLane(scope.values, headers) };
}

function uploadOf(
  headers: HeadersView,
  route: Route,
  parts: FingerprintParts,
  comparison: ComparisonRule,
): StreamedUpload {
  const { as } = comparison;
  const isPlain = as === "none" || as === "bytes" || as === "json";
  return {
    fingerprintParts: as === "none" ? null : parts,
    length: declaredLength(headers),
    maxBytes: route.maxRequestBodyBytes,
    compare: as === "json" ? "json" : "bytes",
    ...(isPlain ? null : { comparison }),
  };
}

/** The route's rules. If the origin cannot be asked about this key, clients are not advised to wait for its answer. */
function rulesFor({ rules }: Route, verification: Verification | null): RouteRules {
  const { policy } = rules;
  if (policy.unknown !== "verify" || verification !== null) return rules;
  return { ...rules, policy: { ...policy, unknown: "hold" } };
}
