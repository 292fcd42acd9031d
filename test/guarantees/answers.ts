// Compares what clients received with what the origin answered: G2 first answer wins, G4 durable before told, G5 the client
// may leave, and the mismatch.

import type { Answer, Arrival, Exchange } from "./history.ts";
import {
  answersFrom,
  isClean,
  isOutgrown,
  isResult,
  mayFollow,
  isCode,
  livesUntil,
  mayBeUnkept,
  mayHaveChanged,
  naming,
  fingerprintOf,
  SLACK_MS,
  answeredAt,
} from "./facts.ts";
import { bucketFailed, wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

/** How long the upload of some hundred kilobytes into the bucket may take on a busy machine. */
const BUCKET_SLACK_MS = 10 * SLACK_MS;

/**
 * Once a client has received a result (or the gateway must have stored it), every retry gets it replayed, and the origin
 * is not called again.
 */
export function firstAnswerWins(world: World, record: RecordHistory): readonly Violation[] {
  const violations: Violation[] = [];
  for (const arrival of record.arrivals) {
    const reported = answeredAt(world, record, arrival);
    const settled = Math.min(reported, settledBy(world, record, arrival));
    if (settled === Infinity) continue;
    const livesTo = livesUntil(world, record, arrival);
    for (const exchange of record.exchanges) {
      if (exchange.sentAt <= settled || exchange.endAt >= livesTo) continue;
      if (exchange.fingerprint !== fingerprintOf(world, arrival)) continue;
      const isUnkept = mayBeUnkept(world, record, arrival);
      const what =
        isUnkept && isCode(exchange, "response-not-kept") ? null : contradiction(world, record, arrival.seq, exchange);
      if (what === null) continue;
      violations.push({ rule: ruleFor(world, arrival, exchange, reported), what, evidence: naming(arrival, exchange) });
    }
    for (const later of record.arrivals) {
      if (later.seq <= arrival.seq || later.at >= livesTo) continue;
      const what = `expected a replay of arrival ${arrival.seq}, but the origin was called again (arrival ${later.seq})`;
      violations.push({ rule: ruleFor(world, arrival, later, reported), what, evidence: naming(arrival, later) });
    }
  }
  return violations;
}

/** The latest time at which the gateway has stored an answer that nothing disturbed; `Infinity` when something did. */
function settledBy(world: World, record: RecordHistory, arrival: Arrival): number {
  const { at, lastAt } = arrival;
  if (lastAt === null || !isClean(world, arrival)) return Infinity;
  if (!isOutgrown(record, arrival)) return lastAt + SLACK_MS;
  // The bucket has to take all of a body that outgrows the ledger.
  const storedBy = lastAt + BUCKET_SLACK_MS;
  const isDisturbed = wasBroken(world, at, storedBy) || bucketFailed(world, record, at, storedBy);
  return isDisturbed ? Infinity : storedBy;
}

/** The rule that a defect breaks depends on what preceded it: a crash, a disconnected client, or neither. */
function ruleFor(world: World, settled: Arrival, later: Arrival | Exchange, reported: number): string {
  const at = later.type === "arrival" ? later.at : later.sentAt;
  if (reported < at) {
    return wasBroken(world, reported, at, ["killed"]) ? "G4 durable before told" : "G2 first answer wins";
  }
  const cause = world.exchange(settled.request)?.ending;
  const hasLeft = cause !== undefined && (cause.kind === "none" || cause.left);
  return hasLeft ? "G5 the client may leave" : "G2 first answer wins";
}

/** Says how an exchange contradicts the record's settled answer, whose number is `seq`; null if it does not. */
export function contradiction(world: World, record: RecordHistory, seq: number, exchange: Exchange): string | null {
  const { ending, sentAt, endAt } = exchange;
  if (ending.kind === "none") return null;
  const isBroken = wasBroken(world, sentAt, endAt) || bucketFailed(world, record, sentAt, endAt);
  if (ending.origin?.arrival === seq) {
    if (!ending.replayed)
      return `expected Idempotent-Replayed: true on the replay of ${nameOf(seq)}, but it is missing`;
    return ending.complete || ending.left || isBroken || stoodStill(record, exchange)
      ? null
      : `expected a complete replay of ${nameOf(seq)}, but it broke off after ${ending.bytes} bytes`;
  }
  if (ending.origin !== null) {
    const isRemembered = ending.replayed && wasForgotten(record, exchange, ending);
    return isRemembered
      ? null
      : `expected a replay of ${nameOf(seq)}, but the client got the answer of ${nameOf(ending.origin.arrival)}`;
  }
  if (!ending.complete || (isUnavailable(ending) && isBroken)) return null;
  return `expected a replay of ${nameOf(seq)}, but the client got ${ending.status} ${ending.code ?? ""}`;
}

/** The gateway cannot reach what it needs before it can look for an answer. Each problem has to be true as well (others.ts). */
function isUnavailable({ code }: Answer): boolean {
  return code === "store-unavailable" || code === "identity-unavailable";
}

function nameOf(seq: number): string {
  return seq < 0 ? `decision ${seq}` : `arrival ${seq}`;
}

/** The gateway may disconnect a client that reads nothing for longer than `idle_timeout`. */
function stoodStill({ policy }: RecordHistory, { stalledMs }: Exchange): boolean {
  return stalledMs > policy.idleTimeoutMs - SLACK_MS;
}

/** What an isolate remembers of small replays, and how long after an operator has erased the record (src/operator/README.md). */
const REMEMBERED_BYTES = 8_192;
const REMEMBERED_MS = 30_000;

function wasForgotten({ decisions }: RecordHistory, { sentAt }: Exchange, { bytes }: Answer): boolean {
  return (
    bytes <= REMEMBERED_BYTES &&
    decisions.some(
      (decision) =>
        decision.action === "forget" &&
        mayHaveChanged(decision) &&
        decision.sentAt <= sentAt &&
        sentAt <= decision.endAt + REMEMBERED_MS,
    )
  );
}

/** G2: every client gets exactly the bytes that the origin sent. */
export function everyByte(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G2 every byte";
  return record.arrivals.flatMap((arrival) =>
    answersFrom(record, arrival.seq).flatMap(({ exchange, answer }) => {
      const what = difference(world, record, arrival, exchange, answer);
      return what === null ? [] : [{ rule, what, evidence: naming(arrival, exchange) }];
    }),
  );
}

function difference(
  world: World,
  { policy }: RecordHistory,
  arrival: Arrival,
  exchange: Exchange,
  answer: Answer,
): string | null {
  if (answer.status !== arrival.status) return `expected status ${arrival.status}, got ${answer.status}`;
  if (answer.headers !== arrival.headers) return "expected the origin's status text and headers, got different ones";
  if (answer.body === "other") return "expected the origin's body, got different bytes";
  if (answer.complete && (answer.body !== "whole" || arrival.lastAt === null))
    return "the origin's body was cut short, but the client got it as a complete answer";
  if (answer.complete && answer.sha256 !== arrival.sha256) return "expected the origin's body, got a different digest";
  const isOwn = exchange.id === arrival.request;
  // The record tells everyone what became of an accepted request, also its own client while that waits.
  const mayBeEither = isOwn && policy.acceptedAttempts !== undefined;
  if (answer.replayed) {
    if (isOwn && !mayBeEither) return "the first answer is marked as a replay";
    if (!isResult(world, arrival) && answer.complete)
      return `status ${answer.status} is not a result, but it was replayed`;
    if (answer.hasCookie) return "the replay contains the first client's Set-Cookie";
  } else if (isResult(world, arrival) && !isOwn)
    return "expected Idempotent-Replayed: true on the replay, but it is missing";
  return null;
}

/** `Idempotency-Expires` fits the retention from both sides, and nothing is replayed after it. */
export function expiry(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G2 until it expires";
  const { retentionMs } = record.policy;
  return record.arrivals.flatMap((arrival) =>
    answersFrom(record, arrival.seq).flatMap(({ exchange, answer }): Violation[] => {
      const { expiresAt } = answer;
      const evidence = naming(arrival, exchange);
      if (expiresAt === null) return [];
      // An HTTP date has whole seconds, so the record lives up to a second longer than the header says.
      if (answer.replayed && exchange.sentAt >= expiresAt + 1_000)
        return [{ rule, what: `replayed ${exchange.sentAt - expiresAt} ms after Idempotency-Expires`, evidence }];
      const earliest = isOutgrown(record, arrival) ? 0 : (arrival.lastAt ?? 0) + retentionMs - 1_000;
      if (expiresAt < earliest)
        return [
          { rule, what: `Idempotency-Expires is ${earliest - expiresAt} ms too early for the retention`, evidence },
        ];
      if (expiresAt > exchange.endAt + retentionMs)
        return [
          {
            rule,
            what: `Idempotency-Expires is ${expiresAt - exchange.endAt - retentionMs} ms too late for the retention`,
            evidence,
          },
        ];
      return isResult(world, arrival)
        ? []
        : [{ rule, what: "Idempotency-Expires on an answer that is not kept", evidence }];
    }),
  );
}

/** A different request with a key that is in use is refused in every state, and learns nothing. */
export function mismatch(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "mismatch";
  const others = new Set(record.exchanges.map(({ fingerprint }) => fingerprint)).size > 1;
  if (!others) {
    return record.exchanges
      .filter(({ ending }) => ending.kind === "answer" && ending.code === "key-reused")
      .map((exchange) => ({
        rule,
        what: "a retry of the same request was refused as key-reused",
        evidence: naming(exchange),
      }));
  }
  return record.arrivals.flatMap((arrival) => {
    const livesTo = livesUntil(world, record, arrival);
    return record.exchanges.flatMap((exchange) => {
      const { ending, fingerprint, sentAt, endAt } = exchange;
      if (fingerprint === fingerprintOf(world, arrival) || sentAt < arrival.at || endAt >= livesTo) return [];
      if (mayFollow(world, record, arrival, endAt)) return [];
      if (ending.kind === "none" || ending.code === "key-reused" || (!ending.complete && ending.origin === null))
        return [];
      if (isUnavailable(ending) && wasBroken(world, sentAt, endAt)) return [];
      // Whether it may say so is another rule's matter (others.ts).
      if (ending.code === "key-abandoned") return [];
      const what = `expected key-reused for a different request with the key, got ${ending.status} ${ending.code ?? ""}`;
      return [{ rule, what, evidence: naming(arrival, exchange) }];
    });
  });
}
