// What a run leaves behind, one JSON object a line: everything that clients sent and got, everything that the origin saw
// and did, and every fault. All times are wall-clock milliseconds of one machine. The checker reads nothing else.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** A route's promise, as far as the checker has to know it. */
export interface RoutePolicy {
  readonly unknown: "retry" | "hold" | "verify";
  readonly duplicate: "reject" | "wait" | "attach";
  readonly waitMs: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly lockMs: number;
  readonly retentionMs: number;
  /** Bodies above it are not kept, but in a bucket. */
  readonly maxResponseBodyBytes: number;
  /** Whether larger ones go into a bucket. */
  readonly hasBucket: boolean;
  /** Whether requests' bodies only flow through, neither compared nor kept. */
  readonly comparesNone: boolean;
}

export interface Meta {
  readonly type: "meta";
  readonly seed: string;
  readonly seconds: number;
  readonly startedAt: number;
  readonly policies: Readonly<Record<string, RoutePolicy>>;
  /** Statuses by which the origin says that it did not act, or that nobody knows. */
  readonly refused: readonly number[];
  readonly ambiguous: readonly number[];
}

/** What the origin says of itself in every answer. */
export interface OriginMarks {
  /** The arrival that this answers; or the question, or (below 0) the decision, that it came by. */
  readonly arrival: number;
  /** The client's request that the arrival was forwarded from. */
  readonly request: string;
  readonly key: string;
  readonly scope: string;
  /** The effect that the answer tells of; null where there was none. */
  readonly effect: string | null;
  readonly bytes: number;
}

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly complete: boolean;
  /** The client itself cut it short. */
  readonly left: boolean;
  /** The gateway's `Idempotency-Key`. */
  readonly echo: string | null;
  /** Of a problem that the gateway made. */
  readonly code: string | null;
  readonly replayed: boolean;
  readonly expiresAt: number | null;
  readonly retryAfterMs: number | null;
  /** The text that only the origin's answers hold, in an answer that is not the origin's. */
  readonly leaks: boolean;
  readonly origin: OriginMarks | null;
  /** Digest over status text and the origin's own headers, but for those that a replay may leave out or frames. */
  readonly headers: string;
  readonly hasCookie: boolean;
  readonly sha256: string;
  readonly bytes: number;
  /** Against the bytes that the origin's marks announce; `none`: it is not the origin's. */
  readonly body: "whole" | "prefix" | "other" | "none";
}

export type Ending =
  | Answer
  /** `left`: the client reset the connection. `broken`: it was refused or lost. `patience`: nothing came in time. */
  | { readonly kind: "none"; readonly why: "left" | "broken" | "patience"; readonly error?: string };

/** One request of one client, from its first byte to its end. */
export interface Exchange {
  readonly type: "exchange";
  readonly id: string;
  readonly key: string;
  readonly scope: string;
  readonly path: string;
  /** Names what is asked for: requests of one key with the same print are retries of each other. */
  readonly print: string;
  /** Who sent it. Those of one scope share a key, though none may see what another did. */
  readonly credential: string;
  /** Only a part of the body was sent. */
  readonly partial: boolean;
  /** Of its body, when it is whole. */
  readonly bytes: number;
  readonly bodySha256: string;
  /** How long it read nothing within the answer. */
  readonly stalledMs: number;
  /** In the final phase, without faults. */
  readonly calm: boolean;
  readonly sentAt: number;
  readonly endAt: number;
  readonly ending: Ending;
}

