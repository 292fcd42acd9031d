// What an exchange sends to the origin, derived from the client's request: the headers of the call, and the verification, whether
// an earlier attempt took effect. The key is forwarded as the route says.

import { keyHeaders, readSources, singleHeaders } from "../config/key-source.ts";
import type { Route } from "../config/resolved.ts";
import { type TraceContext, TRACEPARENT_HEADER, TRACESTATE_HEADER } from "../traffic/trace-context.ts";
import { forwardedFor } from "./host.ts";
import { ECHO_HEADER, type HeaderPairs, requestHeaders } from "./headers.ts";
import type { IdempotencyKey } from "./key.ts";
import { quotedString } from "./key-text.ts";
import type { ExchangeIntent } from "./intent.ts";
import type { OriginCall, Verification } from "./message.ts";
import { withoutApplied } from "./prefer.ts";
import { LOOP_HEADER, loopMark, originUrl } from "./origin.ts";
import { originKey, type OriginKey } from "./origin-key.ts";
import { placesOf } from "../verify/state-rule.ts";
import { stateVerification } from "../verify/state-request.ts";
import { verificationRequest, withStep } from "../verify/verification-request.ts";

const PREFER = "prefer";

/** `hasBytes`: the request certainly has a body. Otherwise it is asked, which costs a wrapper of the runtime. */
export function originCall(intent: ExchangeIntent, trace: TraceContext | null, hasBytes: boolean): OriginCall {
  const { request, url, route } = intent;
  return {
    origin: route.origin,
    method: request.method,
    url: originUrl(route.origin, url),
    headers: forwardedHeaders(intent, trace),
    key: keyAtOrigin(intent),
    hasBody: hasBytes || request.body !== null,
  };
}

/**
 * How to ask the origin about this request; `null`: it cannot be asked. Has the caller's own credential, so that the origin reveals nothing about
 * another caller's operation. `body`: `null` if it is not held.
 */
export function verificationOf(
  intent: ExchangeIntent,
  body: Uint8Array | null,
): Verification | null | Promise<Verification | null> {
  const { route, key, url, headers, request } = intent;
  const state = route.verify?.state;
  // The origin has never received such a key. It would say that it knows nothing of it, and the operation would run again.
  if (key.isFromContent === true && (state === undefined || placesOf(state).some(({ kind }) => kind === "key")))
    return null;
  if (state === undefined) return verificationRequest(route, key.key, url, () => verificationHeaders(intent));
  const named = { key: key.key, url, headers, body, caller: request };
  return stateVerification(route, state, named, verificationHeaders(intent));
}

/** The headers of the request that a `GET` may have: none that describes the body, sets a condition, or would make it another method. */
function verificationHeaders(intent: ExchangeIntent): HeaderPairs {
  return forwardedHeaders(intent, null).filter(([name]) => !NOT_FOR_GET.test(name));
}

const NOT_FOR_GET = /^(?:content-|if-|range$|expect$|last-event-id$|x-(?:http-)?method)/i;

/** All but `traceparent`, which names the attempt; a `tracestate` means nothing without it. */
function forwardedHeaders({ headers, url, route, key }: ExchangeIntent, trace: TraceContext | null): HeaderPairs {
  const { forwardKey, origin } = route;
  const forwarded = forwardedFor(url, headers, route.trustForwarded);
  const mark = loopMark(origin, headers);
  const { own, unforwarded } = namesOf(route);
  const drop = new Set([TRACEPARENT_HEADER, ...forwarded.drop, ...unforwarded]);
  for (const [name] of forwarded.set) drop.add(name);
  if (trace === null) drop.add(TRACESTATE_HEADER);
  if (mark !== null) drop.add(LOOP_HEADER);
  const added: [string, string][] = [];
  if (forwardKey.kind === "step") added.push([key.header, stepKey(key, forwardKey.step)]);
  if (mark !== null) added.push([LOOP_HEADER, mark]);
  const preferences = route.async === "never" ? null : headers.get(PREFER);
  if (preferences !== null) {
    drop.add(PREFER);
    const others = withoutApplied(preferences);
    if (others !== null) added.push([PREFER, others]);
  }
  return [...requestHeaders(headers, drop, own), ...forwarded.set, ...added];
}

function keyAtOrigin({ headers, route, key }: ExchangeIntent): OriginKey {
  switch (route.forwardKey.kind) {
    case "client": {
      const names = singleNames(route);
      return originKey(
        key.key,
        names.flatMap((name) => {
          const value = headers.get(name);
          return value === null ? [] : [[name, value]];
        }),
      );
    }
    case "step": {
      const own = keyHeaders(route.keyFrom).includes(key.header.toLowerCase()) ? null : headers.get(key.header);
      const form = originKey(key.key, [[key.header, stepKey(key, route.forwardKey.step)]]);
      return own === null ? form : { ...form, replaced: [[key.header, own]] };
    }
    case "none":
      return originKey(key.key, []);
  }
}

/** The names of headers that a route decides about, in lower case. */
interface RouteNames {
  /** Those that its decisions depend on. */
  readonly own: ReadonlySet<string>;
  /** Those of the key, if the origin does not get it as it came. */
  readonly unforwarded: ReadonlySet<string>;
}

const namesOfRoutes = new WeakMap<Route, RouteNames>();

function namesOf(route: Route): RouteNames {
  const known = namesOfRoutes.get(route);
  if (known !== undefined) return known;
  const names = {
    own: new Set([...keyHeaders(readSources(route)), ...route.fingerprint.headers, ...scopeHeaders(route)]),
    unforwarded: new Set(route.forwardKey.kind === "client" ? [] : unforwardedNames(route)),
  };
  namesOfRoutes.set(route, names);
  return names;
}

/** The headers that are a key each. Others from which keys are made stay, and a step's header replaces the client's. */
function unforwardedNames(route: Route): readonly string[] {
  const { keyFrom, forwardKey } = route;
  const names = singleNames(route).map((name) => name.toLowerCase());
  return singleHeaders(keyFrom) === null && forwardKey.kind === "step" ? [...names, ECHO_HEADER.toLowerCase()] : names;
}

/** The headers that are a key each, as configured. */
function singleNames({ keyFrom }: Route): readonly string[] {
  return keyFrom.flatMap((source) => (source.kind === "header" ? [source.name] : []));
}

/** In lower case. Cookies are omitted: no server could mistake the name of their header. */
function scopeHeaders({ scope, identities }: Route): readonly string[] {
  const parts = [...scope, ...identities.flatMap(({ credential }) => credential)];
  return parts.flatMap((part) => (part.kind === "header" ? [part.name] : []));
}

/** `<key>:<step>`, quoted when the client's was. A key is visible ASCII, so nothing but quotes can need an escape. */
function stepKey({ key, raw }: IdempotencyKey, step: string): string {
  const value = withStep(key, step);
  return raw.startsWith('"') ? quotedString(value) : value;
}
