// What an exchange works with: one request, and what it shares with the other exchanges of its shard.

import type { Origin } from "../config/resolved.ts";
import type { JudgeBody, WatchMessages } from "../judge-body.ts";
import type { FeatureActions } from "../object-feature.ts";
import type { EpochMs } from "../record/units.ts";
import type { ExchangeHead } from "../request/message.ts";
import type { Fetcher } from "../request/pass-through.ts";
import type { ExchangeReporter, ExchangeSpan } from "../traffic/exchange-reporter.ts";
import type { ObjectAlarm } from "./alarm.ts";
import type { AttemptsInFlight } from "./attempts-in-flight.ts";
import type { EventOffsets } from "../resume/event-offsets.ts";
import type { RequestBody } from "../body/request-body.ts";
import type { BeginsElsewhere, PlacedRecord } from "../elsewhere.ts";
import type { AttemptHeartbeat } from "./heartbeat.ts";
import type { RateLimiter, NewKeyLimiter } from "../new-keys/new-keys.ts";
import type { VerificationQueue } from "../verify/verifications.ts";
import type { IsolateWork } from "./isolate-work.ts";
import type { OriginReachability } from "./reachability.ts";
import type { RecordSteps } from "./record-steps.ts";
import type { Ledger, LedgerStorage } from "../store/ledger.ts";
import type { ObjectTimers } from "./timers.ts";
import type { WaitingRoom } from "./waiters.ts";

/** What the exchanges need of their shard. */
export interface ExchangePorts {
  readonly ledger: Ledger;
  readonly alarm: ObjectAlarm;
  readonly reachability: OriginReachability;
  /** Where a call goes; `null` when the binding does not exist. */
  readonly target: (origin: Origin) => Fetcher | null;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  readonly waitUntil: (promise: Promise<unknown>) => void;
  readonly isolate: IsolateWork;
  readonly heartbeat: AttemptHeartbeat;
  readonly timers: ObjectTimers;
  readonly reporter: ExchangeReporter;
  /** The rate limit binding of this name; `null` when it does not exist. */
  readonly limiter: (binding: string) => RateLimiter | null;
  /** The object's name. */
  readonly shard: string;
  readonly env: Readonly<Record<string, unknown>>;
  readonly storage: LedgerStorage;
}

/** What is one for all exchanges of a shard, and for its features. */
export interface KernelParts extends ExchangePorts {
  readonly steps: RecordSteps;
  readonly attempts: AttemptsInFlight;
  /**
   * Where a key begins that has no record here and may not begin here; `null`: it has one, or may. Then nothing is left of the key, not even an expired
   * record. To be asked in the turn of the claim.
   */
  readonly elsewhere: (placed: PlacedRecord, now: EpochMs) => BeginsElsewhere | null;
  readonly verifications: VerificationQueue;
  readonly newKeys: NewKeyLimiter;
  readonly offsets: EventOffsets;
  readonly room: WaitingRoom;
  /** `null`: a status alone decides what an answer means. */
  readonly judgeBody: JudgeBody | null;
  /** `null`: an event stream is whole when it ends. */
  readonly watchMessages: WatchMessages | null;
}

/** What all exchanges of a shard share. */
export interface SharedParts extends KernelParts {
  readonly actions: FeatureActions;
}

/**
 * Whoever sent a request to the shard. The signal aborts when its client disconnects; it is read only where something is waited
 * for, because the runtime makes an object for it.
 */
export type RequestSignal = Pick<Request, "signal">;

/** One request, as it reaches the shard. */
export interface IncomingRequest {
  readonly head: ExchangeHead;
  readonly body: RequestBody;
  /** `null` when it cannot be known whether the client has disconnected. It never ends an attempt (G5), only work for this client. */
  readonly caller: RequestSignal | null;
  readonly span: ExchangeSpan;
}
