// The readers of a spool. Each reads the body's chunks from the store at its own speed. Readers that are close behind the writer
// share the chunk that was written last, which stays in memory for them.

import type { BytePiece } from "../request/body-reader.ts";
import { freeBytes } from "../request/byte-budget.ts";
import { SharedChunk } from "./chunk.ts";
import { isFair } from "./read-memory.ts";
import type { ChunkCursor } from "./stored-stream.ts";

export interface SpoolReader {
  readonly cursor: ChunkCursor;
  /** Breaks the reader's stream. */
  abort: (reason: Error) => void;
}

export class SpoolReaders {
  readonly #all = new Set<SpoolReader>();
  /** The chunk that was written last, while a reader may need it. */
  #latest: SharedChunk | null = null;

  get count(): number {
    return this.#all.size;
  }

  add(cursor: ChunkCursor): SpoolReader {
    const reader: SpoolReader = { cursor, abort: () => undefined };
    this.#all.add(reader);
    return reader;
  }

  /** Returns whether it was still a reader. */
  remove(reader: SpoolReader): boolean {
    return this.#all.delete(reader);
  }

  abort(reason: Error): void {
    for (const { abort } of this.#all) abort(reason);
  }

  /** The chunk that the slowest reader is at; without readers, `written`, the number of the next chunk. */
  slowest(written: number): number {
    let slowest = written;
    for (const { cursor } of this.#all) slowest = Math.min(slowest, cursor.number);
    return slowest;
  }

  /** The next piece of the chunk that the reader is at; `null` when nothing was left of it. */
  read({ cursor }: SpoolReader): BytePiece | null | Promise<BytePiece> {
    const latest = this.#latest;
    // Shared only if a piece as large as the chunk is fair, because a slow reader may be the last one that holds it.
    if (latest === null || latest.number !== cursor.number || cursor.at > 0 || !isFair(latest.bytes.byteLength)) {
      return cursor.read();
    }
    cursor.skip();
    return latest.use();
  }

  /** To be called when a chunk has been written. Keeps its bytes for readers, or frees them. */
  written(number: number, bytes: Uint8Array): void {
    this.#forget();
    // The first chunk is kept for the first reader, which comes when the chunk is readable. Later readers read the store.
    if (number === 0 || this.#all.size > 0) this.#latest = new SharedChunk(number, bytes);
    else freeBytes(bytes);
  }

  /** To be called when every reader has read all chunks below `slowest`. */
  forgetBelow(slowest: number): void {
    if (this.#all.size > 0 && this.#latest !== null && slowest > this.#latest.number) this.#forget();
  }

  /** Frees the last chunk if there are no readers. */
  forgetUnread(): void {
    if (this.#all.size === 0) this.#forget();
  }

  #forget(): void {
    this.#latest?.retire();
    this.#latest = null;
  }
}
