// Reads values of rows as what they must be. What is not so is an error of its own class: a row that cannot be read must never count as one
// that is absent, or as one whose time is over. Errors never quote the value, which may be a client's.

import { isTime, isWhole } from "../record/record-fault.ts";
import { type DurationMs, durationMs, epochMs, type EpochMs } from "../record/units.ts";
import { StoreError } from "./store-error.ts";

/** A row that is there and cannot be read. Nothing is begun for it, and it stays until somebody has looked at it. */
export class UnreadableError extends StoreError {
  constructor(what: string) {
    super(new Error(`the store holds something that cannot be read: ${what}`));
    this.name = "UnreadableError";
  }
}

/** How long work is put off that needs what cannot be read: it stays so until somebody mends it. */
export const UNREADABLE_MS = durationMs(3_600_000);

/** How long work is put off that has failed so. `usual`: after any other failure. */
export function pauseAfterFailure(error: unknown, usual: DurationMs): DurationMs {
  return error instanceof UnreadableError ? UNREADABLE_MS : usual;
}

export function readWhole(value: SqlStorageValue, what: string, least = 0): number {
  if (!isWhole(value, least)) throw new UnreadableError(what);
  return value;
}

export function readTime(value: SqlStorageValue, what: string): EpochMs {
  if (!isTime(value)) throw new UnreadableError(what);
  return epochMs(value);
}

/**
 * When to look at a row of which only this is read: at once if that cannot be read, since whoever reads the rest then finds out, and
 * puts it off.
 */
export function readDue(value: SqlStorageValue): EpochMs {
  return epochMs(isWhole(value, 0) ? value : 0);
}

/** What JSON says, if it has the right form; a parser's error would quote it. */
export function readStoredJson<T>(text: string, what: string, hasForm: (value: unknown) => value is T): T {
  const value = parsed(text);
  if (!hasForm(value)) throw new UnreadableError(what);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether it is an object that has all of these members. */
export function hasMembers<Name extends string>(
  value: unknown,
  ...names: readonly Name[]
): value is Readonly<Record<Name, unknown>> {
  return typeof value === "object" && value !== null && names.every((name) => Object.hasOwn(value, name));
}

/** What `read` finds in a row; `null` if it cannot be read, which is logged. For work that goes on without it. */
export function readOrReport<T>(read: () => T, about: Readonly<Record<string, string>>): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    console.error({ message: "something stored cannot be read", ...about, reason: error.message });
    return null;
  }
}
