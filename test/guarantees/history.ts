// The history of a run, one JSON object per line: everything that clients sent and received, everything that the origin
// saw and did, and every fault. All times are milliseconds of one clock. The checker reads nothing else.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Ending } from "./ending.ts";

export type { Answer, Ending, OriginMarks } from "./ending.ts";

/** An event of each result, or of those that the origin has made itself with a 2xx, for one destination. */
export interface PublicationPolicy {
  readonly to: string;
  readonly isOrigins?: boolean;
}

/** The settings of a route that the checker needs. */
export interface RoutePolicy {
  readonly unknown: "retry" | "hold" | "verify";
  readonly duplicate: "reject" | "wait" | "attach";
  readonly waitMs: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly lockMs: number;
  readonly retentionMs: number;
  readonly unknownRetentionMs: number;
  /** How long keys are remembered; absent: no longer than their records. */
  readonly rememberMs?: number;
  /** Larger bodies are kept only in a bucket, if there is one. */
  readonly maxResponseBodyBytes: number;
  /** Whether larger bodies go into a bucket. */
  readonly hasBucket: boolean;
  /** Whether request bodies are streamed through, neither compared nor kept. */
  readonly comparesNone: boolean;
  /** The events of its results. */
  readonly publishes?: readonly PublicationPolicy[];
  /** How many attempts an accepted request gets; absent: the route accepts none. */
  readonly acceptedAttempts?: number;
  /** Whether a key whose attempts were all refused takes another request. */
  readonly takesOthers?: boolean;
  /** Whether its callers have a lane each, in an object of their own. */
  readonly takesTurns?: boolean;
  /** With `verify`, of a resource's state: how long after the lock's end a "no" begins to count. Absent: the origin is asked about keys. */
  readonly settleMs?: number;
  /** Of a queue: the age at which a message is given up. Absent: it is a route. */
  readonly giveUpAfterMs?: number;
}

/** The settings of a group of consumers. */
export interface GroupPolicy {
  readonly unknown: "retry" | "hold";
  readonly retentionMs: number;
  /** The destinations that get an event of each completion. */
  readonly publishes?: readonly string[];
}

export interface Meta {
  readonly type: "meta";
  readonly seed: string;
  readonly seconds: number;
  readonly startedAt: number;
  readonly policies: Readonly<Record<string, RoutePolicy>>;
  /** By the name of the group; absent: there are no consumers. */
  readonly groups?: Readonly<Record<string, GroupPolicy>>;
  /** `refused`: statuses that mean the origin did not act. `ambiguous`: statuses that leave it open. */
  readonly refused: readonly number[];
  readonly ambiguous: readonly number[];
  /** Of these, the body says so: it is known with its last byte. */
  readonly byBody?: readonly number[];
}

/** One request of one client, from its first byte to its end. */
export interface Exchange {
  readonly type: "exchange";
  readonly id: string;
  readonly key: string;
  readonly scope: string;
  readonly path: string;
  /** Identifies the operation: requests of one key with the same fingerprint are retries of each other. */
  readonly fingerprint: string;
  /** Who sent it. Callers of one scope share a key, but none may see another's effects. */
  readonly credential: string;
  /** The caller whose turn it takes; absent: its scope. */
  readonly caller?: string;
  /** Only a part of the body was sent. */
  readonly partial: boolean;
  /** Size of the whole body, also when only a part was sent. */
  readonly bytes: number;
  readonly bodySha256: string;
  /** How long the client stopped reading within the answer. */
  readonly stalledMs: number;
  /** Its `Prefer` header. */
  readonly prefer: string | null;
  /** Sent in the final phase, without faults. */
  readonly calm: boolean;
  readonly sentAt: number;
  readonly endAt: number;
  readonly ending: Ending;
}

