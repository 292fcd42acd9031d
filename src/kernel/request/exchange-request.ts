// From a request with a key to the exchange that the shard runs: its scope, body and fingerprint are read here. Nothing is
// sent before all of the request has been found good.

import type { Route } from "../config/resolved.ts";
import type { ClientProblem } from "../record/problem.ts";
import { attemptId, durationMs } from "../record/units.ts";
import type { RouteTelemetry } from "../traffic/exchange-reporter.ts";
import type { EncryptionDeriver } from "../encryption/encryption.ts";
import type { BodyReader } from "./body-reader.ts";
import { lastEventId } from "../resume/event-stream.ts";
import type { ComparisonRule } from "./comparison.ts";
import { comparedParts, type FingerprintParts, fingerprintRequest } from "./fingerprint.ts";
import { declaredLength, type HeadersView } from "./headers.ts";
import type {
  AnsweredAtOnce,
  CanonicalMultipart,
  EditReplay,
  RepeatedValues,
  SearchedKey,
  SearchKey,
  ShapeProblem,
} from "../request-feature.ts";
import type { ExchangeIntent, SearchIntent } from "./intent.ts";
import { type KeylessPorts, readKeyless } from "./keyless.ts";
import { rulesFor } from "./request-rules.ts";
import type { AsyncRequest, ExchangeRequest, StreamedUpload } from "./message.ts";
import { monitorPathOf } from "./monitor-url.ts";
import { lookUpAddress, monitoredRequest } from "./problem-monitor.ts";
import { originCall, verificationOf } from "./origin-parts.ts";
import { isAccepted, preferencesIn } from "./prefer.ts";
import { type NotableRequest, noteOf } from "../notes/request-note.ts";
import { type HeldBody, type HeldOrFlowing, readBody, unreadOf } from "./body.ts";
import { hasScopeInBody, jsonParts, needBody, proofsWithBody } from "./scope-in-body.ts";
import { type CallerProofs, countFor, NO_PROOFS, UNREAD } from "./scope.ts";
import { contentScopes, namerOf, readScopes, type ReadScopes, recordNames } from "./read-scopes.ts";
import type { PassOn } from "./pass-through.ts";
import { NOTHING_REPEATED, repeatedValues } from "./repeated-values.ts";

/** The parts of a request that have been read. `echo`: the key of a refused request, as far as it is known. */
export type ReadExchange =
  | { readonly kind: "exchange"; readonly exchange: ExchangeRequest; readonly repeated: RepeatedValues }
  | RefusedReading
  | PassOn
  | AnsweredAtOnce;

/** `unread` is the body, or the rest of it, that is still to be taken off the wire; `null` for none. */
export interface RefusedReading {
  readonly kind: "refuse";
  readonly problem: ClientProblem;
  readonly echo: string | null;
  readonly unread: BodyReader | null;
  readonly repeated?: RepeatedValues;
  /** Whose problem it is, if not the intent's own. */
  readonly route?: Route;
}

/** What requests are read with. */
export interface ReadPorts extends KeylessPorts {
  readonly encryptions: EncryptionDeriver;
  /** Only where the feature is. */
  readonly searchKey?: SearchKey;
  readonly shapeProblem?: ShapeProblem;
  /** The same of JSON-RPC routes. */
  readonly searchCall?: SearchKey;
  readonly editReplay?: EditReplay;
}

/** `read`: the body of a request whose key is known, if it has been read already. */
export async function readExchange(
  intent: ExchangeIntent | SearchIntent,
  telemetry: RouteTelemetry,
  ports: ReadPorts,
  read: HeldOrFlowing | null = null,
): Promise<ReadExchange> {
  const { route } = intent;
  const { proveCaller } = ports;
  let known: CallerProofs | null = null;
  // The caller is proved before the body is read for the key, where that key is required. Of a GraphQL request, or one of JSON-RPC, only the
  // body tells whether it needs one: queries pass.
  const mayPass = route.key !== "required" || route.graphql || route.jsonrpc !== null;
  if (route.identities.length > 0 && intent.kind === "search" && !mayPass) {
    const { headers, passing } = intent;
    const caller = { route, headers, url: passing.url, request: passing.request };
    known = await proveCaller(caller);
    const scopes = readScopes(caller, known);
    if ("problem" in scopes)
      return { kind: "refuse", ...scopes, echo: null, unread: unreadOf(passing.request, headers) };
  }
  const keyed =
    intent.kind === "exchange" ? ({ kind: "keyed", intent, body: read } as const) : await searched(intent, ports);
  switch (keyed.kind) {
    case "keyed": {
      const hasIdentities = keyed.intent.route.identities.length > 0;
      const proofs = known ?? (hasIdentities ? await proveCaller(keyed.intent) : NO_PROOFS);
      return readKeyed(keyed.intent, keyed.body, proofs, telemetry, ports);
    }
    case "absent":
      if (intent.kind === "exchange") throw new TypeError("a key was lost");
      return readAbsent(intent, keyed.body, known, telemetry, ports);
    case "refuse":
      return { ...keyed, echo: null };
    case "pass":
    case "answered":
      return keyed;
  }
}

