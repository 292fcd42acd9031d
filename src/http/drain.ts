// An answer that is given before the request's body has been read. HTTP lets a client send everything before it reads, and
// such a client loses an answer after which its connection is closed (RFC 9112, section 9.6). So the answer goes out at
// once, but it ends only when the rest of the body has been taken off the wire, within bounds.

import type { BodyReader } from "./body.ts";
import { firstOf } from "./patience.ts";

/** As much as the platform lets a request have on most plans; who sends more has to lose the connection. */
const MOST_BYTES = 100 << 20;
const MOST_MS = 30_000;

/** A client that sends nothing for so long is not sending: it waits, and it has its answer. */
const IDLE_MS = 2000;

/** Reads what is left of a body and throws it away; gives up when that takes too long or is too much. Never rejects. */
export async function drain(rest: BodyReader): Promise<void> {
  const until = Date.now() + MOST_MS;
  for (let left = MOST_BYTES; left > 0 && Date.now() < until;) {
    const piece = await firstOf(
      rest.read().catch(() => END),
      IDLE_MS,
    );
    if (piece === null) break;
    if (piece.done) return;
    left -= piece.value.byteLength;
  }
  await rest.cancel().catch(ignore);
}

const END = { done: true } as const;

/** The response, told at once, but not ended before `taken` resolves. One without a body is held back whole. */
export async function endAfter(response: Response, taken: Promise<void>): Promise<Response> {
  if (response.body === null) {
    await taken;
    return response;
  }
  const { status, statusText, headers } = response;
  const length = headers.get("content-length");
  const { readable, writable } =
    length === null ? new IdentityTransformStream() : new FixedLengthStream(Number(length));
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
    // Whichever side broke, `pipeTo` has broken the other.
  }
}

function ignore(): void {
  // Nothing more can be read of it anyway.
}
