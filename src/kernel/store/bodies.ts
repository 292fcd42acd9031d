// Bodies in chunk rows, apart from their records, because they are too large for a record's row or arrive too slowly. Each chunk is
// durable before a client sees a byte of it.
//
// A body has a number, and the keys of its chunks are integers made from it: SQLite finds them without reading other bodies. The
// record names the body from its claim on, before the first chunk is written, so that a crash leaves no chunk without an owner. A
// body that no record needs is discarded, and the alarm erases it in slices.

import { bodyNumber, type BodyNumber, epochMs, type EpochMs } from "../record/units.ts";
import { IS_AT_REST, IS_IN_FLIGHT, NUMBER, type RowLocation } from "./record-numbers.ts";
import type { LedgerSql } from "./schema.ts";

/**
 * The most bytes of a body in one row. The platform allows 2 MB a row; local workerd does not enforce that. Larger chunks would cost
 * fewer rows, but more of the 128 MB that all exchanges of an isolate share: each exchange holds two or three chunks
 * (src/kernel/body/README.md, "Memory").
 */
export const CHUNK_BYTES = 256 * 1024;

/**
 * A chunk's key is its body's number, then 26 bits for the chunk's number. A stream that is written 40 times a second takes 19 days
 * to fill them. Of the 63 bits of a key, 37 are left for the bodies: 1,000 attempts a second for four years.
 */
const KEY_BITS = 26;
const MAX_CHUNKS = 2 ** KEY_BITS;
const MAX_BODIES = 2 ** (63 - KEY_BITS);

/** SQL: the key of the first chunk of the body that a record's row names. */
export const FIRST_CHUNK_KEY = `body_number << ${KEY_BITS}`;

/** The key of chunk ?2 of body ?1. Bits are set, not added: the platform binds numbers as doubles, and a sum would be one. */
const KEY = `(?1 << ${KEY_BITS} | ?2)`;
const NEXT_BODY_KEY = `((?1 + 1) << ${KEY_BITS})`;
const FIRST = 0;

/**
 * What the alarm erases in one turn of records that have expired, and again of bodies that are discarded: SQLite changes a page for
 * each row and reads every page that it frees, and requests wait meanwhile (measured: test/bench/README.md, "Erasing").
 */
export const ERASE_BYTES = 1 << 20;
export const ERASE_ROWS = 100;

/** What is left of one slice. It ends with the row that spends it, so that each slice erases something. */
export class EraseSlice {
  #rows = ERASE_ROWS;
  #bytes = ERASE_BYTES;

  get isSpent(): boolean {
    return this.#rows <= 0 || this.#bytes <= 0;
  }

  take(rows: number, bytes: number): void {
    this.#rows -= rows;
    this.#bytes -= bytes;
  }
}

/** How long the alarm waits before it checks again whether a discarded body is still held: an upload may take long. */
const HELD_MS = 60_000;

let stored = 0;

/** How many body bytes all objects of this isolate have stored so far; its growth shows how busy the disk is. */
export function bytesStoredSoFar(): number {
  return stored;
}

/** Called when there is something to erase, now or after `afterMs`. */
export type WakeEraser = (afterMs: number) => void;

/** The discarded bodies. Remembered, so that none of those that are held is looked at again and again. */
interface Discarded {
  readonly free: Set<BodyNumber>;
  /** Erased when they are released. */
  readonly held: Set<BodyNumber>;
}

export class BodyStore {
  readonly #sql: LedgerSql;
  readonly #wake: WakeEraser;
  /** The bodies that this instance is writing or reading, each with its number of holders. */
  readonly #held = new Map<BodyNumber, number>();
  /** `null` until the first read. Only the disk decides: a transaction may have undone what is remembered here. */
  #discarded: Discarded | null = null;
  /** The number given last; `null` until the first read. */
  #last: number | null = null;

  constructor(sql: LedgerSql, wake: WakeEraser) {
    this.#sql = sql;
    this.#wake = wake;
  }

