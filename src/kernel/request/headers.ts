// Headers as pairs: decides which of them are forwarded, in both directions. Repeated lines stay repeated if the runtime shows
// them separately. It does that only for Set-Cookie; it joins others with a comma, which means the same (RFC 9110, section 5.3).

import { REPORT_HEADER } from "../traffic/platform-span.ts";

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** Headers to look at: the runtime's, or a snapshot. */
export interface HeadersView {
  /** The values of all lines of this name, whatever its case; `null` if there is none. */
  get(name: string): string | null;
  has(name: string): boolean;
  [Symbol.iterator](): Iterator<[name: string, value: string]>;
}

/** The headers of a message, read once: to ask the runtime for one costs as much as to read all of them from here. */
export class HeaderSnapshot implements HeadersView {
  readonly #pairs: readonly [string, string][];
  /** By lower-case name. */
  readonly #values = new Map<string, string>();

  constructor(headers: Iterable<[string, string]>) {
    this.#pairs = [...headers];
    for (const [name, value] of this.#pairs) {
      const lower = name.toLowerCase();
      const before = this.#values.get(lower);
      this.#values.set(lower, before === undefined ? value : `${before}, ${value}`);
    }
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#pairs[Symbol.iterator]();
  }
}

/** Responses with these statuses never have a body (RFC 9110, section 6.4.1); the runtime refuses to give them one. */
export const NULL_BODY_STATUSES: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** Tells the origin the attempt's number. A client's header of this name is dropped. */
export const ATTEMPT_HEADER = "idempotency-attempt";

/** Tell the origin that it gets a message of a queue: which queue, which message, and the number of the delivery. */
export const QUEUE_HEADER = "onceway-queue";
export const MESSAGE_ID_HEADER = "onceway-message-id";
export const DELIVERY_HEADER = "onceway-delivery";

/** From the proxy in front of several processes: the one that it has chosen by the key. */
export const PROCESS_HEADER = "onceway-process";

/** Request headers that only the gateway, or its proxy, may set, in lower case. A client's are dropped, so that it cannot fake them. */
export const GATEWAY_REQUEST_HEADERS: ReadonlySet<string> = new Set([
  ATTEMPT_HEADER,
  QUEUE_HEADER,
  MESSAGE_ID_HEADER,
  DELIVERY_HEADER,
  PROCESS_HEADER,
]);

/** Response headers that only the gateway may set. An origin's are dropped, so that it cannot fake a replay. */
export const ECHO_HEADER = "Idempotency-Key";
export const EXPIRES_HEADER = "Idempotency-Expires";
export const REPLAYED_HEADER = "Idempotent-Replayed";
/** When the origin said what a replay repeats: it was asked about an attempt whose own answer was lost. An HTTP date. */
export const VERIFIED_HEADER = "Idempotency-Verified";
/** The key was not sent: it is made from the request's content, and equal requests are one operation for so many seconds: `content;window=600`. */
export const KEY_SOURCE_HEADER = "Idempotency-Key-Source";
/**
 * On the response to a request that carries a key: what became of it. `first`, `replayed`, `attached` (the answer of an attempt that
 * another request had started), `ignored` (no route protects it), UNPROTECTED, or the code of the gateway's problem.
 */
export const STATUS_HEADER = "Idempotency-Status";
/** In STATUS_HEADER: the request was forwarded without its record (`on_store_failure = "open"`), so a retry may act a second time. */
export const UNPROTECTED = "unprotected";
/** In STATUS_HEADER, to the queue consumer alone. */
export const PARKED = "parked";
/** From a shard to the Worker: the replay is small enough to be cached there. No client ever sees it. */
export const SMALL_HEADER = "Idempotency-Small";
/** From a shard to the Worker: the key begins in another object (kernel/elsewhere.ts). No client ever sees it. */
export const ELSEWHERE_HEADER = "Onceway-Elsewhere";
/** From an origin to the gateway: events that the origin itself makes of its result, as JSON. No client ever sees it. */
export const EVENT_HEADER = "Onceway-Event";
/** Said to the gateway alone. No client ever sees them, whoever answers it. */
export const PRIVATE_HEADERS = [SMALL_HEADER, ELSEWHERE_HEADER, EVENT_HEADER];
const GATEWAY_HEADERS = new Set(
  [
    ECHO_HEADER,
    EXPIRES_HEADER,
    REPLAYED_HEADER,
    VERIFIED_HEADER,
    STATUS_HEADER,
    KEY_SOURCE_HEADER,
    REPORT_HEADER,
    ...PRIVATE_HEADERS,
  ].map((name) => name.toLowerCase()),
);

/**
 * Connection-specific fields (RFC 9110, section 7.6.1), and `Content-Length` and `Host`, which the runtime sets from the body and
 * the URL. `Connection` may name more.
 */
