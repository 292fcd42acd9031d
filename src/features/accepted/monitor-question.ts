// What the Worker asks an object about an accepted request.

import { rawCall } from "../../kernel/call.ts";
import type { RouteRules } from "../../kernel/config/resolved.ts";
import type { PlacedRecord } from "../../kernel/elsewhere.ts";
import type { DurationMs } from "../../kernel/record/units.ts";
import type { RecordName } from "../../kernel/request/message.ts";

/** What became of an accepted request. */
export const MONITOR_CALL = rawCall("monitor");

/**
 * What a client asks a monitor. The names and the scope are derived as for a retry, so whoever reads the outcome could have had the
 * replay.
 */
export interface MonitorQuestion extends Pick<PlacedRecord, "previous"> {
  /** `id` and `olderIds` of the retry. */
  readonly record: RecordName;
  readonly rules: RouteRules;
  /** The key as the client wrote it. */
  readonly echo: string;
  /** The beginning of the fingerprint, in hexadecimal: FINGERPRINT_PREFIX_DIGITS digits. */
  readonly fingerprintPrefix: string;
  /** The monitor itself: its path and query. */
  readonly monitor: string;
  /** How long an outcome may be waited for. */
  readonly waitMs: DurationMs;
  /** Whether the request is to be cancelled. */
  readonly cancel: boolean;
}

/** How much of a fingerprint a monitor names: 128 bits. */
export const FINGERPRINT_PREFIX_DIGITS = 32;

/** The status of the shard's answer to a question about a record that is not here, or not for this caller. It never leaves the Worker. */
export const NO_MONITOR_STATUS = 404;
