// What takes part in a step of a record, and in the commit that saves it. All participants of an object stand in one list, in order
// (Exchanges.hooks). The life cycle has decided already: none of them changes what becomes of the record, and none waits.

import type { LifeCycleEvent } from "./record/events.ts";
import type { IdempotencyRecord } from "./record/record.ts";
import type { EpochMs, RecordId } from "./record/units.ts";
import type { RecordAttachments } from "./store/attachments.ts";
import type { RecordLabel } from "./store/label.ts";
import type { StoredRequest } from "./store/stored-request.ts";

/** A record, before and after. */
export interface RecordChange {
  readonly id: RecordId;
  readonly before: IdempotencyRecord | null;
  readonly after: IdempotencyRecord | null;
  readonly now: EpochMs;
  /** What is stored with it; to be read before the save, which may erase it, or in `write`. */
  readonly label: () => RecordLabel;
  readonly request: () => StoredRequest | null;
}

/** A step that changes its record. */
export interface StepChange extends RecordChange {
  readonly event: LifeCycleEvent;
  /** Whether an operator, or its client, wants that nothing is left of it. */
  readonly isForgotten: boolean;
  readonly attachments: RecordAttachments;
}

export interface StepHook {
  readonly name: string;
  /**
   * Looks at a step before it is saved, and reads what the save will erase. `null`: it takes no part. If it throws, nothing of the step is
   * written. It is called for every step, so what it does first has to be cheap.
   */
  readonly join?: (change: StepChange) => StepParticipation | null;
  /** The same for a record that has expired and is erased with others. It is asked only about parked messages. */
  readonly expire?: (change: RecordChange) => StepParticipation | null;
}

/** A participant in one step. */
export interface StepParticipation {
  /** Writes its rows in the transaction of the step, before the record's own row; `null`: it has none, and needs no transaction. */
  readonly write: (() => void) | null;
  /** After the transaction, in the same turn: what it remembers, counts, alarms. It must not throw: the step is saved. */
  readonly written: () => void;
}
