// What clients were told, held against what the origin said: G2 first answer wins, G4 durable before told, G5 the client may
// leave, and the mismatch.

import type { Answer, Arrival, Exchange } from "../history.ts";
import {
  answersFrom,
  isClean,
  isOutgrown,
  isResult,
  livesUntil,
  mayBeUnkept,
  mayHaveChanged,
  naming,
  printOf,
  SLACK_MS,
  toldAt,
} from "./facts.ts";
import { bucketFailed, wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

/**
 * From the moment on in which a result was told (or must have been stored), every retry gets it replayed, and the origin is
 * not called any more.
 */
export function firstAnswerWins(world: World, record: RecordHistory): readonly Violation[] {
  const violations: Violation[] = [];
  for (const arrival of record.arrivals) {
    const told = toldAt(world, record, arrival);
    // A body that outgrows the ledger is settled when the bucket has all of it, however long that takes.
    const isPrompt = isClean(world, arrival) && !isOutgrown(record, arrival);
    const settled = isPrompt ? Math.min(told, (arrival.lastAt ?? told) + SLACK_MS) : told;
    if (settled === Infinity) continue;
    const livesTo = livesUntil(world, record, arrival);
    for (const exchange of record.exchanges) {
      if (exchange.sentAt <= settled || exchange.endAt >= livesTo) continue;
      if (exchange.print !== printOf(world, arrival)) continue;
      const isUnkept = mayBeUnkept(world, record, arrival);
      const what =
        isUnkept && isCode(exchange, "response-not-kept") ? null : contradiction(world, record, arrival.seq, exchange);
      if (what === null) continue;
      violations.push({ rule: ruleFor(world, arrival, exchange, told), what, evidence: naming(arrival, exchange) });
    }
    for (const later of record.arrivals) {
      if (later.seq <= arrival.seq || later.at >= livesTo) continue;
      const what = "the origin was called again for a key that has its answer";
      violations.push({ rule: ruleFor(world, arrival, later, told), what, evidence: naming(arrival, later) });
    }
  }
  return violations;
}

/** What the same defect is called, by how it came about. */
function ruleFor(world: World, settled: Arrival, later: Arrival | Exchange, told: number): string {
  const at = later.type === "arrival" ? later.at : later.sentAt;
  if (told < at) {
    return wasBroken(world, told, at, ["killed"]) ? "G4 durable before told" : "G2 first answer wins";
  }
  const cause = world.exchange(settled.request)?.ending;
  const hasLeft = cause !== undefined && (cause.kind === "none" || cause.left);
  return hasLeft ? "G5 the client may leave" : "G2 first answer wins";
}

function isCode({ ending }: Exchange, code: string): boolean {
  return ending.kind === "answer" && ending.code === code;
}

/** What says that the record's answer is not the one with this number. Null: it got that answer, or nothing that says otherwise. */
export function contradiction(world: World, record: RecordHistory, seq: number, exchange: Exchange): string | null {
  const { ending, sentAt, endAt } = exchange;
  if (ending.kind === "none") return null;
  const isBroken = wasBroken(world, sentAt, endAt) || bucketFailed(world, record, sentAt, endAt);
  if (ending.origin?.arrival === seq) {
    if (!ending.replayed) return "an answer from the record does not say that it is a replay";
    return ending.complete || ending.left || isBroken || stoodStill(record, exchange) ? null : "a replay broke off";
  }
  if (ending.origin !== null) {
    const isRemembered = ending.replayed && wasForgotten(record, exchange, ending);
    return isRemembered ? null : `the first answer was that of ${nameOf(seq)}, this is another`;
  }
  if (!ending.complete || (ending.code === "store-unavailable" && isBroken)) return null;
  return `answered ${ending.status} ${ending.code ?? ""} instead of the first answer`;
}

function nameOf(seq: number): string {
  return seq < 0 ? `decision ${seq}` : `arrival ${seq}`;
}

/** Whoever reads nothing for longer than `idle_timeout` may be let go. */
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

/** G2: whoever gets an answer gets what the origin gave, to the byte, and all get the same. */
export function everyByte(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G2 every byte";
  return record.arrivals.flatMap((arrival) =>
    answersFrom(record, arrival.seq).flatMap(({ exchange, answer }) => {
      const what = difference(world, arrival, exchange, answer);
      return what === null ? [] : [{ rule, what, evidence: naming(arrival, exchange) }];
    }),
  );
}

function difference(world: World, arrival: Arrival, exchange: Exchange, answer: Answer): string | null {
  if (answer.status !== arrival.status) return `status ${answer.status} instead of ${arrival.status}`;
  if (answer.headers !== arrival.headers) return "other headers than the origin's";
  if (answer.body === "other") return "other bytes than the origin's";
  if (answer.complete && (answer.body !== "whole" || arrival.lastAt === null))
    return "a part of a body passed for all of it";
  if (answer.complete && answer.sha256 !== arrival.sha256) return "another body than the origin's";
  const isOwn = exchange.id === arrival.request;
  if (answer.replayed) {
    if (isOwn) return "the first answer says that it is a replay";
    if (!isResult(world, arrival) && answer.complete) return "an answer that is no result was replayed";
    if (answer.hasCookie) return "a replay set the first client's cookie";
  } else if (isResult(world, arrival) && !isOwn) return "a replay does not say so";
  return null;
}

/** Both ends of what `Idempotency-Expires` says, and that nothing is replayed beyond it. */
export function expiry(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G2 until it expires";
  const { retentionMs } = record.policy;
  return record.arrivals.flatMap((arrival) =>
    answersFrom(record, arrival.seq).flatMap(({ exchange, answer }): Violation[] => {
      const { expiresAt } = answer;
      const evidence = naming(arrival, exchange);
      if (expiresAt === null) return [];
      // An HTTP date knows whole seconds: the record lives up to a second longer than it says.
      if (answer.replayed && exchange.sentAt >= expiresAt + 1_000)
        return [{ rule, what: `a replay ${exchange.sentAt - expiresAt} ms after its end`, evidence }];
      const earliest = isOutgrown(record, arrival) ? 0 : (arrival.lastAt ?? 0) + retentionMs - 1_000;
      if (expiresAt < earliest) return [{ rule, what: "it expires before its retention is over", evidence }];
      if (expiresAt > exchange.endAt + retentionMs)
        return [{ rule, what: "it expires after its retention is over", evidence }];
      return isResult(world, arrival) ? [] : [{ rule, what: "what is not kept does not expire", evidence }];
    }),
  );
}

/** Another request with a key that is in use is refused in every state, and learns nothing. */
export function mismatch(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "mismatch";
  const others = new Set(record.exchanges.map(({ print }) => print)).size > 1;
  if (!others) {
    return record.exchanges
      .filter(({ ending }) => ending.kind === "answer" && ending.code === "key-reused")
      .map((exchange) => ({ rule, what: "a retry was taken for another request", evidence: naming(exchange) }));
  }
  return record.arrivals.flatMap((arrival) => {
    const livesTo = livesUntil(world, record, arrival);
    return record.exchanges.flatMap((exchange) => {
      const { ending, print, sentAt, endAt } = exchange;
      if (print === printOf(world, arrival) || sentAt < arrival.at || endAt >= livesTo) return [];
      if (ending.kind === "none" || ending.code === "key-reused" || (!ending.complete && ending.origin === null))
        return [];
      if (ending.code === "store-unavailable" && wasBroken(world, sentAt, endAt)) return [];
      const what = `another request with the key was answered ${ending.status} ${ending.code ?? ""}`;
      return [{ rule, what, evidence: naming(arrival, exchange) }];
    });
  });
}
