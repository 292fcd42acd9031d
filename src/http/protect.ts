// A request that a route protects: its key, scope, body and fingerprint are read, and all is handed to the shard that
// keeps the key. Nothing goes out before the whole request has been found good.

import type { Origin, Route } from "../config/resolved.ts";
import { shardSet } from "../config/shard-set.ts";
import { outcomeOf } from "../core/outcome.ts";
import type { ClientProblem } from "../core/problem.ts";
import { isPlainInPath } from "../core/question.ts";
import { attemptId } from "../core/units.ts";
import { parseTraceparent, type Trace, TRACEPARENT_HEADER, TRACESTATE_HEADER } from "../traffic/trace-context.ts";
import type { ExchangeSpan, Telemetry, ExchangeReporter } from "../traffic/exchange-reporter.ts";
import { type BoundedBody, ByteReader, readBounded, readSmall, type BodyReader, SMALL_BYTES } from "./body.ts";
import { ByteBudget } from "./byte-budget.ts";
import { drain, endAfter } from "./drain.ts";
import { lastEventId } from "./event-stream.ts";
import { type FingerprintParts, fingerprintRequest } from "./fingerprint.ts";
import { forwardedFor, hostForScope } from "./forwarded.ts";
import { ECHO_HEADER, type HeaderPairs, requestHeaders } from "./headers.ts";
import { parseKey } from "./key.ts";
import { LOOP_HEADER, loopMark } from "./loop.ts";
import { type ExchangeRequest, type Upload, type Verification, WHOLE_BODY_BYTES } from "./message.ts";
import { originUrl } from "./origin-url.ts";
import type { Fetcher } from "./pass-through.ts";
import { problemResponse } from "./problem-response.ts";
import { nameRecord } from "./record-name.ts";
import type { ReplayMemory } from "./replay-memory.ts";
import { rulesOf } from "./route-rules.ts";
import { readScope, type ScopeValues } from "./scope.ts";
import { forwardUnprotected } from "./unprotected.ts";

/** Runs an exchange in the shard that keeps its record. `null` when the shard cannot be reached, or cannot write. */
export type CallShard = (route: Route, exchangeRequest: ExchangeRequest) => Promise<Response | null>;

/** The ways out of the Worker. */
export interface Ports {
  readonly callShard: CallShard;
  /** Where requests go; `null` when the origin names a binding that is not there. */
  readonly target: (origin: Origin) => Fetcher | null;
  /** What this isolate answers alone is said there; of all else the shard tells. */
  readonly reporter: ExchangeReporter;
}

/** The alarm waits for the answer, and the platform gives it 15 minutes in all. */
const MOST_VERIFICATION_MS = 30_000;

/** What the bodies share that an isolate's requests hold before a shard has taken them; for which it is too little, they flow. */
const HELD_BYTES = 24 << 20;

/** As long as any of them can be held: it is read soon, or not held, and then offered three times at most. */
const HELD_MS = 60_000;

/** What the requests of this isolate hold of their bodies. */
export const requestMemory = new ByteBudget(HELD_BYTES, HELD_MS);

/** The answer to a protected request; `null` when the route lets a request without a key pass. */
export async function protect(
  request: Request,
  url: URL,
  route: Route,
  ports: Ports,
  replays: ReplayMemory,
): Promise<Response | null> {
  const { reporter } = ports;
  const span = reporter.begin({ route: route.path, recordId: null, telemetry: telemetryOf(request.headers, route) });
  const refuse = (problem: ClientProblem): Response =>
    reporter.finish(span, problemResponse(problem, null), outcomeOf(problem.code));
  const parsed = parseKey(request.headers, route.headers, route.keyFormat);
  switch (parsed.kind) {
    case "absent":
      if (route.key === "required") {
        return refuse({ code: "key-missing", header: route.headers[0] ?? ECHO_HEADER });
      }
      reporter.passed(route.path);
      return null;
    case "invalid":
      return refuse({ code: "key-invalid", reason: parsed.reason });
    case "key":
      return exchange(request, url, route, parsed, ports, replays, span);
  }
}

interface Key {
  readonly key: string;
  readonly raw: string;
  readonly header: string;
}

