// A large request on its way into the shard. Its body is complete and durable before anything is claimed, so that neither
// a client that leaves nor a slow origin can cut it; it is never in memory at once. Where the route compares no bodies,
// it only flows through: then a client that leaves cuts it, and the attempt is ambiguous.

import type { ClientProblem } from "../core/problem.ts";
import { fingerprintDigested } from "../http/fingerprint.ts";
import type { ExchangeHead } from "../http/message.ts";
import { MessageReader } from "../http/message-stream.ts";
import type { Bodies } from "./bodies.ts";
import { freeBytes } from "./byte-pipe.ts";
import { FillingChunk } from "./filling-chunk.ts";
import { chunkedBody, type RequestBody, streamedBody } from "./request-body.ts";

export interface Received {
  readonly head: ExchangeHead;
  readonly body: RequestBody;
}

export type Reception = Received | { readonly head: ExchangeHead; readonly problem: ClientProblem };

export async function receive(stream: ReadableStream<Uint8Array>, bodies: Bodies): Promise<Reception> {
  const message = new MessageReader(stream);
  const head = await message.head();
  const { upload } = head;
  if (upload === null) throw new TypeError("a streamed message without an upload");
  if (upload.fingerprintParts === null) return { head, body: streamedBody(message, upload.length) };
  const name = `${head.attemptId}/request`;
  bodies.lend(name);
  let stored: StoredUpload | null = null;
  try {
    stored = await store(bodies, name, message, upload.maxBytes);
  } finally {
    if (stored === null || stored.size > upload.maxBytes) bodies.release(name);
  }
  if (stored === null) {
    return { head, problem: { code: "request-invalid", reason: "The request's body broke off or is malformed." } };
  }
  if (stored.size > upload.maxBytes) {
    return { head, problem: { code: "body-too-large", limitBytes: upload.maxBytes } };
  }
  const fingerprint = await fingerprintDigested(upload.fingerprintParts, stored.digest);
  return { head: { ...head, fingerprint }, body: chunkedBody(bodies, name, stored.count, stored.size) };
}

const EMPTY = new Uint8Array();

interface StoredUpload {
  readonly count: number;
  readonly size: number;
  readonly digest: Uint8Array;
}

/**
 * Stores a body in chunks and digests it on the way. Stops soon after the bound. `null` when the body breaks off; rejects
 * when it cannot be stored.
 */
async function store(
  bodies: Bodies,
  name: string,
  message: MessageReader,
  maxBytes: number,
): Promise<StoredUpload | null> {
  const digest = new crypto.DigestStream("SHA-256");
  const writer = digest.getWriter();
  const chunk = new FillingChunk();
  let count = 0;
  let size = 0;
  const append = (): void => {
    const bytes = chunk.take();
    bodies.append(name, count++, bytes);
    freeBytes(bytes);
  };
  try {
    while (size <= maxBytes) {
      const piece = await message.read().catch(() => null);
      if (piece === null) return null;
      if (piece.done) {
        if (chunk.size > 0) append();
        await writer.close();
        return { count, size, digest: new Uint8Array(await digest.digest) };
      }
      size += piece.value.byteLength;
      for (let at = 0; at < piece.value.byteLength;) {
        at += chunk.fill(piece.value.subarray(at));
        if (chunk.isFull) append();
      }
      await writer.write(piece.value);
    }
    await message.cancel();
    await writer.abort();
    return { count, size, digest: EMPTY };
  } finally {
    chunk.free();
  }
}
