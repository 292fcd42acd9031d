// How a record is looked for. Most requests are new, so the claim of one that is probably new looks for its record itself, in the
// same statement. Which records are probably there is only a guess from memory: a wrong one costs a statement.

import type { RecordId } from "../../core/units.ts";
import type { ExpiryBuckets } from "./expiry-buckets.ts";
import { claimUnlessIn, FOUND_COLUMNS } from "./record-rows.ts";
import { FOUND_TABLES } from "./response-rows.ts";

/** The texts of the statements; they name the expiry buckets, and are made again when these change. */
export class LookUps {
  readonly #buckets: ExpiryBuckets;
  #lists: readonly string[] = [];
  #queries: readonly string[] = [];
  #claim: string | null = null;

  constructor(buckets: ExpiryBuckets) {
    this.#buckets = buckets;
  }

  /** Each looks in some of the buckets. */
  get queries(): readonly string[] {
    this.#update();
    return this.#queries;
  }

  /** Looks in all buckets and claims; `null` while one statement cannot name them all. */
  get claim(): string | null {
    this.#update();
    return this.#claim;
  }

  #update(): void {
    const { lists } = this.#buckets;
    if (lists === this.#lists) return;
    const [list = ""] = lists;
    this.#lists = lists;
    this.#queries = lists.map(findIn);
    this.#claim = lists.length === 1 ? claimUnlessIn(list) : null;
  }
}

function findIn(buckets: string): string {
  return `SELECT ${FOUND_COLUMNS} FROM ${FOUND_TABLES} WHERE id = ? AND bucket IN (${buckets})`;
}

/** How many records are remembered at least; twice as many at most. All objects of an isolate share its memory. */
const SEEN = 1024;

/** The records that were written or found lately, by 48 bits of their names. */
export class SeenRecords {
  #latest = new Set<number>();
  #before: ReadonlySet<number> = new Set();

  has(id: RecordId): boolean {
    const bits = bitsOf(id);
    return this.#latest.has(bits) || this.#before.has(bits);
  }

  note(id: RecordId): void {
    this.#latest.add(bitsOf(id));
    if (this.#latest.size < SEEN) return;
    this.#before = this.#latest;
    this.#latest = new Set();
  }
}

/** The last ones, which differ by scope too. */
function bitsOf(id: RecordId): number {
  return Number.parseInt(id.slice(-12), 16);
}
