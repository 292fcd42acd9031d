// How often records were replayed, and when last: for operators, so a limit on their number is no harm.

import type { ExchangeReport } from "./traffic.ts";

/** The replays of one record. */
export interface RecordReplays {
  /** The beginning of the record's id. */
  readonly record: string;
  readonly count: number;
  /** In milliseconds since the epoch. */
  readonly lastAt: number;
}

/** Enough of an id to tell records apart: those of its key, and a part of those of its scope. */
const ID_DIGITS = 40;

/** When there are more, the records that were replayed longest ago are left out. */
export const MAX_RECORDS = 1000;

export class ReplayCounts {
  /** In the order of their last replays, the oldest first. */
  readonly #counts = new Map<string, RecordReplays>();

  exchange({ recordId, outcome }: ExchangeReport, now: number): void {
    if (recordId === null || (outcome !== "replay" && outcome !== "attached")) return;
    this.#add({ record: replayedName(recordId), count: 1, lastAt: now });
  }

  add(replays: readonly RecordReplays[]): void {
    for (const one of replays) this.#add(one);
  }

  get all(): readonly RecordReplays[] {
    return [...this.#counts.values()];
  }

  #add({ record, count, lastAt }: RecordReplays): void {
    const before = this.#counts.get(record);
    this.#counts.delete(record);
    const [oldest] = this.#counts.size >= MAX_RECORDS ? this.#counts.keys() : [];
    if (oldest !== undefined) this.#counts.delete(oldest);
    const at = Math.max(lastAt, before?.lastAt ?? 0);
    this.#counts.set(record, { record, count: count + (before?.count ?? 0), lastAt: at });
  }
}

/** What a record is called in these counts. */
export function replayedName(recordId: string): string {
  return recordId.slice(0, ID_DIGITS);
}

/** The replays of one record from several counts; `null` without any. */
export function sumOfReplays(found: readonly RecordReplays[]): RecordReplays | null {
  const [first] = found;
  if (first === undefined) return null;
  return {
    record: first.record,
    count: found.reduce((sum, { count }) => sum + count, 0),
    lastAt: Math.max(...found.map(({ lastAt }) => lastAt)),
  };
}