/** One request that arrived at the origin, and what the origin did with it. */
export interface Arrival {
  readonly type: "arrival";
  /** 1, 2, 3 … in the order of arrival. */
  readonly seq: number;
  readonly request: string;
  readonly key: string;
  readonly scope: string;
  readonly path: string;
  readonly credential: string;
  /** The `Idempotency-Attempt` header; null if it is not a whole number above 0. */
  readonly attempt: number | null;
  /** Digest of the request's body; null if the body did not arrive whole. */
  readonly bodySha256: string | null;
  /** The request carried the right `Idempotency-Key`: none where the key is in the body. */
  readonly hasKey: boolean;
  /** The planned behaviour. */
  readonly step: string;
  readonly at: number;
  readonly status: number | null;
  readonly headAt: number | null;
  /** The longest pause between two pieces of the answer's body. */
  readonly maxGapMs: number;
  /** Taken just before the last byte of a whole answer was written: no client can have seen the end earlier. */
  readonly lastAt: number | null;
  readonly headers: string | null;
  readonly sha256: string | null;
  /** Size of the whole body, known as soon as the head is written. */
  readonly bytes: number | null;
  readonly closedAt: number;
  readonly closedBy: "origin" | "peer";
}

/** The origin acted, possibly long after the connection was closed. */
export interface Effect extends Pick<Arrival, "request" | "key" | "scope" | "credential" | "attempt"> {
  readonly type: "effect";
  readonly id: string;
  /** 0: it was done otherwise than by a request of this key, to the resource that the key's requests are about. */
  readonly arrival: number;
  readonly at: number;
}

/** The gateway asked the origin what it knows about a key (`unknown = "verify"`). Numbered together with arrivals. */
export interface Verification {
  readonly type: "verification";
  readonly seq: number;
  readonly key: string;
  readonly scope: string;
  readonly credential: string;
  /** How the origin answered: "truth", "hang", "trickle" … */
  readonly mode: string;
  readonly at: number;
  /** The effect that this credential may see; null if none. */
  readonly effect: string | null;
  readonly status: number | null;
  /** Taken just before the last byte of a whole answer was written. */
  readonly lastAt: number | null;
  readonly headers: string | null;
  readonly sha256: string | null;
  readonly closedAt: number;
  readonly closedBy: "origin" | "peer";
  /** Of a question about the state of a resource, or about a list. */
  readonly state?: SaidState;
}

/** What an answer says of the operation. `open`: neither, or nothing that may be believed. */
export interface SaidState {
  readonly says: "happened" | "not-happened" | "open";
  /** What retries have to get if it happened. */
  readonly given: Pick<Verification, "status" | "headers" | "sha256"> | null;
}

/** The origin has undone an effect: its state says neither that it happened nor that it did not. */
export interface Undo extends Pick<Effect, "key" | "scope" | "at"> {
  readonly type: "undo";
  readonly effect: string;
}

/** A message that a producer has sent to a queue. */
export interface Message {
  readonly type: "message";
  readonly id: string;
  readonly queue: string;
  readonly path: string;
  readonly scope: string;
  /** Empty: it has none that can be read. */
  readonly key: string;
  /** The dead letter that it makes, because its key is missing or cannot be read; `null`: it has one. */
  readonly poison: "key-missing" | "message-invalid" | null;
  /** Identifies the operation, as in an `Exchange`. */
  readonly fingerprint: string;
  readonly bytes: number;
  readonly bodySha256: string;
  readonly sentAt: number;
}

/** One delivery of a message to the gateway. */
export interface Delivery {
  readonly type: "delivery";
  readonly message: string;
  /** 1 for the first. */
  readonly number: number;
  readonly sentAt: number;
  readonly endAt: number;
  /** `ack-lost`: it was acknowledged, and its queue has not heard of that. `lost`: the gateway gave no answer. */
  readonly outcome: "acked" | "ack-lost" | "retried" | "undecided" | "lost";
}

/** A dead letter that its queue has taken. */
export interface DeadLetter {
  readonly type: "dead-letter";
  readonly message: string;
  /** Its own id. */
  readonly letter: string;
  readonly reason: string;
  readonly status: number | null;
  /** What it says itself: when it was written, when its message was sent, and the digest of its body; `null` without one. */
  readonly writtenAt: number;
  readonly messageSentAt: number;
  readonly bodySha256: string | null;
  readonly at: number;
}

/** The messages that records keep at the end of a run. */
export interface ParkedLook {
  readonly type: "parked";
  readonly at: number;
  /** Their keys. */
  readonly keys: readonly string[];
  /** Operators have released all that were kept, so each of these is one too many. */
  readonly isReleased: boolean;
}

