// Bodies above `max_response_body`, in R2 if a bucket is bound. They are kept and replayed like other bodies; each costs one R2
// object. Its row is written before the object is created, so that a crash in between leaves no object behind.

import { dueAt, durationMs, epochMs, type EpochMs, timeAfter, latestTime } from "../record/units.ts";
import type { WakeEraser } from "../store/bodies.ts";
import type { LedgerSql } from "../store/schema.ts";

/** R2 requires parts of equal size, at least 5 MiB (R2 documentation). Parts are streamed, never held whole in memory. */
export const PART_BYTES = 8 << 20;

/** How long erasing pauses after R2 failed. */
const PAUSE_MS = durationMs(60_000);

/** How long one erasure may take before the next is tried. */
const ERASE_TIMEOUT_MS = durationMs(10_000);

/** R2's number for an upload that does not exist, at the end of an error's text (R2 documentation, "Error codes"). */
const NO_SUCH_UPLOAD = "(10024)";

const NOTHING = new Uint8Array();

/** A body that is being uploaded to R2. */
export interface RemoteUpload {
  /** Sends the next part, a stream of known length: `PART_BYTES`, except for the last part. */
  send(part: ReadableStream<Uint8Array>): Promise<void>;
  complete(): Promise<void>;
}

export class RemoteBodies {
  readonly #sql: LedgerSql;
  readonly #r2: R2Bucket | null;
  readonly #wake: WakeEraser;
  #pausedUntil = epochMs(0);
  /** No other erasure begins before this time. */
  #busyUntil = epochMs(0);

  constructor(sql: LedgerSql, r2: R2Bucket | null, wake: WakeEraser) {
    this.#sql = sql;
    this.#r2 = r2;
    this.#wake = wake;
  }

  /** Begins an upload; `null` when no bucket is bound. */
  async begin(body: string): Promise<RemoteUpload | null> {
    if (this.#r2 === null) return null;
    // Durable before the upload exists, because the output gate delays the call until then.
    this.#sql.exec("INSERT INTO remote (body) VALUES (?)", body);
    const upload = await this.#r2.createMultipartUpload(keyOf(body));
    // The caller may have given up meanwhile, so the row may be gone.
    this.#sql.exec(
      "INSERT INTO remote (body, upload_id, discarded) VALUES (?, ?, 1) ON CONFLICT (body) DO UPDATE SET upload_id = excluded.upload_id",
      body,
      upload.uploadId,
    );
    if (this.#next() !== undefined) this.#wake(0);
    return new PartedUpload(upload);
  }

  /** The body without its first `skipBytes`; `null` when it is absent. */
  async open(body: string, skipBytes: number): Promise<ReadableStream<Uint8Array> | null> {
    const object = await this.#r2?.get(keyOf(body), skipBytes === 0 ? {} : { range: { offset: skipBytes } });
    return object?.body ?? null;
  }

  /** Marks a body, if it exists, to be erased by the alarm. */
  discard(body: string): void {
    const { rowsWritten } = this.#sql.exec("UPDATE remote SET discarded = 1 WHERE body = ?", body);
    if (rowsWritten > 0) this.#wake(0);
  }

  /** When there is something to erase, as milliseconds since the epoch; `null` when there is nothing. */
  eraseAt(): EpochMs | null {
    return this.#r2 === null || this.#next() === undefined ? null : this.#freeAt(epochMs(Date.now()));
  }

  /** Erases one discarded body, whether its upload is complete or not, and wakes the alarm when there are more. */
  async eraseOne(): Promise<void> {
    try {
      const next = this.#next();
      const now = epochMs(Date.now());
      if (next === undefined || this.#r2 === null || now < this.#freeAt(now)) return;
      const { body, upload_id } = next;
      this.#busyUntil = timeAfter(now, ERASE_TIMEOUT_MS);
      // Both calls are needed: a complete upload cannot be aborted, and an incomplete one is not an object yet.
      if (upload_id !== null) await abort(this.#r2.resumeMultipartUpload(keyOf(body), upload_id));
      await this.#r2.delete(keyOf(body));
      // The row stays if another upload has begun meanwhile; that one is erased next.
      this.#sql.exec("DELETE FROM remote WHERE body = ? AND upload_id IS ?", body, upload_id);
      this.#busyUntil = epochMs(0);
      if (this.#next() !== undefined) this.#wake(0);
    } catch (error) {
      console.error({ message: "a body could not be erased from R2", reason: String(error) });
      this.#pausedUntil = timeAfter(epochMs(Date.now()), PAUSE_MS);
    }
  }

  #freeAt(now: EpochMs): EpochMs {
    return latestTime(dueAt(this.#pausedUntil, PAUSE_MS, now), dueAt(this.#busyUntil, ERASE_TIMEOUT_MS, now));
  }

  #next(): { readonly body: string; readonly upload_id: string | null } | undefined {
    return this.#sql
      .exec<{ body: string; upload_id: string | null }>(
        "SELECT body, upload_id FROM remote INDEXED BY remote_discarded WHERE discarded = 1 LIMIT 1",
      )
      .toArray()[0];
  }
}

class PartedUpload implements RemoteUpload {
  readonly #upload: R2MultipartUpload;
  readonly #parts: R2UploadedPart[] = [];

  constructor(upload: R2MultipartUpload) {
    this.#upload = upload;
  }

  async send(part: ReadableStream<Uint8Array>): Promise<void> {
    this.#parts.push(await this.#upload.uploadPart(this.#parts.length + 1, part));
  }

  async complete(): Promise<void> {
    await this.#upload.complete(this.#parts);
  }
}

function keyOf(body: string): string {
  return `bodies/${body}`;
}

/**
 * Aborts an upload; rejects when it may still exist. If the abort fails, only the upload of a part shows whether the upload is
 * gone: aborting an upload that does not exist fails with the same error as any failed abort.
 */
async function abort(upload: R2MultipartUpload): Promise<void> {
  try {
    await upload.abort();
  } catch (error) {
    const isGone = await upload.uploadPart(1, NOTHING).then(
      () => false,
      (reason: unknown) => String(reason).includes(NO_SUCH_UPLOAD),
    );
    if (!isGone) throw error;
  }
}