  /** A number for a new body: above all that a chunk, a claim or a discarded body has. */
  allot(): BodyNumber {
    const last = this.#last ?? this.#readLast();
    if (last + 1 >= MAX_BODIES) throw new Error("the shard has used up all numbers for bodies");
    this.#last = last + 1;
    return bodyNumber(this.#last);
  }

  #readLast(): number {
    return this.#sql
      .exec<{ last: number }>(
        `SELECT max(
           ifnull((SELECT max(number) >> ${KEY_BITS} FROM chunks), 0),
           ifnull((SELECT max(body_number) FROM records WHERE ${IS_IN_FLIGHT}), 0),
           ifnull((SELECT max(body) FROM discarded), 0)) AS last`,
      )
      .one().last;
  }

  /** Writes the chunk `number` of a body. `head` is stored with the first chunk: the headers of the response that it belongs to. */
  append(body: BodyNumber, number: number, bytes: Uint8Array, head: string | null = null): void {
    if (number >= MAX_CHUNKS) throw new Error("a body has too many chunks");
    stored += bytes.byteLength;
    this.#sql.exec(
      `INSERT INTO chunks (number, head, bytes) VALUES (${KEY}, ?3, ?4)`,
      body,
      number,
      head,
      exactBuffer(bytes),
    );
  }

  /** One chunk; `null` when it is absent. */
  read(body: BodyNumber, number: number): Uint8Array | null {
    const [row] = this.#sql
      .exec<{ bytes: ArrayBuffer }>(`SELECT bytes FROM chunks WHERE number = ${KEY}`, body, number)
      .toArray();
    return row === undefined ? null : new Uint8Array(row.bytes);
  }

  /** At most `most` bytes of a chunk, beginning at byte `from`; fewer at its end. `null` when the chunk is absent. */
  readPart(body: BodyNumber, number: number, from: number, most: number): Uint8Array | null {
    // `substr` copies, so a whole chunk is read without it.
    if (from === 0 && most >= CHUNK_BYTES) {
      const whole = this.read(body, number);
      if (whole === null || whole.byteLength <= most) return whole;
    }
    const [row] = this.#sql
      .exec<{ bytes: ArrayBuffer }>(
        `SELECT substr(bytes, ?3 + 1, ?4) AS bytes FROM chunks WHERE number = ${KEY}`,
        body,
        number,
        from,
        most,
      )
      .toArray();
    return row === undefined ? null : new Uint8Array(row.bytes);
  }

  /** Deletes the chunks below `number` of a body that is not kept, once every reader has read them. */
  deleteBelow(body: BodyNumber, number: number): void {
    this.#sql.exec(`DELETE FROM chunks WHERE number >= ?1 << ${KEY_BITS} AND number < ${KEY}`, body, number);
  }

  /** Keeps a body, discarded or not, from being erased until it is released. A crash releases all bodies. */
  hold(body: BodyNumber): void {
    this.#held.set(body, (this.#held.get(body) ?? 0) + 1);
    if (this.#discarded?.free.delete(body) === true) this.#discarded.held.add(body);
  }

  isHeld(body: BodyNumber): boolean {
    return this.#held.has(body);
  }

  release(body: BodyNumber): void {
    const left = (this.#held.get(body) ?? 1) - 1;
    if (left > 0) this.#held.set(body, left);
    else {
      this.#held.delete(body);
      this.#wakeToErase(body);
    }
  }

  /** Only logs a failure: the caller must not fail because a body cannot be erased yet. */
  #wakeToErase(body: BodyNumber): void {
    try {
      const { free, held } = this.#known();
      if (held.delete(body)) free.add(body);
      if (free.has(body)) this.#wake(0);
    } catch (error) {
      console.error({ message: "a body will be erased later", reason: String(error) });
    }
  }

  /** Marks a body, if any of it is stored, to be erased by the alarm. */
  discard(body: BodyNumber): void {
    const { rowsWritten } = this.#sql.exec(
      `INSERT OR IGNORE INTO discarded (body) SELECT ?1 WHERE EXISTS (SELECT 1 FROM chunks WHERE number >= ?1 << ${KEY_BITS} AND number < ${NEXT_BODY_KEY})`,
      body,
    );
    if (rowsWritten === 0) return;
    this.#remember(body);
    if (!this.#held.has(body)) this.#wake(0);
  }

  /** A body that no record will ever own. It is held, and erased when it is released, also after a crash. */
  lend(body = this.allot()): BodyNumber {
    this.hold(body);
    try {
      this.disown(body);
    } catch (error) {
      this.release(body);
      throw error;
    }
    return body;
  }

  /** The same for a body that is already held. */
  disown(body: BodyNumber): void {
    this.#sql.exec("INSERT OR IGNORE INTO discarded (body) VALUES (?)", body);
    this.#remember(body);
    this.#wake(HELD_MS);
  }

  /** Gives a body that was lent to a record: it is no longer erased when it is released. */
  own(body: BodyNumber): void {
    // Only the disk decides whether it is erased.
    this.#sql.exec("DELETE FROM discarded WHERE body = ?", body);
  }

  /** Erases a body at once, without discarding it. To be called in one transaction with the end of its record. */
  erase(body: BodyNumber): void {
    this.#sql.exec(`DELETE FROM chunks WHERE number >= ?1 << ${KEY_BITS} AND number < ${NEXT_BODY_KEY}`, body);
  }

  /** The same for all expired records up to this one, as far as their bodies have one chunk. */
  eraseSingleChunks({ expiryBucket, slot }: RowLocation): void {
    this.#sql.exec(
      `DELETE FROM chunks WHERE number IN (SELECT ${FIRST_CHUNK_KEY} FROM records WHERE ${IS_AT_REST} AND number <= ${NUMBER} AND chunks = 1)`,
      expiryBucket,
      slot,
    );
  }

  /** Erases a slice of the discarded bodies that are not held. */
  eraseSome(): void {
    const { free } = this.#known();
    const slice = new EraseSlice();
    for (const body of free) {
      if (slice.isSpent) return;
      const isDiscarded = this.#sql.exec("SELECT 1 FROM discarded WHERE body = ?", body).toArray().length > 0;
      if (isDiscarded && !this.#eraseFirst(body, slice)) return;
      if (isDiscarded) this.#sql.exec("DELETE FROM discarded WHERE body = ?", body);
      slice.take(1, 0);
      free.delete(body);
    }
  }

  /** Erases the first chunks of a body. Returns whether these were all. */
  #eraseFirst(body: BodyNumber, slice: EraseSlice): boolean {
    const rows = this.#sql
      .exec<{ number: number; bytes: number }>(
        `SELECT number & ${MAX_CHUNKS - 1} AS number, length(bytes) + ifnull(octet_length(head), 0) AS bytes FROM chunks WHERE number >= ${KEY} AND number < ${NEXT_BODY_KEY} ORDER BY chunks.number LIMIT ${ERASE_ROWS}`,
        body,
        FIRST,
      )
      .toArray();
    let end = 0;
    for (const { number, bytes } of rows) {
      if (slice.isSpent) break;
      slice.take(1, bytes);
      end = number + 1;
    }
    if (end > 0) this.deleteBelow(body, end);
    return rows.length < ERASE_ROWS && (rows.at(-1)?.number ?? -1) < end;
  }

  /** When there is something to erase, as milliseconds since the epoch; `null` when there is nothing. */
  eraseAt(): EpochMs | null {
    const { free, held } = this.#known();
    if (free.size > 0) return epochMs(0);
    // If this instance is lost, nothing releases a held body; then only the alarm erases it.
    return held.size > 0 ? epochMs(Date.now() + HELD_MS) : null;
  }

  hasErasable(): boolean {
    return this.#known().free.size > 0;
  }

  #remember(body: BodyNumber): void {
    if (this.#discarded === null) return;
    const { free, held } = this.#discarded;
    (this.#held.has(body) ? held : free).add(body);
  }

  #known(): Discarded {
    if (this.#discarded !== null) return this.#discarded;
    const free = new Set<BodyNumber>();
    const held = new Set<BodyNumber>();
    for (const row of this.#sql.exec<{ body: number }>("SELECT body FROM discarded").toArray()) {
      const body = bodyNumber(row.body);
      (this.#held.has(body) ? held : free).add(body);
    }
    this.#discarded = { free, held };
    return this.#discarded;
  }
}

/** SQLite takes whole buffers, so a view of part of a buffer is copied. */
export function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
    ? buffer
    : new Uint8Array(bytes).buffer;
}
