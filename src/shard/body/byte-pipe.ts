// A stream of the runtime's own that is fed piece by piece, each when the one before it has been taken. Whoever feeds it
// learns when a piece is done with, so that its memory can be used again or freed: buffers that are left to the garbage
// collector pile up to hundreds of megabytes before it minds them (src/shard/body/README.md, "Memory"). A reader that takes nothing for long is
// let go: what it holds is others' memory and disk.

import { storedBytes } from "../store/bodies.ts";
import type { Due, Timers } from "../timers.ts";

export interface Piece {
  readonly bytes: Uint8Array;
  /** Called once, when the bytes have been taken or will never be. */
  readonly release: () => void;
}

export interface PieceSource {
  /** The next piece; `null` at the end. A rejection breaks the stream. */
  next(): Promise<Piece | null> | Piece | null;
  /** Called once, when nothing more is read: at the end, after a break, or because the reader has left. */
  close(): void;
}

export interface BytePipe {
  readonly readable: ReadableStream<Uint8Array>;
  /** Breaks it for its reader, whatever he has taken so far. */
  readonly abort: (reason: Error) => void;
}

/** How long a reader may take nothing of what is there for it. */
export interface Patience {
  readonly timers: Timers;
  readonly idleMs: number;
}

/**
 * As much as is given at a time: a reader that has taken so much has not stood still. What counts as taken is what the
 * runtime has taken, and the network behind it may hold some more.
 */
const STEP_BYTES = 64 * 1024;

/**
 * `length` becomes the body's Content-Length, and a body of any other length breaks; `null` for one that is not known.
 * `patience` is that with its reader; `null` where somebody else watches over it.
 */
export function bytePipe(source: PieceSource, length: number | null, patience: Patience | null): BytePipe {
  const { readable, writable } = length === null ? new IdentityTransformStream() : new FixedLengthStream(length);
  const writer = writable.getWriter();
  let isOpen = true;
  const idle = new IdleReader(patience, () => abort(new Error("the reader took nothing for too long")));
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    idle.end();
    source.close();
  };
  const abort = (reason: unknown): void => {
    writer.abort(reason).catch(ignore);
    close();
  };
  // A reader that leaves while no piece is on its way shows here alone.
  writer.closed.catch(close);
  pump(source, writer, idle).then(close, abort);
  return { readable, abort };
}

async function pump(
  source: PieceSource,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  idle: IdleReader,
): Promise<void> {
  for (;;) {
    const piece = await source.next();
    if (piece === null) break;
    try {
      idle.begin();
      await Promise.all(stepsOf(piece.bytes).map((step) => writer.write(step).then(() => idle.begin())));
    } finally {
      idle.pause();
      piece.release();
    }
  }
  idle.begin();
  await writer.close();
}

function stepsOf(bytes: Uint8Array): readonly Uint8Array[] {
  const count = Math.ceil(bytes.byteLength / STEP_BYTES);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * STEP_BYTES, (at + 1) * STEP_BYTES));
}

/** In so many looks a reader must have taken nothing. */
const LOOKS = 4;

/**
 * A look does not count when so much has been stored since the one before. Under a heavy load the runtime may serve some readers
 * only when it is over (measured: 400 streams that came at once through one shard, on a disk that took 3 MB a second), and that
 * is no fault of theirs.
 */
const BUSY_BYTES = 1 << 20;

/** Watches over a reader for whom something is there. */
class IdleReader {
  readonly #patience: Patience | null;
  readonly #letGo: () => void;
  #due: Due | null = null;
  /** How many more. */
  #looks = LOOKS;
  /** What the isolate had stored at the last look. */
  #stored = 0;
  #isOver = false;

  constructor(patience: Patience | null, letGo: () => void) {
    this.#patience = patience;
    this.#letGo = letGo;
  }

  begin(): void {
    if (this.#patience === null || this.#isOver) return;
    this.#looks = LOOKS;
    this.#stored = storedBytes();
    this.#lookAgain(this.#patience);
  }

  pause(): void {
    this.#due?.move(Number.POSITIVE_INFINITY);
  }

  end(): void {
    this.#isOver = true;
    this.#due?.cancel();
  }

  #lookAgain(patience: Patience): void {
    const afterMs = patience.idleMs / LOOKS;
    if (this.#due === null) this.#due = patience.timers.set(afterMs, () => this.#look(patience));
    else this.#due.move(afterMs);
  }

  #look(patience: Patience): void {
    const stored = storedBytes();
    if (stored - this.#stored < BUSY_BYTES) this.#looks -= 1;
    this.#stored = stored;
    if (this.#looks > 0) this.#lookAgain(patience);
    else this.#letGo();
  }
}

/** Leaves out the first bytes of what passes, piece by piece. */
export class Skip {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** What is left of a piece; `null` when nothing is, and then the piece has been released. */
  past({ bytes, release }: Piece): Piece | null {
    const rest = bytes.subarray(Math.min(this.#left, bytes.byteLength));
    this.#left -= bytes.byteLength - rest.byteLength;
    if (rest.byteLength > 0) return { bytes: rest, release };
    release();
    return null;
  }
}

function ignore(): void {
  // A stream that has broken already needs no second break.
}