async function readAbsent(
  intent: SearchIntent,
  read: HeldBody | null,
  known: CallerProofs | null,
  telemetry: RouteTelemetry,
  ports: ReadPorts,
): Promise<ReadExchange> {
  const keyless = await readKeyless(intent, read, known, ports);
  switch (keyless.kind) {
    case "keyed":
      return readKeyed(keyless.intent, keyless.body, keyless.proofs, telemetry, ports);
    case "refuse":
      return { ...keyless, echo: null };
    case "pass":
    case "answered":
      return keyless;
  }
}

function searched(intent: SearchIntent, { searchKey, searchCall }: ReadPorts): Promise<SearchedKey> {
  const search = intent.route.jsonrpc === null ? searchKey : searchCall;
  if (search === undefined) throw new TypeError("no feature searches for keys");
  return search(intent);
}

/** `read` is the body if it has been read already. */
async function readKeyed(
  intent: ExchangeIntent,
  read: HeldOrFlowing | null,
  proofs: CallerProofs,
  telemetry: RouteTelemetry,
  { encryptions, canonicalMultipart }: ReadPorts,
): Promise<ReadExchange> {
  const { route, key } = intent;
  const refuseKeyed = (problem: ClientProblem, unread: BodyReader | null = null): RefusedReading => {
    if (read?.kind === "whole") read.body.free();
    return { kind: "refuse", problem, echo: key.raw, unread, route };
  };
  const early = readScopes(intent, proofs);
  if ("problem" in early) {
    if (read === null) return refuseKeyed(early.problem, unreadOf(intent.request, intent.headers));
    // What has been read of a large body counts as held until it is drained.
    if (read.kind === "over") return refuseKeyed(early.problem, read.rest);
    const repeated = await repeatedValues(route.problemShape, read.body, intent.request);
    return { ...refuseKeyed(early.problem), repeated };
  }
  const isInBody = hasScopeInBody(route);
  const isProvedWithBody = needBody(proofs);
  const body = read ?? (await readBody(intent, isInBody || isProvedWithBody ? "search" : "forward"));
  switch (body.kind) {
    case "refuse":
      return refuseKeyed(body.problem, body.rest);
    case "too-large":
      return refuseKeyed({ code: "body-too-large", limitBytes: route.maxRequestBodyBytes }, body.rest);
    case "whole":
    case "over": {
      const proved = isProvedWithBody ? await proofsWithBody(proofs, body) : proofs;
      const json = isInBody ? await jsonParts(intent, body) : UNREAD;
      const scopes = isInBody || isProvedWithBody ? readScopes(intent, proved, json) : early;
      const held = body.kind === "whole" ? body.body : null;
      const shape = held === null ? null : route.problemShape;
      const repeated = shape === null ? NOTHING_REPEATED : await repeatedValues(shape, held, intent.request);
      if ("problem" in scopes) {
        held?.free();
        return { ...refuseKeyed(scopes.problem, body.kind === "over" ? body.rest : null), repeated };
      }
      const exchange = await exchangeOf(intent, scopes, body, telemetry, canonicalMultipart);
      if (route.encryptResponses === false) return { kind: "exchange", exchange, repeated };
      const head = await encryptions.encrypted(exchange.head, scopes.scope, route.encryptResponses);
      return { kind: "exchange", exchange: { ...exchange, head }, repeated };
    }
  }
}

async function exchangeOf(
  intent: ExchangeIntent,
  scopes: ReadScopes,
  body: HeldOrFlowing,
  telemetry: RouteTelemetry,
  canonicalMultipart: CanonicalMultipart | undefined,
): Promise<ExchangeRequest> {
  const { request, headers, url, route, key } = intent;
  const { parts, comparison } = comparedParts(intent);
  const bytes = body.kind === "whole" ? body.body.bytes : new Uint8Array();
  const namesIn = namerOf(key.key, key.isFromContent === true ? contentScopes(scopes) : scopes);
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
    isFromContent: key.isFromContent === true,
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
        // The response to a call is one event: nobody leaves off behind it.
        lastEventId: route.jsonrpc === null ? lastEventId(headers.get("last-event-id")) : null,
      },
      rules: rulesFor(intent, verification),
      call: originCall(intent, telemetry.trace, bytes.byteLength > 0),
      verification,
      telemetry,
      ...(newKeys === null ? null : { newKeys }),
      ...(route.async === "never" ? null : { async: asyncRequestOf(intent) }),
    },
    ...(intent.edits === undefined ? null : { route, edits: intent.edits }),
    note: () => noteOf(route.note, notable, Date.now()),
    namesIn,
    lookUpAddress: () => lookUpAddress(intent, scopes),
    body: bytes,
    rest: body.kind === "whole" ? null : body.rest,
    free: () => {
      if (body.kind === "whole") body.body.free();
    },
  };
}

/** Of a route that accepts requests: whether this one is, where its outcome is read, and how long its client waits for it. */
function asyncRequestOf(intent: ExchangeIntent): AsyncRequest {
  const { headers, route } = intent;
  const preferences = preferencesIn(headers.get("prefer"));
  return {
    accepts: isAccepted(route.async, preferences),
    monitor: monitorPathOf(monitoredRequest(intent)),
    waitMs: durationMs(Math.min(preferences.waitMs ?? 0, route.rules.waitMs)),
    isPreferred: preferences.respondAsync,
  };
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
