// The body of one response on its way: from the origin into the ledger, and from there to all who read it, each at their
// own speed. No byte is shown to a reader before it is durable (G4), a reader's speed is never the origin's, and a body
// that ends early breaks for everybody. A body that is small and quick never touches a chunk row: it is handed over whole.
//
// Memory: one chunk that fills, one that is being written, and one for each reader (src/shard/body/README.md, "Memory").

import { freeBytes } from "../../http/byte-budget.ts";
import { type Bodies, CHUNK_BYTES } from "../store/bodies.ts";
import { type BodyPosition, START } from "./body-position.ts";
import { bytePipe, type Patience, type Piece, type PieceSource, Skip } from "./byte-pipe.ts";
import { FillingChunk } from "./chunk.ts";
import { isFair } from "./read-memory.ts";
import { SharedChunk } from "./chunk.ts";
import { Signal } from "./signal.ts";
import { ChunkCursor } from "./stored-stream.ts";
import type { Due } from "../timers.ts";

export interface SpoolOptions {
  readonly bodies: Bodies;
  /** The body's name in the ledger. */
  readonly name: string;
  /** Whether a record will own the body; what none owns is erased when nobody reads it, also after a crash. */
  readonly isOwned: boolean;
  /** How long the origin says that it is; `null` when it does not. Its last bytes are its end, so they are shown with that. */
  readonly length: number | null;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  /** How long the first bytes may wait for company, so that a quick body is written once. */
  readonly firstFlushMs: number;
  /** How far the reading of a body that is not kept may run ahead of its slowest reader, in chunks. */
  readonly windowChunks: number;
  /** With each of its readers, whether the body is kept or not. */
  readonly patience: Patience;
}

/** Bytes that come in a trickle are written together: at 40 commits a second no eye sees the steps. */
const FLUSH_MS = 25;

/** One who takes a body piece by piece, from its first byte on. */
export interface Follower extends PieceSource {
  next(): Promise<Piece | null>;
}

interface Reader {
  readonly cursor: ChunkCursor;
  abort: (reason: Error) => void;
}

const BROKEN = "the origin's response broke off";

type End = "open" | "whole" | "broken";

export class Spool {
  readonly #options: SpoolOptions;
  readonly #filling = new FillingChunk();
  /** Bytes taken so far. */
  bytes = 0;
  /** Chunks written, and chunks that readers may see. */
  #written = 0;
  #readable = 0;
  /** The same in bytes. */
  #writtenBytes = 0;
  /** What is durable, and may be seen by those who follow the body for others' sake. */
  #durable = 0;
  #durableBytes = 0;
  /** The last chunk written, as long as somebody may want it. */
  #latest: SharedChunk | null = null;
  #end: End = "open";
  /** Whether it holds its body in the ledger. */
  #isHeld = false;
  /** Whether the body is kept; when not, chunks go as soon as everybody has read them. */
  #kept = true;
  /** When what has come together is written. */
  #flushDue: Due | null = null;
  #flushing: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  readonly #change = new Signal();
  readonly #readers = new Set<Reader>();

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** How many chunks it has in the ledger. */
  get chunks(): number {
    return this.#written;
  }

