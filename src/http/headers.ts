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

const NONE: ReadonlySet<string> = new Set();

function endToEnd(headers: Headers, drop: (name: string) => boolean, keep: ReadonlySet<string> = NONE): HeaderPairs {
  const named = namedByConnection(headers);
  const pairs: [string, string][] = [];
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && !(named.has(lower) && !keep.has(lower)) && !drop(lower)) pairs.push([name, value]);
  }
  return pairs;
}

function namedByConnection(headers: Headers): ReadonlySet<string> {
  const value = headers.get("connection");
  return new Set(value === null ? [] : value.split(",").map((name) => name.trim().toLowerCase()));
}

/**
 * What of a request's headers goes to the origin. Names are in lower case: those in `drop` do not, and those in `keep` do
 * although `Connection` may name them.
 */
export function requestHeaders(
  headers: Headers,
  drop: ReadonlySet<string>,
  keep: ReadonlySet<string> = NONE,
): HeaderPairs {
  return endToEnd(headers, (name) => name === ATTEMPT_HEADER || drop.has(name), keep);
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
  return endToEnd(headers, (name) => GATEWAY_HEADERS.has(name));
}
