// What a Worker reports to an object that keeps what operators are told: it has no storage of its own. Only this Worker calls the URL.

import type { DeadReason } from "../core/delivery.ts";

export const ALERTS_URL = "https://key-shard/alerts";

/** A message's dead letter has been accepted. */
export interface DeadLetterReport {
  readonly alert: "dead-letter";
  readonly queue: string;
  readonly messageId: string;
  readonly reason: DeadReason;
  readonly recordId: string | null;
}

/** Which objects did not answer when all `watched` were asked. */
export interface SilenceReport {
  readonly alert: "silent-shard";
  readonly watched: readonly string[];
  readonly silent: readonly string[];
}

export type AlertReport = DeadLetterReport | SilenceReport;
