// What the Worker sends to a shard about a consumer's claims: several at once, each of its own record. No attempt is made in the
// shard, so there is neither a call nor anybody who waits.

import { jsonCall } from "../../kernel/call.ts";
import type { Route } from "../../kernel/config/resolved.ts";
import type { ClaimState } from "../../kernel/record/claim.ts";
import type { Position } from "../../kernel/record/events.ts";
import type { PartitionPosition } from "../../kernel/record/position.ts";
import type { Policy } from "../../kernel/record/record.ts";
import type { AttemptId, DurationMs, Fingerprint } from "../../kernel/record/units.ts";
import type { BeginsElsewhere, PreviousLayouts } from "../../kernel/elsewhere.ts";
import type { NamesIn, RecordName } from "../../kernel/request/message.ts";

/** Claims, and what becomes of them. One reply for each entry, in their order. */
export const CLAIMS_CALL = jsonCall<ClaimMessage, readonly ClaimReply[]>("claims");

/** How far a group has read. */
export const POSITION_CALL = jsonCall<PositionQuestion, PartitionPosition>("position");

/** What is asked about one record. */
export type ClaimAct =
  | {
      readonly verb: "claim";
      readonly fingerprint: Fingerprint;
      /** How long the lock lasts, and by how much each extension moves it. */
      readonly lockMs: DurationMs;
      readonly holder: string | null;
    }
  | { readonly verb: "extend" }
  /** `result`: JSON, as text; `null`: none. */
  | { readonly verb: "complete"; readonly result: string | null }
  /** `effect`: whether the attempt certainly had none. */
  | { readonly verb: "release"; readonly effect: ClaimEffect; readonly reason: string };

export const CLAIM_EFFECTS = ["none", "unknown"] as const;
export type ClaimEffect = (typeof CLAIM_EFFECTS)[number];

export interface ClaimEntry {
  readonly record: RecordName;
  readonly previous?: PreviousLayouts;
  readonly attemptId: AttemptId;
  readonly act: ClaimAct;
  /** Set if the record lies with the others of its partition. */
  readonly position: Position | null;
}

export interface ClaimMessage {
  readonly policy: Policy;
  readonly entries: readonly ClaimEntry[];
}

/** The answer about one record, as the consumer gets it. */
export type ClaimAnswer =
  | {
      readonly state: "granted";
      /** The fencing token. */
      readonly attempt: number;
      readonly attemptId: AttemptId;
      readonly lockedForMs: number;
    }
  | {
      readonly state: "completed";
      readonly attempt: number;
      /** ISO 8601; `null`: the record has expired, and only its key is left. */
      readonly completedAt: string | null;
      /** Absent if there is none, or if the answer has no room for it. */
      readonly result?: unknown;
      /** Its size. To the consumer only if the result itself is left out. */
      readonly resultBytes?: number;
    }
  | { readonly state: "in-flight"; readonly retryAfterMs: number }
  | { readonly state: Exclude<ClaimState, "granted" | "completed" | "in-flight"> };

/** What the shard says about one record: the answer, or where its key begins. */
export type ClaimReply = ClaimAnswer | { readonly elsewhere: BeginsElsewhere };

/** What a consumer asks about one record. */
export interface ClaimRequest {
  readonly entry: ClaimEntry;
  readonly namesIn: NamesIn;
}

/** A partition, as a group reads it. */
export interface PositionQuestion extends Pick<Position, "stream" | "partition"> {
  /** The group's name among routes. */
  readonly route: string;
}

/** Where the group goes on in a partition; `null`: nobody knows. Rejects if an object that may know does not answer. */
export type AskPosition = (
  route: Pick<Route, "layouts">,
  placedBy: string,
  question: PositionQuestion,
) => Promise<number | null>;

/** Asks the shards that keep the records of these. One answer for each, in their order; never rejects. */
export type CallClaims = (
  route: Pick<Route, "layouts" | "rules">,
  requests: readonly ClaimRequest[],
) => Promise<readonly ClaimAnswer[]>;

/** The most bytes of results in one answer: about 5 ms of reading and writing JSON. */
export const MAX_RESULTS_BYTES = 1 << 20;