/** What an operator decided about a record, possibly at a wrong time. */
export interface Decision {
  readonly type: "decision";
  /** Below 0. `resolve` puts it as `arrival` into the marks of its response. */
  readonly seq: number;
  readonly key: string;
  readonly scope: string;
  readonly action: "release" | "resolve" | "forget";
  readonly sentAt: number;
  readonly endAt: number;
  /** `lost`: no answer, or one that leaves open whether the change was made. */
  readonly outcome: "changed" | "refused" | "missing" | "invalid" | "lost";
  readonly retryAfterMs: number | null;
  /** The response that `resolve` provides. */
  readonly status: number | null;
  readonly headers: string | null;
  readonly sha256: string | null;
}

/** One question to the monitor of an accepted request. */
export interface Look {
  readonly type: "look";
  readonly id: string;
  /** The record's, also when somebody else asks. */
  readonly key: string;
  readonly scope: string;
  readonly path: string;
  /** Names the key and the content of the request that was accepted. */
  readonly monitor: string;
  readonly method: "GET" | "HEAD" | "DELETE";
  /** Asked by a caller who has no such record, or about other content. */
  readonly isStranger: boolean;
  readonly sentAt: number;
  readonly endAt: number;
  readonly ending: Ending;
}

/** A client asks what became of its key (`GET`), or gives it up (`DELETE`). */
export interface KeyQuestion {
  readonly type: "key-question";
  readonly id: string;
  readonly key: string;
  readonly scope: string;
  readonly path: string;
  readonly method: "GET" | "DELETE";
  /** Asked by a caller who has no such key. */
  readonly isStranger: boolean;
  readonly sentAt: number;
  readonly endAt: number;
  readonly ending: Ending;
  /** `null`: there was no whole answer, or a problem. */
  readonly report: KeyWords | null;
}

/** What a client is told of its key. */
export interface KeyWords {
  readonly state: string;
  readonly next: string;
  readonly safeNewKey: boolean;
  readonly status: number | null;
}

/** A client begins its operation afresh with another key. */
export interface NewKey {
  readonly type: "new-key";
  /** The key that it sends nothing more with, or has given up. */
  readonly key: string;
  readonly scope: string;
  readonly to: string;
  /** `safe`: it was told so, each of its requests had been answered, and nothing more is sent with the key. */
  readonly why: "abandoned" | "safe";
  readonly at: number;
}

/** One request of a client to a route that is only observed. */
export interface ObservedCall {
  readonly type: "observed-call";
  readonly id: string;
  readonly key: string;
  /** Only a part of the body was sent. */
  readonly partial: boolean;
  /** Digest of its headers, except framing. */
  readonly headers: string;
  readonly bodySha256: string;
  readonly sentAt: number;
  readonly endAt: number;
  readonly ending: Ending;
}

/** What arrived of it at the origin, and what the origin did. */
export interface ObservedArrival extends Pick<
  Arrival,
  "seq" | "request" | "key" | "bodySha256" | "status" | "at" | "lastAt" | "sha256"
> {
  readonly type: "observed-arrival";
  /** Digests of the request's headers, except framing, and of the answer's head. */
  readonly headers: string;
  readonly answerHeaders: string | null;
  /** What its answer says took effect; `null`: it has not acted, or its answer is too large to be looked at. */
  readonly effect: string | null;
}

/** What the gateway's report says of the observed route at the end of a run. */
export interface ObservedReport {
  readonly type: "observed-report";
  readonly at: number;
  readonly seen: number;
  readonly doubled: number;
  readonly deduplicated: number;
}

/** What a receiver does with an event: `lost` takes it, and resets the connection instead of an answer. */
export type EventAnswer = "taken" | "late" | "lost" | "reset" | "422" | "429" | "410" | "500" | "503" | "hang";

