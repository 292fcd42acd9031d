// Reads a body into memory, up to a bound, and not one piece further.

export type BoundedBody =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  /** More than the bound: what has been read so far, and the rest as it comes. */
  | { readonly kind: "over"; readonly read: readonly Uint8Array[]; readonly rest: Rest };

export type BytesRead = { readonly done: false; readonly value: Uint8Array } | { readonly done: true };

/** A body that is read piece by piece; a piece is valid until the next one is read. */
export interface Rest {
  read(): Promise<BytesRead>;
  cancel(): Promise<void>;
}

const EMPTY = new Uint8Array(0);

/** A body of a length that is known and small. Rejects when it is not all there. */
export async function readWhole(request: Request): Promise<BoundedBody> {
  return { kind: "whole", bytes: new Uint8Array(await request.arrayBuffer()) };
}

/** Rejects when the stream breaks. */
export async function readBounded(stream: ReadableStream<Uint8Array> | null, limitBytes: number): Promise<BoundedBody> {
  if (stream === null) return { kind: "whole", bytes: EMPTY };
  const reader = new ByteReader(stream);
  const read: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const piece = await reader.read();
    if (piece.done) return { kind: "whole", bytes: joinBytes(read) };
    read.push(piece.value.slice());
    size += piece.value.byteLength;
    if (size > limitBytes) return { kind: "over", read, rest: reader };
  }
}

/** The first view is small, since most bodies are; the next ones are not. The runtime's own pieces are 4 KiB. */
const FIRST_VIEW_BYTES = 4096;
const VIEW_BYTES = 64 * 1024;

/** Reads what has come of a body, up to the size of a view that grows with the body. A piece is valid until the next read. */
export class ByteReader implements Rest {
  readonly #reader: ReadableStreamBYOBReader;
  /** Comes back with the bytes and is used again: a body makes no garbage of its size. */
  #buffer: ArrayBufferLike;
  #wasFull = false;

  /** `expectedBytes` is how much will come at most, where that is known. */
  constructor(stream: ReadableStream<Uint8Array>, expectedBytes = FIRST_VIEW_BYTES) {
    this.#reader = stream.getReader({ mode: "byob" });
    this.#buffer = new ArrayBuffer(Math.max(1, Math.min(expectedBytes, VIEW_BYTES)));
  }

  async read(): Promise<BytesRead> {
    if (this.#wasFull && this.#buffer.byteLength < VIEW_BYTES) this.#buffer = new ArrayBuffer(VIEW_BYTES);
    const { done, value } = await this.#reader.read(new Uint8Array(this.#buffer));
    if (done) return { done };
    this.#buffer = value.buffer;
    this.#wasFull = value.byteLength === value.buffer.byteLength;
    return { done, value };
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel();
  }
}

/** One piece is given as it is; more are copied together. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (only === undefined) return EMPTY;
  if (pieces.length === 1) return only;
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}