/** One request that arrived at the origin, and all that came of it there. */
export interface Arrival {
  readonly type: "arrival";
  /** 1, 2, 3 … in the order of arrival. */
  readonly seq: number;
  readonly request: string;
  readonly key: string;
  readonly scope: string;
  readonly path: string;
  readonly credential: string;
  /** The `Idempotency-Attempt`; null where it is no whole number above 0. */
  readonly attempt: number | null;
  /** Of the request's body; null where it did not come whole. */
  readonly bodySha256: string | null;
  /** The request's `Idempotency-Key` was the key. */
  readonly hasKey: boolean;
  /** What it did. */
  readonly step: string;
  readonly at: number;
  readonly status: number | null;
  readonly headAt: number | null;
  /** The longest silence between two pieces of the answer's body. */
  readonly maxGapMs: number;
  /** Just before the last byte of a whole answer was written: nobody can have seen its end before. */
  readonly lastAt: number | null;
  readonly headers: string | null;
  readonly sha256: string | null;
  /** The whole body's, as soon as the head is written. */
  readonly bytes: number | null;
  readonly closedAt: number;
  readonly closedBy: "origin" | "peer";
}

/** The origin acted. It may do so when the connection has long been closed. */
export interface Effect {
  readonly type: "effect";
  readonly id: string;
  readonly arrival: number;
  readonly key: string;
  readonly scope: string;
  readonly at: number;
}

/** The origin was asked what it knows of a key (`unknown = "verify"`). It shares its numbers with arrivals. */
export interface Question {
  readonly type: "question";
  readonly seq: number;
  readonly key: string;
  readonly scope: string;
  readonly credential: string;
  /** How it was answered: "truth", "hang", "trickle" … */
  readonly mode: string;
  readonly at: number;
  /** The effect that this credential may see; null: none. */
  readonly effect: string | null;
  readonly status: number | null;
  /** Just before the last byte of a whole answer was written. */
  readonly lastAt: number | null;
  readonly headers: string | null;
  readonly sha256: string | null;
  readonly closedAt: number;
  readonly closedBy: "origin" | "peer";
}

/** What an operator decided about a record, at a time that may be the wrong one. */
export interface Decision {
  readonly type: "decision";
  /** Below 0: the `arrival` in the marks of the response that `resolve` gives. */
  readonly seq: number;
  readonly key: string;
  readonly scope: string;
  readonly action: "release" | "resolve" | "forget";
  readonly sentAt: number;
  readonly endAt: number;
  /** `lost`: no answer came, or one that leaves open whether it was done. */
  readonly outcome: "changed" | "refused" | "missing" | "invalid" | "lost";
  readonly retryAfterMs: number | null;
  /** With `resolve`: the response that it gives. */
  readonly status: number | null;
  readonly headers: string | null;
  readonly sha256: string | null;
}

/**
 * Something that was broken for a time. `lag` and `slow-disk`: the machine was too busy for what takes milliseconds; what
 * has to be in time may have been late. Both also tell of a gateway that is killed or stopped, with nothing new.
 * `bucket-fails` concerns the routes that have one, and no other.
 */
export interface Outage {
  readonly type: "outage";
  readonly kind: "killed" | "stopped" | "origin-refuses" | "bucket-fails" | "lag" | "slow-disk";
  readonly from: number;
  readonly to: number;
}

/** The gateway's state on disk, as it was at the end: whatever should be gone by then. */
export interface LedgerLook {
  readonly type: "ledger";
  readonly at: number;
  readonly records: number;
  /** Records whose deadline has passed long ago, without any request since. */
  readonly overdue: number;
  /** Bodies that no record owns and nobody erases. */
  readonly orphans: number;
  /** Objects in the bucket that no record's shard knows of. */
  readonly strays: readonly string[];
  /** Shards that could not be read. */
  readonly unread: number;
}

/** The gateway's process ended by itself; `output` is the end of what it printed. */
export interface Died {
  readonly type: "died";
  readonly at: number;
  readonly output: string;
}

/** Records that have gone from the disk while the run was on: an alarm erased them. */
export interface Erased {
  readonly type: "erased";
  readonly count: number;
}

export type HistoryEvent =
  | Meta
  | Exchange
  | Arrival
  | Effect
  | Question
  | Decision
  | Outage
  | LedgerLook
  | Died
  | Erased;

export async function readHistory(file: string): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    if (line === "") continue;
    const event: HistoryEvent = JSON.parse(line);
    events.push(event);
  }
  return events;
}
