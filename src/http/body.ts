// Reads a body into memory, up to a bound, and not one piece further.

export type BoundedBody =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  /** More than the bound: what has been read so far, and the rest as it comes. */
  | { readonly kind: "over"; readonly read: readonly Uint8Array[]; readonly rest: Rest };

export interface Rest {
  read(): Promise<ReadableStreamReadResult<Uint8Array>>;
  cancel(reason?: unknown): Promise<void>;
}

const EMPTY = new Uint8Array(0);

/** Rejects when the stream breaks, or when `next` (which wraps each read) does. */
export async function readBounded(
  stream: ReadableStream<Uint8Array> | null,
  limitBytes: number,
  next: <T>(read: Promise<T>) => Promise<T> = (read) => read,
): Promise<BoundedBody> {
  if (stream === null) return { kind: "whole", bytes: EMPTY };
  const reader = stream.getReader();
  const read: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await next(reader.read());
    if (done) return { kind: "whole", bytes: joined(read, size) };
    read.push(value);
    size += value.byteLength;
    if (size > limitBytes) {
      const rest: Rest = { read: () => next(reader.read()), cancel: (reason) => reader.cancel(reason) };
      return { kind: "over", read, rest };
    }
  }
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = chunks;
  if (only === undefined) return EMPTY;
  if (chunks.length === 1) return only;
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}
