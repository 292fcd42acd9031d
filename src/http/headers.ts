// Headers as pairs: which of them travel, in both directions. Repeated lines stay repeated where the runtime shows them
// apart (it does so for Set-Cookie alone; all others it joins with a comma, which means the same by RFC 9110, 5.3).

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** The attempt's number, for the origin. What a client sends under this name is dropped. */
export const ATTEMPT_HEADER = "idempotency-attempt";

/** What only the gateway may say of a response; the same from an origin is dropped, so that it cannot fake a replay. */
export const ECHO_HEADER = "Idempotency-Key";
export const EXPIRES_HEADER = "Idempotency-Expires";
export const REPLAYED_HEADER = "Idempotent-Replayed";
/** On an answer to a request that went to the origin without its record (`on_store_failure = "open"`). */
export const UNPROTECTED_HEADER = "Idempotency-Unprotected";
/** Between a shard and the Worker: a replay that is small enough to be remembered there. No client ever sees it. */
export const SMALL_HEADER = "Idempotency-Small";
const GATEWAY_HEADERS = new Set(
  [ECHO_HEADER, EXPIRES_HEADER, REPLAYED_HEADER, UNPROTECTED_HEADER, SMALL_HEADER].map((name) => name.toLowerCase()),
);

/**
 * Connection-specific fields (RFC 9110, section 7.6.1), and the two that the runtime sets itself from the body and the
 * URL. `Connection` may name more.
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

function endToEnd(headers: Headers, isDropped: (name: string) => boolean): HeaderPairs {
  const pairs: [string, string][] = [];
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && !isDropped(lower)) pairs.push([name, value]);
  }
  return pairs;
}

function namedByConnection(headers: Headers): ReadonlySet<string> {
  const value = headers.get("connection");
  return new Set(value === null ? [] : value.split(",").map((name) => name.trim().toLowerCase()));
}

/**
 * Words in the names of headers by which proxies, platforms and identity providers say who a caller is or what he may do:
 * `X-Forwarded-For`, `X-Consumer-Username`, `X-Amzn-Oidc-Data`.
 */
const IDENTIFYING =
  /forward|original|real|remote|addr|ip|host|proto|scheme|port|ssl|tls|cert|auth|oidc|saml|sso|jwt|token|key|secret|sign|hmac|csrf|xsrf|session|credential|user|account|client|consumer|customer|tenant|org|team|member|subject|principal|ident|role|scope|group|perm|admin|mail|device|country|geo/;

/**
 * Whether `Connection` may take a header of this name away (RFC 9110, section 7.6.1). The client writes `Connection`, and a proxy on the
 * way may have added what identifies the client: a client that could remove it would choose who it is. So only what is
 * no registered field and says nothing of a caller is removed.
 */
function isRemovable(name: string): boolean {
  return name.startsWith("x-") && !IDENTIFYING.test(name);
}

/**
 * A name that a CGI-style server takes for another one: there, `Idempotency_Attempt` and `Idempotency-Attempt` are one
 * variable (RFC 3875, section 4.1.18).
 */
function dashed(name: string): string {
  return name.replaceAll(/[^a-z0-9]/g, "-");
}

/**
 * What of a request's headers goes to the origin. Names are in lower case: those in `drop` do not, and those in `own`, which mean
 * something here, do although `Connection` may name them. What such a server would take for one of these, for one that proxies
 * set, or for another header of the request, does not.
 */
export function requestHeaders(headers: Headers, drop: ReadonlySet<string>, own: ReadonlySet<string>): HeaderPairs {
  const named = namedByConnection(headers);
  return endToEnd(headers, (name) => {
    if (drop.has(name) || name === ATTEMPT_HEADER) return true;
    if (own.has(name)) return false;
    return (named.has(name) && isRemovable(name)) || isImitation(name, headers, (one) => own.has(one) || drop.has(one));
  });
}

/** Whether a CGI-style server would take the header for the attempt's number, for one that `isKnown`, or for a real one of the request. */
export function isImitation(name: string, headers: Headers, isKnown: (name: string) => boolean): boolean {
  const meant = dashed(name);
  if (meant === name) return false;
  if (meant === ATTEMPT_HEADER || HOP_BY_HOP.has(meant) || isKnown(meant)) return true;
  return headers.has(meant) || /^(?:x-forwarded-|x-real-|cf-|cdn-loop$|true-client-ip$)/.test(meant);
}

/** Pairs as headers, one line each. Much faster than to hand the runtime an array (measured). */
export function headersOf(pairs: HeaderPairs): Headers {
  const headers = new Headers();
  for (const [name, value] of pairs) headers.append(name, value);
  return headers;
}

/** Whether an origin's response may have a header of this name, and a record keep it. */
export function isOriginsHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return !HOP_BY_HOP.has(lower) && !GATEWAY_HEADERS.has(lower);
}

/** What of a response's headers goes to the client, and into the record. */
export function responseHeaders(headers: Headers): HeaderPairs {
  const named = namedByConnection(headers);
  return endToEnd(headers, (name) => named.has(name) || GATEWAY_HEADERS.has(name));
}

/** What `Content-Length` says; `null` where there is none, or no number. The sender may have more or fewer bytes. */
export function declaredLength(headers: Headers): number | null {
  const value = headers.get("content-length");
  return value !== null && /^\d+$/.test(value) ? Number(value) : null;
}
