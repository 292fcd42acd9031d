// G7 nobody else's answer, honest problems: the gateway sends a problem only where it is true, and headers that clients must not see.

import type { Answer, Exchange } from "./history.ts";
import { forgottenFrom, givenUpFrom, isClean, mayBeUnkept, naming } from "./facts.ts";
import { bucketFailed, wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

/** G7: an answer belongs to the caller and key that it names, and no problem contains a part of one. */
export function nobodyElsesAnswer(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G7 nobody else's answer";
  return record.exchanges.flatMap((exchange) => {
    const { ending, path } = exchange;
    const evidence = naming(exchange);
    if (ending.kind === "none") return [];
    if (ending.leaks) return [{ rule, what: "a problem contains a part of an origin's answer", evidence }];
    const { origin } = ending;
    if (origin === null) return [];
    if (origin.scope !== record.scope)
      return [{ rule, what: `expected an answer of ${record.scope}, got one of ${origin.scope}`, evidence }];
    if (origin.key !== record.key)
      return [{ rule, what: `expected an answer for key ${record.key}, got one for key ${origin.key}`, evidence }];
    const arrival = world.arrival(origin.arrival);
    const source = arrival ?? world.given(origin.arrival);
    const isOfRecord = source?.key === record.key && source.scope === record.scope;
    const exists = isOfRecord && (arrival === undefined || arrival.path === path);
    return exists ? [] : [{ rule, what: `the origin never sent answer ${origin.arrival} for this key`, evidence }];
  });
}

/** Every answer is the origin's or a problem of the gateway, and every problem is true. */
export function honestProblems(world: World, record: RecordHistory): readonly Violation[] {
  return record.exchanges.flatMap((exchange) => {
    const { ending } = exchange;
    if (ending.kind === "none" || !ending.complete) return [];
    const what = untruth(world, record, exchange, ending);
    return what === null ? [] : [{ rule: "honest problems", what, evidence: naming(exchange) }];
  });
}

function untruth(world: World, record: RecordHistory, exchange: Exchange, answer: Answer): string | null {
  if (answer.echo !== record.key && (answer.origin !== null || answer.code !== null))
    return `expected the Idempotency-Key ${record.key} in the answer, got ${answer.echo}`;
  if (answer.origin !== null) return null;
  const own = record.arrivals.find(({ request }) => request === exchange.id);
  if (answer.monitor !== null) {
    return record.policy.acceptedAttempts === undefined || answer.status !== 202
      ? `a monitor with ${answer.status}, or on a route that accepts no requests`
      : null;
  }
  switch (answer.code ?? "") {
    case "attempts-exhausted":
      return record.policy.acceptedAttempts === undefined ? "attempts-exhausted on a route that accepts none" : null;
    case "in-flight": {
      const longestMs = Math.ceil(record.policy.lockMs / 1_000) * 1_000;
      const reported = answer.retryAfterMs;
      return reported === null || reported > longestMs
        ? `in-flight: expected a Retry-After of at most ${longestMs} ms (the lock), got ${reported} ms`
        : null;
    }
    case "key-reused":
      return null;
    case "outcome-unknown":
      if (record.policy.unknown === "retry") return 'outcome-unknown on a route with unknown = "retry"';
      return record.policy.unknown === "verify" && answer.retryAfterMs === null
        ? 'outcome-unknown without Retry-After on a route with unknown = "verify"'
        : null;
    case "key-expired":
      return untruthOfExpiry(record, exchange, answer);
    case "key-abandoned":
      return givenUpFrom(record) < exchange.endAt ? null : "key-abandoned, although no client has given the key up";
    case "response-not-kept":
      return record.arrivals.some((arrival) => mayBeUnkept(world, record, arrival))
        ? null
        : "response-not-kept, although nothing kept the gateway from storing the response";
    case "request-invalid":
      // Its body came too slowly, such as while the gateway was stopped.
      if (answer.status !== 408) return `unexpected answer: ${answer.status} request-invalid`;
      return own === undefined ? null : `408 request-invalid, although the origin got arrival ${own.seq}`;
    case "origin-unreachable":
      return own === undefined ? null : `origin-unreachable, although the origin got arrival ${own.seq}`;
    case "origin-dropped":
    case "origin-timeout":
      return own !== undefined && isClean(world, own)
        ? `${answer.code}, although the origin answered arrival ${own.seq} completely and in time`
        : null;
    case "identity-unavailable":
      if (own !== undefined) return `identity-unavailable, although the origin got arrival ${own.seq}`;
      return wasBroken(world, exchange.sentAt, exchange.endAt)
        ? null
        : "identity-unavailable, although no fault was active";
    case "store-unavailable":
      // The request that its client waited for was erased meanwhile.
      if (record.policy.acceptedAttempts !== undefined && forgottenFrom(record, exchange.sentAt) < exchange.endAt)
        return null;
      return wasBroken(world, exchange.sentAt, exchange.endAt) ||
        bucketFailed(world, record, exchange.sentAt, exchange.endAt)
        ? null
        : "store-unavailable, although no fault was active";
    default:
      return `unexpected answer: ${answer.status} ${answer.code ?? "without a code"}`;
  }
}

/** A record has not expired before its retention has ended, even if its attempt never reached the origin. */
function untruthOfExpiry({ policy, exchanges }: RecordHistory, { endAt }: Exchange, answer: Answer): string | null {
  if (policy.rememberMs === undefined) return "key-expired on a route that remembers no keys";
  if (answer.status !== 409) return `key-expired with status ${answer.status}, expected 409`;
  const earlyMs = Math.min(...exchanges.map(({ sentAt }) => sentAt)) + policy.retentionMs - endAt;
  return earlyMs > 0 ? `key-expired ${earlyMs} ms before the retention of the first request can have ended` : null;
}

/** What the contract names (src/kernel/request/README.md). */
const NAMED_HEADERS: ReadonlySet<string> = new Set([
  "idempotency-expires",
  "idempotency-key",
  "idempotency-status",
  "idempotent-replayed",
]);

/** On what the origin said when it was asked, and on nothing else. */
export const VERIFIED_HEADER = "idempotency-verified";

/** What the origin says to the gateway alone, and what the gateway's parts say to each other, reaches no client, on whatever way. */
export function privateHeaders(
  _world: World,
  { exchanges, looks, verifications }: RecordHistory,
): readonly Violation[] {
  return [...exchanges, ...looks].flatMap((asked) => {
    const { ending } = asked;
    if (ending.kind === "none") return [];
    const evidence = naming(asked);
    // What the origin said of a state names itself in its body, which the answer to HEAD lacks, and one that was cut short.
    const hasBody = ending.complete && !("method" in asked && asked.method === "HEAD");
    const isVerified = verifications.some(({ seq }) =>
      ending.origin === null ? !hasBody : seq === ending.origin.arrival,
    );
    return ending.gatewayHeaders
      .filter((name) => !NAMED_HEADERS.has(name) && !(isVerified && name === VERIFIED_HEADER))
      .map((name) => ({ rule: "private headers", what: `a client got the header ${name}`, evidence }));
  });
}