  /** Takes the next bytes. Resolves when it has them all and there is room for more. */
  async write(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.byteLength;
    if (!this.#kept && this.#readers.size === 0) return;
    let at = 0;
    while (at < bytes.byteLength) {
      at += this.#filling.fill(bytes.subarray(at));
      if (this.#filling.isFull) await this.flush();
      if (this.#failure !== null) throw this.#failure;
    }
    const delayMs = this.#written === 0 ? this.#options.firstFlushMs : FLUSH_MS;
    if (this.#filling.size > 0) this.#flushDue ??= this.#options.patience.timers.set(delayMs, () => void this.flush());
    if (!this.#kept) await this.#untilRead();
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0;
  }

  get isBroken(): boolean {
    return this.#end === "broken";
  }

  /** Whether there is, or will be, something to read. */
  get isReadable(): boolean {
    return this.#end === "open" || (this.#end === "whole" && this.#written > 0);
  }

  /** All bytes, as long as none of them is in the ledger and nobody reads; `null` from then on. */
  takeWhole(): Uint8Array | null {
    if (this.#failure !== null) throw this.#failure;
    if (this.#written > 0 || this.#readers.size > 0) return null;
    this.#stopFlush();
    const bytes = this.#filling.take();
    this.#tell("whole");
    return bytes;
  }

  /** Resolves when readers can begin, or when the body has ended before. */
  async readable(): Promise<void> {
    while (this.#readable === 0 && this.#end === "open") await this.#change.next;
  }

  /**
   * Writes what is left, and `settle`s in the same commit: the record never says that a body is whole which is not.
   * Readers see its end only when that is durable.
   */
  async finish(settle: () => void): Promise<void> {
    this.#stopFlush();
    await this.#flushing;
    if (this.#failure !== null) throw this.#failure;
    if (this.#kept || this.#readers.size > 0) this.#writeChunk();
    settle();
    await this.#sync();
    this.#readable = this.#written;
    this.#tell("whole");
  }

  /** Breaks the body for all who read it. */
  break(): void {
    this.#stopFlush();
    this.#tell("broken");
    for (const { abort } of this.#readers) abort(new Error(BROKEN));
  }

  /** The body is too large to keep: those who read it get it all, but nothing is stored for others. */
  stopKeeping(): void {
    // Its chunks come and go with its readers, and whatever becomes of it, the last ones have to go too.
    this.#options.bodies.disown(this.#options.name);
    this.#kept = false;
    this.#dropRead();
  }

  /**
   * The body from its first byte, or from a position that has been written, as it comes. `length` is what the origin says of all
   * of it; `null` when it does not.
   */
  reader(length: number | null, from = START): ReadableStream<Uint8Array> {
    const left = length === null ? null : length - from.bytes;
    const reader = this.#join(from);
    const pipe = bytePipe(
      this.#following(reader, from, () => this.#readable),
      left,
      this.#options.patience,
    );
    reader.abort = pipe.abort;
    return pipe.readable;
  }

  /** The body from its first byte, for one who takes it as he likes. Its pieces are his to release. */
  follow(): Follower {
    return this.#following(this.#join(START), START, () => this.#durable);
  }

  /** Resolves when so many bytes may be seen; rejects when the body has broken. Asked again whenever something changes. */
  async shows(bytes: () => number): Promise<void> {
    while (this.#durableBytes < bytes()) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#end !== "open") throw new Error(BROKEN);
      await this.#change.next;
    }
  }

  #join({ chunk }: BodyPosition): Reader {
    const { bodies, name } = this.#options;
    const cursor = new ChunkCursor((number, at, most) => bodies.readPart(name, number, at, most), CHUNK_BYTES, chunk);
    const reader: Reader = { cursor, abort: () => undefined };
    this.#readers.add(reader);
    bodies.hold(name);
    return reader;
  }

  #following(reader: Reader, { bytes, before }: BodyPosition, limit: () => number): Follower {
    const { cursor } = reader;
    const skip = new Skip(bytes - before);
    const next = async (): Promise<Piece | null> => {
      for (;;) {
        if (this.#end === "broken") throw new Error(BROKEN);
        if (cursor.number < limit()) {
          const { number } = cursor;
          const read = this.#read(cursor);
          if (cursor.number !== number) {
            this.#dropRead();
            this.#change.tell();
          }
          const piece = read === null ? null : skip.past(read);
          if (piece !== null) return piece;
        } else if (this.#end === "whole") return null;
        else await this.#change.next;
      }
    };
    return { next, close: () => this.#leave(reader) };
  }

  async #sync(): Promise<void> {
    await this.#options.sync();
    this.#durable = this.#written;
    this.#durableBytes = this.#writtenBytes;
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    this.#dropRead();
    this.#forgetLatest();
    this.#change.tell();
    this.#options.bodies.release(this.#options.name);
  }

  #stopFlush(): void {
    this.#flushDue?.cancel();
    this.#flushDue = null;
  }

  /** Those who are close behind share the last chunk, as long as holding it is nobody's loss. */
  #read(cursor: ChunkCursor): Piece | null {
    const latest = this.#latest;
    if (latest === null || latest.number !== cursor.number || cursor.at > 0 || !isFair(latest.bytes.byteLength)) {
      return cursor.next();
    }
    cursor.skip();
    return latest.use();
  }

  /** Writes what has come together and shows it when it is durable. One at a time, in order. */
  flush(): Promise<void> {
    this.#stopFlush();
    this.#flushing = this.#flushAfter(this.#flushing);
    return this.#flushing;
  }

  async #flushAfter(before: Promise<void>): Promise<void> {
    await before;
    if (this.#end !== "open" || this.#failure !== null) return;
    try {
      this.#writeChunk();
      await this.#sync();
      if (this.#writtenBytes < (this.#options.length ?? Number.POSITIVE_INFINITY)) this.#readable = this.#written;
      this.#change.tell();
    } catch (error) {
      this.#failure = error;
      this.#change.tell();
    }
  }

  #writeChunk(): void {
    if (this.#filling.size === 0) return;
    const bytes = this.#filling.take();
    const { byteLength } = bytes;
    this.#hold();
    this.#options.bodies.append(this.#options.name, this.#written, bytes);
    this.#latest?.retire();
    this.#latest = null;
    // For its first reader, who comes when it is shown, and for those who are there. Whoever comes later reads the ledger.
    if (this.#written === 0 || this.#readers.size > 0) this.#latest = new SharedChunk(this.#written, bytes);
    else freeBytes(bytes);
    this.#written += 1;
    this.#writtenBytes += byteLength;
  }

  /** Before the first chunk is written, until the body has ended. */
  #hold(): void {
    if (this.#isHeld) return;
    const { bodies, name, isOwned } = this.#options;
    if (isOwned) bodies.hold(name);
    else bodies.lend(name);
    this.#isHeld = true;
  }

  /** Waits until the slowest reader is near. One that does not move at all is let go, so this ends. */
  async #untilRead(): Promise<void> {
    while (this.#readers.size > 0 && this.#written - this.#slowest() > this.#options.windowChunks) {
      await this.#change.next;
    }
  }

  #slowest(): number {
    let slowest = this.#written;
    for (const { cursor } of this.#readers) slowest = Math.min(slowest, cursor.number);
    return slowest;
  }

  /** Forgets what everybody has read. */
  #dropRead(): void {
    const slowest = this.#slowest();
    if (!this.#kept) this.#options.bodies.deleteBelow(this.#options.name, slowest);
    if (this.#readers.size === 0 || this.#latest === null || slowest <= this.#latest.number) return;
    this.#latest.retire();
    this.#latest = null;
  }

  /** Gives the last chunk's memory back where nobody is left who reads. */
  #forgetLatest(): void {
    if (this.#readers.size > 0) return;
    this.#latest?.retire();
    this.#latest = null;
  }

  #tell(end: End): void {
    if (this.#isHeld) this.#options.bodies.release(this.#options.name);
    this.#isHeld = false;
    this.#end = end;
    this.#filling.free();
    this.#forgetLatest();
    this.#change.tell();
  }
}
