// Bodies in chunk rows, when they are too large for their record's row or arrive too slowly. Each chunk is durable before a client
// sees a byte of it. A body is named after its attempt. When no record needs a body, it is discarded, and the alarm erases it in
// slices.

import type { Sql } from "./schema.ts";

/**
 * The most bytes of a body in one row. The platform allows 2 MB a row, and a record's row also has headers (at most 128 KB); local
 * workerd enforces neither limit. Larger chunks would cost fewer rows, but more of the 128 MB that all exchanges of an isolate
 * share: each exchange holds two or three chunks (src/shard/body/README.md, "Memory").
 */
export const CHUNK_BYTES = 256 * 1024;

/** Chunks erased in one turn: SQLite frees 8 MiB of pages. */
const ERASE_CHUNKS = 32;

/** How long the alarm waits before it checks again whether a discarded body is still held: an upload may take long. */
const HELD_MS = 60_000;

let stored = 0;

/** How many body bytes all objects of this isolate have stored so far; its growth shows how busy the disk is. */
export function storedBytes(): number {
  return stored;
}

/** Called when there is something to erase, now or after `afterMs`. */
export type Wake = (afterMs: number) => void;

export class Bodies {
  readonly #sql: Sql;
  readonly #wake: Wake;
  /** The bodies that this instance is writing or reading, each with its number of holders. */
  readonly #held = new Map<string, number>();

  constructor(sql: Sql, wake: Wake) {
    this.#sql = sql;
    this.#wake = wake;
  }

  append(body: string, number: number, bytes: Uint8Array): void {
    stored += bytes.byteLength;
    this.#sql.exec("INSERT INTO chunks (body, number, bytes) VALUES (?, ?, ?)", body, number, exactBuffer(bytes));
  }

  /** One chunk; `null` when it is absent. */
  read(body: string, number: number): Uint8Array | null {
    const [row] = this.#sql
      .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM chunks WHERE body = ? AND number = ?", body, number)
      .toArray();
    return row === undefined ? null : new Uint8Array(row.bytes);
  }

  /** At most `most` bytes of a chunk, beginning at byte `from`; fewer at its end. `null` when the chunk is absent. */
  readPart(body: string, number: number, from: number, most: number): Uint8Array | null {
    // `substr` copies, so a whole chunk is read without it.
    if (from === 0 && most >= CHUNK_BYTES) {
      const whole = this.read(body, number);
      if (whole === null || whole.byteLength <= most) return whole;
    }
    const [row] = this.#sql
      .exec<{ bytes: ArrayBuffer }>(
        "SELECT substr(bytes, ? + 1, ?) AS bytes FROM chunks WHERE body = ? AND number = ?",
        from,
        most,
        body,
        number,
      )
      .toArray();
    return row === undefined ? null : new Uint8Array(row.bytes);
  }

  /** Deletes the chunks below `number` of a body that is not kept, once every reader has read them. */
  deleteBelow(body: string, number: number): void {
    this.#sql.exec("DELETE FROM chunks WHERE body = ? AND number < ?", body, number);
  }

  /** Keeps a body, discarded or not, from being erased until it is released. A crash releases all bodies. */
  hold(body: string): void {
    this.#held.set(body, (this.#held.get(body) ?? 0) + 1);
  }

  isHeld(body: string): boolean {
    return this.#held.has(body);
  }

  release(body: string): void {
    const left = (this.#held.get(body) ?? 1) - 1;
    if (left > 0) this.#held.set(body, left);
    else {
      this.#held.delete(body);
      this.#wakeToErase();
    }
  }

  /** Only logs a failure: the caller must not fail because a body cannot be erased yet. */
  #wakeToErase(): void {
    try {
      if (this.hasErasable()) this.#wake(0);
    } catch (error) {
      console.error({ message: "a body will be erased later", reason: String(error) });
    }
  }

  /** Marks a body, if it exists, to be erased by the alarm. */
  discard(body: string): void {
    const { rowsWritten } = this.#sql.exec(
      "INSERT OR IGNORE INTO discarded (body) SELECT ?1 WHERE EXISTS (SELECT 1 FROM chunks WHERE body = ?1)",
      body,
    );
    if (rowsWritten > 0 && !this.#held.has(body)) this.#wake(0);
  }

  /** Holds a body that no record will ever own; it is erased when it is released, also after a crash. */
  lend(body: string): void {
    this.hold(body);
    try {
      this.disown(body);
    } catch (error) {
      this.release(body);
      throw error;
    }
  }

  /** The same for a body that is already held. */
  disown(body: string): void {
    this.#sql.exec("INSERT OR IGNORE INTO discarded (body) VALUES (?)", body);
    this.#wake(HELD_MS);
  }

  /** Erases some chunks of a discarded body that is not held. */
  eraseSome(): void {
    const [body] = this.#erasable();
    if (body === undefined) return;
    const { rowsWritten } = this.#sql.exec(
      "DELETE FROM chunks WHERE body = ?1 AND number IN (SELECT number FROM chunks WHERE body = ?1 LIMIT ?2)",
      body,
      ERASE_CHUNKS,
    );
    if (rowsWritten < ERASE_CHUNKS) this.#sql.exec("DELETE FROM discarded WHERE body = ?", body);
  }

  /** When there is something to erase, as milliseconds since the epoch; `null` when there is nothing. */
  eraseAt(): number | null {
    if (this.hasErasable()) return 0;
    // If this instance is lost, nothing releases a held body; then only the alarm erases it.
    const isAny = this.#sql.exec("SELECT 1 FROM discarded LIMIT 1").toArray().length > 0;
    return isAny ? Date.now() + HELD_MS : null;
  }

  hasErasable(): boolean {
    return this.#erasable().length > 0;
  }

  /** Reads one row more than there are held bodies, which finds one that is not held. There are few: one for each exchange. */
  #erasable(): readonly string[] {
    return this.#sql
      .exec<{ body: string }>("SELECT body FROM discarded LIMIT ?", this.#held.size + 1)
      .toArray()
      .map(({ body }) => body)
      .filter((body) => !this.#held.has(body));
  }
}

/** SQLite takes whole buffers, so a view of part of a buffer is copied. */
export function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
    ? buffer
    : new Uint8Array(bytes).buffer;
}