const HOP_BY_HOP = new Set([
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function endToEnd(headers: HeadersView, isDropped: (name: string) => boolean): HeaderPairs {
  const pairs: [string, string][] = [];
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && !isDropped(lower)) pairs.push([name, value]);
  }
  return pairs;
}

const NONE: ReadonlySet<string> = new Set();

function namedByConnection(headers: HeadersView): ReadonlySet<string> {
  const value = headers.get("connection");
  return value === null ? NONE : new Set(value.split(",").map((name) => name.trim().toLowerCase()));
}

/**
 * Words in the names of headers with which proxies, platforms and identity providers say who a caller is or what the caller may
 * do: `X-Forwarded-For`, `X-Consumer-Username`, `X-Amzn-Oidc-Data`.
 */
const IDENTIFYING =
  /forward|original|real|remote|addr|ip|host|proto|scheme|port|ssl|tls|cert|auth|oidc|saml|sso|jwt|token|key|secret|sign|hmac|csrf|xsrf|session|credential|user|account|client|consumer|customer|tenant|org|team|member|subject|principal|ident|role|scope|group|perm|admin|mail|device|country|geo/;

/**
 * Whether `Connection` may remove a header of this name (RFC 9110, section 7.6.1). The client writes `Connection`, but a proxy may
 * have added headers that identify the client. A client that could remove those could choose its identity. So it can
 * only remove `X-` headers, which are not registered fields, and only those whose names suggest nothing about a caller.
 */
function isRemovable(name: string): boolean {
  return name.startsWith("x-") && !IDENTIFYING.test(name);
}

/**
 * The header that a CGI-style server takes this name for: there, `Idempotency_Attempt` and `Idempotency-Attempt` become the same
 * variable (RFC 3875, section 4.1.18).
 */
function dashedName(name: string): string {
  return name.replaceAll(/[^a-z0-9]/g, "-");
}

/** Names that such a server takes for others. */
const IS_ODD = /[^a-z0-9-]/;

/**
 * The request headers that go to the origin. The names in `drop` and `own` are in lower case. Headers in `drop` do not go. Headers
 * in `own` go even if `Connection` names them, because the gateway's decisions depend on them. Imitations of any of these, of
 * headers that proxies set, and of the request's other headers do not go (see `isImitation`).
 */
export function requestHeaders(headers: HeadersView, drop: ReadonlySet<string>, own: ReadonlySet<string>): HeaderPairs {
  const named = namedByConnection(headers);
  return endToEnd(headers, (name) => {
    if (drop.has(name) || GATEWAY_REQUEST_HEADERS.has(name)) return true;
    if (own.has(name)) return false;
    return (named.has(name) && isRemovable(name)) || isImitation(name, headers, (one) => own.has(one) || drop.has(one));
  });
}

/**
 * Whether a CGI-style server would confuse the header with another one: with one of the gateway, one that `isKnown`, one that
 * proxies set, or a real header of the request. `name` is in lower case.
 */
export function isImitation(name: string, headers: HeadersView, isKnown: (name: string) => boolean): boolean {
  if (!IS_ODD.test(name)) return false;
  const meant = dashedName(name);
  if (GATEWAY_REQUEST_HEADERS.has(meant) || HOP_BY_HOP.has(meant) || isKnown(meant)) return true;
  return headers.has(meant) || /^(?:x-forwarded-|x-real-|cf-|cdn-loop$|true-client-ip$)/.test(meant);
}

/** `Headers` with one line for each pair. Appending is much faster than passing the runtime an array (measured). */
export function headersOf(pairs: HeaderPairs): Headers {
  const headers = new Headers();
  for (const [name, value] of pairs) headers.append(name, value);
  return headers;
}

/** Whether an origin may set a response header of this name, so that it is stored and sent to the client. */
export function isOriginsHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return !HOP_BY_HOP.has(lower) && !GATEWAY_HEADERS.has(lower);
}

/** The response headers that are sent to the client and stored. */
export function responseHeaders(headers: HeadersView): HeaderPairs {
  const named = namedByConnection(headers);
  return endToEnd(headers, (name) => named.has(name) || GATEWAY_HEADERS.has(name));
}

/** What `Content-Length` says; `null` where there is none, or no number. The sender may have more or fewer bytes. */
export function declaredLength(headers: HeadersView): number | null {
  const value = headers.get("content-length");
  return value !== null && /^\d+$/.test(value) ? Number(value) : null;
}

/** How long `Retry-After` says to wait from `now` on, as seconds or a date (RFC 9110, section 10.2.3); `null` if it is neither. */
export function retryAfterIn(value: string | null, now: number): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const ms = Date.parse(value) - now;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
