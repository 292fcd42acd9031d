// A stream of the runtime's own that is fed piece by piece, each when the one before it has been taken. Whoever feeds it
// learns when a piece is done with, so that its memory can be used again or freed: buffers that are left to the garbage
// collector pile up to hundreds of megabytes before it minds them (README, "Memory").

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

/** `length` becomes the body's Content-Length, and a body of any other length breaks; `null` for one that is not known. */
export function bytePipe(source: PieceSource, length: number | null): BytePipe {
  const { readable, writable } = length === null ? new IdentityTransformStream() : new FixedLengthStream(length);
  const writer = writable.getWriter();
  let isOpen = true;
  const close = (): void => {
    if (isOpen) source.close();
    isOpen = false;
  };
  const abort = (reason: unknown): void => {
    writer.abort(reason).catch(ignore);
    close();
  };
  // A reader that leaves while no piece is on its way shows here alone.
  writer.closed.catch(close);
  pump(source, writer).then(close, abort);
  return { readable, abort };
}

async function pump(source: PieceSource, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
  for (;;) {
    const piece = await source.next();
    if (piece === null) break;
    try {
      await writer.write(piece.bytes);
    } finally {
      piece.release();
    }
  }
  await writer.close();
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

/** Gives the memory of a buffer back at once. Nobody may use it any more. */
export function freeBytes({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

function ignore(): void {
  // A stream that has broken already needs no second break.
}
