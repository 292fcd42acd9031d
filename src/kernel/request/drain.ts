// An answer that is sent before the request's body has been read. HTTP lets a client send its whole body before it reads, and
// such a client loses an answer whose connection is closed right after it (RFC 9112, section 9.6). So the answer is sent at
// once, but it ends only when the rest of the body has been taken off the wire, within bounds.

import { type BodyReader, WHOLE } from "./body-reader.ts";
import { firstOf } from "./first-of.ts";
import { declaredLength } from "./headers.ts";

/** The largest request body that the platform takes on most plans; a client that sends more loses the connection. */
const MAX_BYTES = 100 << 20;
const MAX_MS = 30_000;

/** A client that sends nothing for this long has stopped sending, and already has its answer. */
const IDLE_MS = 2000;

/** Reads what is left of a body and throws it away; gives up when that takes too long or is too much. Never rejects. */
export async function drainBody(rest: BodyReader): Promise<void> {
  const until = Date.now() + MAX_MS;
  for (let left = MAX_BYTES; left > 0 && Date.now() < until;) {
    // A body that has broken off has nothing left to read.
    const reading = rest.next().catch(() => WHOLE);
    const piece = await firstOf(reading, IDLE_MS);
    if (piece === null) break;
    if (piece.kind === "whole") return;
    left -= piece.bytes.byteLength;
    piece.release();
  }
  rest.cancel();
}

/** The response, sent at once, but not ended before `taken` resolves. One without a body is held back whole. */
export async function endAfter(response: Response, taken: Promise<void>): Promise<Response> {
  if (response.body === null) {
    await taken;
    return response;
  }
  const { status, statusText, headers } = response;
  const length = declaredLength(headers);
  const { readable, writable } = length === null ? new IdentityTransformStream() : new FixedLengthStream(length);
  void pass(response.body, writable, taken);
  return new Response(readable, { status, statusText, headers, encodeBody: "manual" });
}

async function pass(
  body: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
  taken: Promise<void>,
): Promise<void> {
  try {
    await body.pipeTo(writable, { preventClose: true });
    await taken;
    await writable.close();
  } catch {
    // Whichever side broke, `pipeTo` has broken the other side too.
  }
}
