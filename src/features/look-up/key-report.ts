// What a client learns of its key, by the record as it stands now: what became of the operation, what to do next, and whether it may be started
// afresh with a new key. Pure and total; it changes nothing, and says nothing that a retry would not.

import { type IdempotencyRecord, isAbandoned } from "../../kernel/record/record.ts";
import type { DurationMs, EpochMs } from "../../kernel/record/units.ts";
import { durationMs } from "../../kernel/record/units.ts";

export type KeyState =
  /** An attempt is at the API, or the next one waits for its turn. */
  | "in-flight"
  /** No attempt took effect, and none is in flight. */
  | "not-done"
  /** An attempt may have taken effect, and nobody knows. */
  | "unknown"
  /** It took effect, and was answered. */
  | "completed"
  /** Its client has given it up: no attempt took effect, and none begins any more. */
  | "abandoned"
  /** It took effect, or may have; of its record only the key is left. */
  | "expired";

export type NextStep =
  /** Look again, or send the same request again, after `Retry-After`. */
  | "wait"
  /** Send the same request with the same key: it is answered from the record, or tried again. */
  | "send-same"
  /** Nothing that is sent with this key brings the outcome: read it from the API. */
  | "read-api"
  /** Nothing is done with this key any more: with a new one the operation begins afresh. */
  | "new-key"
  /** The operator of the API decides what happened. */
  | "ask-operator";

export interface KeyReport {
  readonly state: KeyState;
  readonly next: NextStep;
  /**
   * Whether no attempt of this key has taken effect, may have, or is in flight. If nothing more is sent with it, and no earlier try is still on its
   * way, the operation may be started afresh with a new key.
   */
  readonly safeNewKey: boolean;
  /** The status of the first answer; absent: there is none, or only its caller's requests can open it. */
  readonly status?: number;
  /** How long to wait with `next`; absent: nobody can say, or it need not wait. */
  readonly retryAfterMs?: DurationMs;
}

/** A client that asks again while an attempt is in flight waits as long: nobody knows when it ends. */
const LOOK_AGAIN_MS = durationMs(1000);

/** `record` as time has left it. */
export function describeKey(record: IdempotencyRecord, now: EpochMs): KeyReport {
  switch (record.state) {
    case "waiting":
      return inFlight(record.startAt - now);
    case "started":
      return inFlight(0);
    case "failed":
      // The lost attempt may still be at the API.
      if (record.retryFrom > now) return inFlight(record.retryFrom - now);
      return record.attempt.mayHaveActed
        ? { state: "unknown", next: "send-same", safeNewKey: false }
        : { state: "not-done", next: "send-same", safeNewKey: true };
    case "unknown":
      return record.verifyAt === null
        ? { state: "unknown", next: "ask-operator", safeNewKey: false }
        : { state: "unknown", next: "wait", safeNewKey: false, retryAfterMs: atLeast(record.verifyAt - now) };
    case "completed":
      return {
        state: "completed",
        next: record.kept ? "send-same" : "read-api",
        safeNewKey: false,
        ...statusOf(record),
      };
    case "remembered":
      if (isAbandoned(record)) return { state: "abandoned", next: "new-key", safeNewKey: true };
      return { state: "expired", next: "read-api", safeNewKey: false, ...statusOf(record) };
  }
}

function inFlight(leftMs: number): KeyReport {
  return { state: "in-flight", next: "wait", safeNewKey: false, retryAfterMs: atLeast(leftMs) };
}

function atLeast(ms: number): DurationMs {
  return durationMs(Math.max(LOOK_AGAIN_MS, ms));
}

function statusOf({ status }: { readonly status: number | null }): Pick<KeyReport, "status"> {
  return status === null ? {} : { status };
}

/** Of several records that the key may mean, under older names of its caller: the one with which a new key is least safe. `null`: there is none. */
export function leastSafe(reports: readonly KeyReport[]): KeyReport | null {
  return reports.find(({ safeNewKey }) => !safeNewKey) ?? reports[0] ?? null;
}