async function exchange(
  request: Request,
  url: URL,
  route: Route,
  key: Key,
  ports: Ports,
  replays: ReplayMemory,
  span: ExchangeSpan,
): Promise<Response> {
  const { reporter } = ports;
  const refuse = (problem: ClientProblem): Response =>
    reporter.finish(span, problemResponse(problem, key.raw), outcomeOf(problem.code));
  const scope = readScope(request.headers, hostForScope(url, request.headers, route), route.scope);
  if ("problem" in scope) return refuse({ code: "request-invalid", reason: scope.problem });
  const tooLarge = (rest: BodyReader): Promise<Response> =>
    endAfter(refuse({ code: "body-too-large", limitBytes: route.maxRequestBodyBytes }), drain(rest));
  const comparesNone = route.fingerprint.body === "none";
  const length = declaredLength(request.headers);
  // Where bodies are not compared they only flow through, so their size is of no matter.
  if (!comparesNone && request.body !== null && length !== null && length > route.maxRequestBodyBytes) {
    return tooLarge(new ByteReader(request.body));
  }
  const bound = comparesNone ? WHOLE_BODY_BYTES : Math.min(WHOLE_BODY_BYTES, route.maxRequestBodyBytes);
  const isSmall = length !== null && length <= Math.min(SMALL_BYTES, bound);
  const reading = isSmall ? readSmall(request) : readBounded(request.body, bound, requestMemory);
  const body = await reading.catch(() => null);
  if (body === null) {
    const reason = "The request's body broke off or is malformed.";
    return refuse({ code: "request-invalid", reason });
  }
  if (body.kind === "over" && !comparesNone && body.readBytes > route.maxRequestBodyBytes) {
    return tooLarge(body.rest);
  }
  const exchangeRequest = await exchangeRequestFor(request, url, route, key, scope.values, body, span);
  try {
    return await answer(exchangeRequest, route, ports, replays, span, () => refuse({ code: "store-unavailable" }));
  } finally {
    exchangeRequest.free();
  }
}

async function answer(
  exchangeRequest: ExchangeRequest,
  route: Route,
  ports: Ports,
  replays: ReplayMemory,
  span: ExchangeSpan,
  unavailable: () => Response,
): Promise<Response> {
  const { reporter } = ports;
  const { head } = exchangeRequest;
  const { id: recordId } = head.record;
  const { fingerprint, echo } = head.request;
  span.recordId = recordId;
  // What is asked of a part of a stream, or with a body still to come, is for the shard to answer.
  const isPlain = exchangeRequest.rest === null && head.request.lastEventId === null;
  const known = isPlain ? replays.find({ recordId, fingerprint, echo }, Date.now()) : null;
  if (known !== null) return reporter.finish(span, known, "replay");
  const response = await ports.callShard(route, exchangeRequest);
  if (response !== null)
    return isPlain ? replays.keep(response, { recordId, fingerprint, echo }, Date.now()) : response;
  // What has been read of a stream, or taken by a shard, cannot be sent anywhere else.
  if (route.onStoreFailure === "open" && exchangeRequest.rest === null && !isGone(exchangeRequest)) {
    return reporter.finish(span, await forwardUnprotected(exchangeRequest, ports.target(route.origin)), "unprotected");
  }
  return unavailable();
}

/** Whether the body has been given back. */
function isGone({ body: { buffer } }: ExchangeRequest): boolean {
  return buffer instanceof ArrayBuffer && buffer.detached;
}

function telemetryOf(headers: Headers, { log, serverTiming }: Route): Telemetry {
  return { log, serverTiming, trace: parseTraceparent(headers.get(TRACEPARENT_HEADER)) };
}

function declaredLength(headers: Headers): number | null {
  const value = headers.get("content-length");
  return value !== null && /^\d+$/.test(value) ? Number(value) : null;
}

