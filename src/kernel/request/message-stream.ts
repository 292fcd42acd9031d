// A message whose body follows as a stream: what the Worker sends of a large request, and what the shard reads first.

import { type BodyReader, lentPiece, type NextPiece, WHOLE } from "./body-reader.ts";
import { freeBytes } from "./byte-budget.ts";
import { drainBody } from "./drain.ts";
import { firstOf } from "./first-of.ts";
import { encodeExchange, type ExchangeHead, type ExchangeMessage, LENGTH_BYTES, readHead } from "./message.ts";

/**
 * A message as a stream: the encoded beginning, then the rest of the body in frames. A frame is its length (32 bits,
 * big-endian) and so many bytes; one without bytes is the end. The end has to be sent: between a Worker and an object a
 * stream that broke off looks like one that ended (measured), and half a body must never pass for a whole one.
 */
export function streamMessage({ head, body }: ExchangeMessage, rest: BodyReader): StreamedMessage {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  // The receiver judges a slow body, but its answer does not end a wait for the next piece here: a moment later this side gives up too.
  const idleMs = head.rules.idleTimeoutMs + AFTER_RECEIVER_MS;
  let reading: Promise<NextPiece> | null = null;
  const send = async (): Promise<void> => {
    await writer.write(encodeExchange({ head, body: NONE }));
    if (body.byteLength > 0) await sendFrame(writer, body);
    for (;;) {
      reading = rest.next();
      const piece = await firstOf(reading, idleMs);
      if (piece === null) throw new TypeError("the body came too slowly");
      reading = null;
      if (piece.kind === "whole") break;
      await sendFrame(writer, piece.bytes);
      piece.release();
    }
    await sendFrame(writer, NONE);
    await writer.close();
  };
  const taken = send().catch(async (error: unknown) => {
    // Either the body broke off, and the receiver notices the missing end, or the receiver has stopped reading.
    await writer.abort(error).catch(() => undefined);
    await drainBody(resumed(rest, reading));
  });
  return { stream: readable, taken };
}

/** The body, of which a piece is being read already. */
function resumed(rest: BodyReader, reading: Promise<NextPiece> | null): BodyReader {
  let first = reading;
  const next = (): Promise<NextPiece> => {
    const piece = first ?? rest.next();
    first = null;
    return piece;
  };
  return { next, cancel: () => rest.cancel() };
}

const AFTER_RECEIVER_MS = 500;

/** How many bytes are offered at a time. */
const FRAME_BYTES = 64 * 1024;

/** A whole message whose body the receiver takes only if it needs it. If the body's memory has been freed, it ends after its head. */
export function offerMessage({ head, body }: ExchangeMessage): StreamedMessage {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const send = async (): Promise<void> => {
    await writer.write(encodeExchange({ head, body: NONE }));
    for (let at = 0; at < body.byteLength; at += FRAME_BYTES) {
      await sendFrame(writer, body.subarray(at, at + FRAME_BYTES));
    }
    if (body.byteLength > 0) await sendFrame(writer, NONE);
    await writer.close();
  };
  const taken = send().catch((error: unknown) => writer.abort(error).catch(() => undefined));
  return { stream: readable, taken };
}

export interface StreamedMessage {
  readonly stream: ReadableStream<Uint8Array>;
  /** Resolves when the body has been read as far as it ever will be. */
  readonly taken: Promise<void>;
}

/** Most heads fit. The view grows with the frames. */
const FIRST_VIEW_BYTES = 4096;

const NONE = new Uint8Array();

async function sendFrame(writer: WritableStreamDefaultWriter<Uint8Array>, bytes: Uint8Array): Promise<void> {
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, bytes.byteLength);
  await writer.write(length);
  if (bytes.byteLength > 0) await writer.write(bytes);
}

/** Reads a streamed message: first its head, then its body, frame by frame. */
export class MessageReader implements BodyReader {
  readonly #reader: ReadableStreamBYOBReader;
  /** Returned with the bytes, and reused for the next frame. */
  #view = new ArrayBuffer(FIRST_VIEW_BYTES);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader({ mode: "byob" });
  }

  async head(): Promise<ExchangeHead> {
    return readHead(new TextDecoder().decode(await this.#exactly(await this.#length())));
  }

  /** Rejects when the body has broken off. */
  async next(): Promise<NextPiece> {
    const length = await this.#length();
    return length === 0 ? WHOLE : lentPiece(await this.#exactly(length));
  }

  cancel(): void {
    const free = (): void => freeBytes(new Uint8Array(this.#view));
    // If the body has broken off, or a read is in progress, there is no view to free.
    this.#reader
      .cancel()
      .then(free)
      .catch(() => undefined);
  }

  async #length(): Promise<number> {
    const bytes = await this.#exactly(LENGTH_BYTES);
    return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  }

  async #exactly(length: number): Promise<Uint8Array> {
    const buffer = this.#view.byteLength < length ? new ArrayBuffer(length) : this.#view;
    const { done, value } = await this.#reader.readAtLeast(length, new Uint8Array(buffer, 0, length));
    if (done || value.byteLength < length) throw new TypeError("the message broke off");
    if (value.buffer instanceof ArrayBuffer) this.#view = value.buffer;
    return value;
  }
}
