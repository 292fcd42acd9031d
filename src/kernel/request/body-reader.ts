// How every body in the gateway is read, whether it comes from a client, from the origin or from the store: piece by piece.
//
//   next() → a piece: use its bytes, then release() → next() → … → "whole"
//
// The memory rules stand here alone. The reader of a body holds one piece at a time, so a body never costs more memory than its
// largest piece, however long it is.

/** Some bytes of a body. */
export interface BytePiece {
  readonly kind: "bytes";
  /**
   * They belong to the body's source, which frees their buffer or uses it again. They are valid until `release` is called or the
   * next piece is asked for, whichever comes first; a reader that needs them for longer copies them. The last piece may be kept
   * without a copy: do not release it, and ask for nothing more.
   */
  readonly bytes: Uint8Array;
  /** Gives the bytes back. To be called once, as soon as they are not needed. */
  readonly release: () => void;
}

/** The end of a complete body. */
export const WHOLE = { kind: "whole" } as const;

export type NextPiece<Break = never> = BytePiece | typeof WHOLE | Break;

/**
 * A body that is read piece by piece. `Break` is what a source says of a body that breaks off, where it knows why. All other
 * sources reject. In both cases, a partial body is never mistaken for a whole one.
 */
export interface BodyReader<Break = never> {
  /** The next piece, or the end. To be called again only when the last call has settled, and never after an end. */
  next(): Promise<NextPiece<Break>>;
  /** Nothing more is read: the source stops, and frees what it holds. May be called at any time, after the end and again. */
  cancel(): void;
}

/** For bytes that need no release: their buffer is used again for the next piece, or it is somebody else's. */
export function lentPiece(bytes: Uint8Array): BytePiece {
  return { kind: "bytes", bytes, release: ignore };
}

/** A body without its first bytes. */
export function skipBytes(body: BodyReader, bytes: number): BodyReader {
  let left = bytes;
  const next = async (): Promise<NextPiece> => {
    for (;;) {
      const piece = await body.next();
      if (piece.kind === "whole") return piece;
      const skipped = Math.min(left, piece.bytes.byteLength);
      left -= skipped;
      if (skipped < piece.bytes.byteLength) return { ...piece, bytes: piece.bytes.subarray(skipped) };
      piece.release();
    }
  };
  return bytes === 0 ? body : { next, cancel: () => body.cancel() };
}

/** The first view is small, since most bodies are; the next ones are not. The runtime's own pieces are 4 KiB. */
const FIRST_VIEW_BYTES = 4096;
const VIEW_BYTES = 64 * 1024;

/** Reads a stream of the runtime. Each piece is what has come so far, up to the size of a view that grows with the body. */
export class ByteReader implements BodyReader {
  readonly #reader: ReadableStreamBYOBReader;
  /** Comes back with the bytes and is used again: a body makes no garbage of its size. */
  #buffer: ArrayBufferLike;
  #wasFull = false;

  /** `expectedBytes` is the most that will come, where that is known. */
  constructor(stream: ReadableStream<Uint8Array>, expectedBytes = FIRST_VIEW_BYTES) {
    this.#reader = stream.getReader({ mode: "byob" });
    this.#buffer = new ArrayBuffer(Math.max(1, Math.min(expectedBytes, VIEW_BYTES)));
  }

  async next(): Promise<NextPiece> {
    if (this.#wasFull && this.#buffer.byteLength < VIEW_BYTES) this.#buffer = new ArrayBuffer(VIEW_BYTES);
    const { done, value } = await this.#reader.read(new Uint8Array(this.#buffer));
    if (done) return WHOLE;
    this.#buffer = value.buffer;
    this.#wasFull = value.byteLength === value.buffer.byteLength;
    return lentPiece(value);
  }

  cancel(): void {
    this.#reader.cancel().catch(ignore);
  }
}

function ignore(): void {
  // Nothing to do: a buffer that is used again needs no release, and a stream that has broken cannot be cancelled.
}
