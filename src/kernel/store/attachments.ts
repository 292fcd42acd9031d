// What is saved with a record, in the same commit.

import type { TimelineEvent } from "../record/timeline.ts";
import type { PlacedRecord } from "../elsewhere.ts";
import type { RecordId } from "../record/units.ts";
import type { BodyExcerpt } from "../notes/excerpts.ts";
import type { RecordLabel } from "./label.ts";
import type { KeptResponse } from "./response-rows.ts";
import type { StoredRequest } from "./stored-request.ts";

/** What is saved with a record. */
export interface RecordAttachments {
  /** For a completed record that keeps its response. */
  readonly response?: KeptResponse | null;
  /**
   * How to ask the origin whether an attempt took effect: stored with the claim, removed when the attempt is settled. `keyForm` is the
   * record's own.
   */
  readonly verification?: (keyForm: string | null) => string | null;
  /** How the origin would get the key of a first attempt (kernel/request/origin-key.ts). A record keeps that of its first. */
  readonly keyForm?: string | null;
  /** The record's past events; if absent, the stored history stays. */
  readonly history?: readonly TimelineEvent[];
  /** Set when a request starts an attempt. */
  readonly label?: RecordLabel | null;
  /** Other names of the record, also set then. */
  readonly aliases?: readonly RecordId[];
  /** The request, if it may be accepted: it is asked for only if the step has accepted it. */
  readonly request?: () => StoredRequest;
  /** What the origin's response says in `Onceway-Event`, for the events of a result. */
  readonly originEvents?: string | null;
  /** What operators may read of the request's body for a time; only with a claim. */
  readonly excerpt?: BodyExcerpt | null;
  /** Of a request that names previous layouts. */
  readonly placed?: PlacedRecord;
}
