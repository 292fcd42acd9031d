// Reads from the disk what the outbox holds.

import { CONSUMER_LABEL } from "../../../../src/kernel/record/claim.ts";
import { deadLetterBinding } from "../../../../src/features/outbox/object/dead-letters.ts";
import type { Disk } from "../../../simulation/disk.ts";

export interface EventRow {
  readonly id: string;
  readonly record: string;
  readonly destination: string;
  readonly lane: number;
  readonly due: number;
  readonly tries: number;
  readonly since: number;
  readonly event: string;
}

export interface RestRow {
  readonly destination: string;
  readonly lane: number;
  readonly until: number;
  readonly failures: number;
}

/** Of results. By their whole texts: an attempt that starts anew after its record was erased has the same ids again. */
export function eventRows(disk: Disk): ReadonlyMap<string, EventRow> {
  return rowsOn(disk, false);
}

/** The same of dead letters. */
export function letterRows(disk: Disk): ReadonlyMap<string, EventRow> {
  return rowsOn(disk, true);
}

function rowsOn(disk: Disk, areLetters: boolean): ReadonlyMap<string, EventRow> {
  if (!disk.hasTable("outbox")) return new Map();
  const rows = disk.statement("SELECT id, record, destination, lane, due, tries, since, event FROM outbox").all();
  const wanted = rows.filter(({ destination }) => (deadLetterBinding(String(destination)) !== null) === areLetters);
  return new Map(
    wanted.map(({ id, record, destination, lane, due, tries, since, event }) => [
      String(event),
      {
        id: String(id),
        record: String(record),
        destination: String(destination),
        lane: Number(lane),
        due: Number(due),
        tries: Number(tries),
        since: Number(since),
        event: String(event),
      },
    ]),
  );
}

export function restsOn(disk: Disk): readonly RestRow[] {
  if (!disk.hasTable("resting")) return [];
  const rows = disk.statement("SELECT destination, lane, until, failures FROM resting").all();
  return rows.map(({ destination, lane, until, failures }) => ({
    destination: String(destination),
    lane: Number(lane),
    until: Number(until),
    failures: Number(failures),
  }));
}

/** The results as they stand now, durably or not, by what their events' ids begin with: consumers choose the ids of attempts. */
export function completedNow(
  disk: Disk,
): readonly (readonly [string, { readonly record: string; readonly status: number }])[] {
  const rows = disk
    .statement("SELECT id, route, attempt_id, status, completed_at FROM records WHERE state = 'completed'")
    .all();
  return rows.map(({ id, route, attempt_id, status, completed_at }) => {
    const isOwn = String(route).startsWith(CONSUMER_LABEL);
    const prefix = isOwn ? `${String(id)}-${String(attempt_id)}-${Number(completed_at).toString(36)}` : attempt_id;
    return [String(prefix), { record: String(id), status: Number(status) }];
  });
}
