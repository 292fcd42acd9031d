// A stream of the runtime that is fed piece by piece, each after the one before it has been taken. Each piece is released as soon
// as the runtime has taken it: buffers left to the garbage collector pile up to hundreds of megabytes before it runs (README.md,
// "Memory"). An idle reader is disconnected after a time, because it holds memory and disk that others need.

import type { BodyReader } from "../request/body-reader.ts";
import { bytesStoredSoFar } from "../store/bodies.ts";
import type { ScheduledWork, ObjectTimers } from "../object/timers.ts";

export interface BytePipe {
  readonly readable: ReadableStream<Uint8Array>;
  /** Breaks the stream for its reader, no matter how much has been read. */
  readonly abort: (reason: Error) => void;
}

/** How long a reader may take nothing while bytes are ready for it. */
export interface ReaderPatience {
  readonly timers: ObjectTimers;
  readonly idleMs: number;
}

/**
 * How many bytes are offered at a time: a reader that has taken these is not idle. Bytes count as taken when the runtime has taken
 * them; the network may hold some more.
 */
const STEP_BYTES = 64 * 1024;

/**
 * Cancels `body` when reading ends: at its end, after a failure, or because the reader has disconnected. A body that breaks off
 * breaks the stream. `length` becomes the Content-Length, and a body of any other length breaks the stream; `null`: unknown.
 * `patience` limits how long the reader may be idle; `null` if the caller limits that itself.
 */
export function bytePipe(body: BodyReader, length: number | null, patience: ReaderPatience | null): BytePipe {
  const { readable, writable } = length === null ? new IdentityTransformStream() : new FixedLengthStream(length);
  const writer = writable.getWriter();
  let isOpen = true;
  const idle = new IdleReader(patience, () => abort(new Error("the reader took nothing for too long")));
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    idle.end();
    body.cancel();
  };
  const abort = (reason: unknown): void => {
    writer.abort(reason).catch(ignore);
    close();
  };
  // Only this promise shows that a reader has disconnected while no piece is being written.
  writer.closed.catch(close);
  pump(body, writer, idle).then(close, abort);
  return { readable, abort };
}

async function pump(
  body: BodyReader,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  idle: IdleReader,
): Promise<void> {
  for (;;) {
    const piece = await body.next();
    if (piece.kind === "whole") break;
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

/** A reader is disconnected when it has taken nothing at this many checks in a row. */
const CHECKS = 4;

/**
 * A check does not count if this much has been stored since the last one. Under heavy load the runtime may serve some readers only
 * after the load is over (measured: 400 streams at once through one shard, on a disk with 3 MB a second), and that is not the
 * readers' fault.
 */
const BUSY_BYTES = 1 << 20;

/** Watches a reader while bytes are ready for it. */
class IdleReader {
  readonly #patience: ReaderPatience | null;
  readonly #onIdle: () => void;
  #due: ScheduledWork | null = null;
  /** How many checks are left. */
  #checksLeft = CHECKS;
  /** How many bytes the isolate had stored at the last check. */
  #stored = 0;
  #isOver = false;

  constructor(patience: ReaderPatience | null, onIdle: () => void) {
    this.#patience = patience;
    this.#onIdle = onIdle;
  }

  begin(): void {
    if (this.#patience === null || this.#isOver) return;
    this.#checksLeft = CHECKS;
    this.#stored = bytesStoredSoFar();
    this.#scheduleCheck(this.#patience);
  }

  pause(): void {
    this.#due?.move(Number.POSITIVE_INFINITY);
  }

  end(): void {
    this.#isOver = true;
    this.#due?.cancel();
  }

  #scheduleCheck(patience: ReaderPatience): void {
    const afterMs = patience.idleMs / CHECKS;
    if (this.#due === null) this.#due = patience.timers.set(afterMs, () => this.#check(patience));
    else this.#due.move(afterMs);
  }

  #check(patience: ReaderPatience): void {
    const stored = bytesStoredSoFar();
    if (stored - this.#stored < BUSY_BYTES) this.#checksLeft -= 1;
    this.#stored = stored;
    if (this.#checksLeft > 0) this.#scheduleCheck(patience);
    else this.#onIdle();
  }
}

function ignore(): void {
  // The stream is already broken.
}
