// Response bodies too large for their record's row, cut into chunk rows. A chunk lies in its record's bucket, so that it
// is erased with it.

import type { EpochMs, RecordId } from "../core/units.ts";
import type { Sql } from "./migrations.ts";

/**
 * The most that one row holds of a body. The platform takes 2 MB a row, and the record's row has headers as well (128 KB
 * at most); local workerd enforces neither.
 */
export const CHUNK_BYTES = 1 << 20;

/** Erased in one turn; each is up to a mebibyte of pages to free. */
const ERASE_CHUNKS = 16;

export class Bodies {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  save(bucket: number, id: RecordId, body: Uint8Array): void {
    for (let number = 0; number * CHUNK_BYTES < body.byteLength; number++) {
      const chunk = body.slice(number * CHUNK_BYTES, (number + 1) * CHUNK_BYTES);
      this.#sql.exec(
        "INSERT INTO chunks (bucket, id, number, bytes) VALUES (?, ?, ?, ?)",
        bucket,
        id,
        number,
        chunk.buffer,
      );
    }
  }

  load(bucket: number, id: RecordId): Uint8Array {
    const chunks = this.#sql
      .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM chunks WHERE bucket = ? AND id = ? ORDER BY number", bucket, id)
      .toArray();
    const body = new Uint8Array(chunks.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
    let at = 0;
    for (const { bytes } of chunks) {
      body.set(new Uint8Array(bytes), at);
      at += bytes.byteLength;
    }
    return body;
  }

  delete(bucket: number, id: RecordId): void {
    this.#sql.exec("DELETE FROM chunks WHERE bucket = ? AND id = ?", bucket, id);
  }

  /** Erases some chunks of expired buckets; `true` when there are more. */
  erase(now: EpochMs): boolean {
    const { rowsWritten } = this.#sql.exec(
      "DELETE FROM chunks WHERE (bucket, id, number) IN (SELECT bucket, id, number FROM chunks WHERE bucket <= ? LIMIT ?)",
      now,
      ERASE_CHUNKS,
    );
    return rowsWritten === ERASE_CHUNKS;
  }
}