/** An event that arrived at its destination: each time that it is sent. */
export interface EventTry {
  readonly type: "event-try";
  readonly destination: string;
  /** The header `webhook-id`, and the id that the event itself has. */
  readonly webhookId: string;
  readonly id: string;
  /** Its signature is right. */
  readonly isSigned: boolean;
  readonly eventType: string;
  /** The record's id. */
  readonly subject: string;
  /** The key of its record, taken from that of the next step. */
  readonly key: string;
  readonly attempt: number;
  /** The result's status; `null`: the event says what the origin has made of it. */
  readonly status: number | null;
  /** Which arrival, question or decision the result is; `null`: the event does not carry the response. */
  readonly arrival: number | null;
  /** Digest of the whole event. */
  readonly sha256: string;
  readonly at: number;
  readonly answer: EventAnswer;
}

/** The events that no destination has taken at the end of a run, by which time all should be taken. */
export interface OutboxLook {
  readonly type: "outbox";
  readonly at: number;
  /** Their ids. */
  readonly left: readonly string[];
}

/** What a consumer asks about one message. */
export interface ClaimEntry {
  readonly key: string;
  readonly attemptId: string;
  readonly offset: number;
  /** Of a release. */
  readonly effect?: "none" | "unknown";
  /** Of a completion: the attempt's own id. */
  readonly result?: string;
}

/** What it is told. */
export interface ClaimWords {
  readonly state: string;
  readonly attempt?: number;
  readonly lockedForMs?: number;
  readonly result?: unknown;
}

/** One call of a consumer. */
export interface ClaimCall {
  readonly type: "claim-call";
  readonly group: string;
  readonly verb: "claim" | "extend" | "complete" | "release";
  readonly sentAt: number;
  readonly endAt: number;
  readonly entries: readonly ClaimEntry[];
  /** One for each entry; `null`: no answer came. */
  readonly answers: readonly ClaimWords[] | null;
}

/** A consumer has acted for a message. */
export interface ConsumerEffect {
  readonly type: "consumer-effect";
  readonly group: string;
  readonly key: string;
  /** The number of the attempt that it was granted. */
  readonly attempt: number | null;
  readonly at: number;
}

/** The end of a group's work: each of these messages is completed, or unknown. */
export interface ClaimsEnd {
  readonly type: "claims-end";
  readonly group: string;
  readonly keys: readonly string[];
}

/** Where a group was told to go on reading its partition. */
export interface PositionLook {
  readonly type: "position";
  readonly group: string;
  readonly sentAt: number;
  readonly endAt: number;
  readonly next: number | null;
}

/**
 * Something was broken for a time. `lag` and `slow-disk`: the machine was so busy that operations of a few milliseconds
 * were late; both are also reported while the gateway is killed or stopped.
 * `bucket-fails` concerns only the routes that have a bucket.
 */
export interface Outage {
  readonly type: "outage";
  readonly kind: "killed" | "stopped" | "origin-refuses" | "bucket-fails" | "lag" | "slow-disk";
  readonly from: number;
  readonly to: number;
}

/** The gateway's state on disk at the end of the run, by when all due work should be done. */
export interface LedgerLook {
  readonly type: "ledger";
  readonly at: number;
  readonly records: number;
  /** Records whose deadline passed long ago. */
  readonly overdue: number;
  /** Stored bodies that no record owns and that are not queued for erasure. */
  readonly orphans: number;
  /** Objects in the bucket that no shard knows. */
  readonly strays: readonly string[];
  /** Shards that could not be read. */
  readonly unread: number;
  /** The keys of accepted requests that have their result, and whose credential is still stored. */
  readonly credentials?: readonly string[];
}

/** The gateway's process ended without being killed; `output` is the end of what it printed. */
export interface Died {
  readonly type: "died";
  readonly at: number;
  readonly output: string;
}

/** Records that alarms erased from the disk during the run. */
export interface Erased {
  readonly type: "erased";
  readonly count: number;
}

export type HistoryEvent =
  | Meta
  | Exchange
  | Arrival
  | Effect
  | Undo
  | Verification
  | Decision
  | Look
  | KeyQuestion
  | NewKey
  | ObservedCall
  | ObservedArrival
  | ObservedReport
  | EventTry
  | OutboxLook
  | Message
  | Delivery
  | DeadLetter
  | ParkedLook
  | ClaimCall
  | ConsumerEffect
  | ClaimsEnd
  | PositionLook
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
