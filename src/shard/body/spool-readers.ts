// The readers of a spool: each reads the body's chunks from the store, at its own speed. Readers that are close behind the
// writer share the chunk that was written last, which stays in memory for them.

import type { Piece } from "../../http/body-reader.ts";
import { freeBytes } from "../../http/byte-budget.ts";
import { SharedChunk } from "./chunk.ts";
import { isFair } from "./read-memory.ts";
import type { ChunkCursor } from "./stored-stream.ts";

export interface SpoolReader {
  readonly cursor: ChunkCursor;
  /** Breaks the stream through which it reads. */
  abort: (reason: Error) => void;
}

export class SpoolReaders {
  readonly #all = new Set<SpoolReader>();
  /** The chunk that was written last, as long as a reader may want it. */
  #latest: SharedChunk | null = null;

  get count(): number {
    return this.#all.size;
  }

  add(cursor: ChunkCursor): SpoolReader {
    const reader: SpoolReader = { cursor, abort: () => undefined };
    this.#all.add(reader);
    return reader;
  }

  /** Returns whether it was still there. */
  remove(reader: SpoolReader): boolean {
    return this.#all.delete(reader);
  }

  abort(reason: Error): void {
    for (const { abort } of this.#all) abort(reason);
  }

  /** The chunk that the slowest reader is at; `written`, the number of the next chunk, where nobody reads. */
  slowest(written: number): number {
    let slowest = written;
    for (const { cursor } of this.#all) slowest = Math.min(slowest, cursor.number);
    return slowest;
  }

  /** The next piece of the chunk that the reader is at; `null` when nothing was left of it. */
  read({ cursor }: SpoolReader): Piece | null {
    const latest = this.#latest;
    // Shared only where a piece as large as the chunk is fair: a slow reader may be the last one that holds it.
    if (latest === null || latest.number !== cursor.number || cursor.at > 0 || !isFair(latest.bytes.byteLength)) {
      return cursor.read();
    }
    cursor.skip();
    return latest.use();
  }

  /** A chunk has been written. Its bytes are kept for readers, or freed. */
  written(number: number, bytes: Uint8Array): void {
    this.#forget();
    // The first chunk is kept for the first reader, who comes when it can be read. Later readers read the store.
    if (number === 0 || this.#all.size > 0) this.#latest = new SharedChunk(number, bytes);
    else freeBytes(bytes);
  }

  /** Every reader has read all chunks below `slowest`. */
  forgetBelow(slowest: number): void {
    if (this.#all.size > 0 && this.#latest !== null && slowest > this.#latest.number) this.#forget();
  }

  /** Frees the last chunk where nobody reads. */
  forgetUnread(): void {
    if (this.#all.size === 0) this.#forget();
  }

  #forget(): void {
    this.#latest?.retire();
    this.#latest = null;
  }
}