async function exchangeRequestFor(
  request: Request,
  url: URL,
  route: Route,
  key: Key,
  scope: ScopeValues,
  body: BoundedBody,
  { log, serverTiming, trace }: Telemetry,
): Promise<ExchangeRequest> {
  const parts: FingerprintParts = {
    method: request.method,
    path: url.pathname,
    query: url.search,
    headers: route.fingerprint.headers.map((name) => request.headers.get(name)),
  };
  const begun = body.kind === "whole" ? body.body.bytes : new Uint8Array();
  const comparesNone = route.fingerprint.body === "none";
  const [record, fingerprint] = await Promise.all([
    nameRecord(key.key, scope, shardSet(route)),
    // Of a body that is still coming, the shard digests the bytes; what is computed here is then of no use.
    fingerprintRequest(parts, begun, route.fingerprint.body),
  ]);
  const upload: Upload = {
    fingerprintParts: comparesNone ? null : parts,
    length: declaredLength(request.headers),
    maxBytes: route.maxRequestBodyBytes,
    compare: route.fingerprint.body === "json" ? "json" : "bytes",
  };
  const verification = verificationOf(request, url, route, key);
  // Whom nobody can ask about, nobody is told to wait for.
  const rules = rulesOf(route);
  const isAskable = rules.policy.unknown !== "verify" || verification !== null;
  return {
    head: {
      record: { id: record, key: key.key, route: route.path },
      request: {
        echo: key.raw,
        attemptId: attemptId(crypto.randomUUID()),
        fingerprint,
        sameBytes: route.fingerprint.body === "bytes",
        upload: body.kind === "whole" ? null : upload,
        lastEventId: lastEventId(request.headers.get("last-event-id")),
      },
      rules: isAskable ? rules : { ...rules, policy: { ...rules.policy, unknown: "hold" } },
      call: {
        origin: route.origin,
        method: request.method,
        url: originUrl(route.origin, url),
        headers: forwardedHeaders(request.headers, url, route, key, trace),
        hasBody: request.body !== null,
      },
      verification,
      telemetry: { log, serverTiming, trace },
    },
    body: begun,
    rest: body.kind === "whole" ? null : body.rest,
    free: () => {
      if (body.kind === "whole") body.body.free();
    },
  };
}

/** But for `traceparent`, which names the attempt; a `tracestate` means nothing without it. */
function forwardedHeaders(headers: Headers, url: URL, route: Route, key: Key, trace: Trace | null): HeaderPairs {
  const { forwardKey, origin } = route;
  const forwarded = forwardedFor(url, headers, route.trustForwarded);
  const keyNames = new Set(route.headers.map((name) => name.toLowerCase()));
  const mark = loopMark(origin, headers);
  const replaced = forwarded.set.map(([name]) => name);
  const unforwarded = forwardKey.kind === "client" ? [] : keyNames;
  const drop = new Set([TRACEPARENT_HEADER, ...forwarded.drop, ...replaced, ...unforwarded]);
  if (trace === null) drop.add(TRACESTATE_HEADER);
  if (mark !== null) drop.add(LOOP_HEADER);
  const added: [string, string][] = [];
  if (forwardKey.kind === "step") added.push([key.header, stepKey(key, forwardKey.step)]);
  if (mark !== null) added.push([LOOP_HEADER, mark]);
  const own = new Set([...keyNames, ...route.fingerprint.headers, ...scopeHeaders(route)]);
  return [...requestHeaders(headers, drop, own), ...forwarded.set, ...added];
}

/** In lower case. A cookie's header is no name that a server could mistake. */
function scopeHeaders({ scope }: Route): readonly string[] {
  return scope.flatMap((part) => (part.kind === "header" ? [part.name] : []));
}

function verificationOf(request: Request, url: URL, route: Route, key: Key): Verification | null {
  const { verify, origin, forwardKey } = route;
  const originKey = forwardKey.kind === "step" ? `${key.key}:${forwardKey.step}` : key.key;
  if (verify === null) return null;
  const [path = ""] = verify.split(/[?#]/, 1);
  if (path.includes("{key}") && !isPlainInPath(originKey)) return null;
  const target = verify.replaceAll("{key}", encodeURIComponent(originKey));
  const isPath = target.startsWith("/");
  return {
    origin: isPath ? origin : { kind: "url", url: target },
    url: isPath ? originUrl(origin, new URL(target, url)) : target,
    // The caller's own, so that the origin tells nobody of another's operation; but for what belongs to the body.
    headers: forwardedHeaders(request.headers, url, route, key, null).filter(
      ([name]) => !/^(?:content-|if-|range$|expect$|last-event-id$)/i.test(name),
    ),
    timeoutMs: Math.min(route.timeoutMs, MOST_VERIFICATION_MS),
    idleTimeoutMs: Math.min(route.idleTimeoutMs, MOST_VERIFICATION_MS),
    maxBytes: route.maxResponseBodyBytes,
  };
}

/** `<key>:<step>`, quoted when the client's was. A key is visible ASCII, so quoting is all that it can need. */
function stepKey({ key, raw }: Key, step: string): string {
  const value = `${key}:${step}`;
  return raw.startsWith('"') ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : value;
}
