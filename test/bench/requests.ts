// The requests of the stream measurements: each is read to its end, and an answer that is not whole ends the measurement.

import { once } from "node:events";
import { type Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { freshKey } from "../support/http.ts";

export const MIB = 1 << 20;

export interface Exchange {
  readonly path: string;
  readonly key?: string;
  readonly upload?: number;
  /** The client reads nothing of the answer until this resolves. */
  readonly after?: Promise<unknown>;
  readonly agent?: Agent;
}

export interface Timed {
  readonly bytes: number;
  readonly firstByteMs: number;
}

/** One request, read to its end. Throws where its answer is not a whole 200. */
export async function exchange(
  url: string,
  { path, key = freshKey(), upload = 2, after, agent }: Exchange,
): Promise<Timed> {
  const begun = performance.now();
  const outgoing = httpRequest(url + path, {
    method: "POST",
    headers: { "idempotency-key": key, "content-type": "application/json", "content-length": upload },
    agent: agent ?? false,
  });
  const answered: Promise<IncomingMessage> = new Promise((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
  });
  const piece = Buffer.alloc(Math.min(upload, 64 * 1024), "1");
  for (let left = upload; left > 0; left -= piece.length) {
    if (!outgoing.write(piece.subarray(0, left))) await once(outgoing, "drain");
  }
  outgoing.end();
  const response = await answered;
  await after;
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${await text(response)}`);
  let bytes = 0;
  let firstByteMs = Number.NaN;
  for await (const chunk of response) {
    if (bytes === 0) firstByteMs = performance.now() - begun;
    bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
  }
  if (!response.complete) throw new Error(`${path}: the body broke off`);
  return { bytes, firstByteMs };
}

/** Sends a request and reads nothing of its answer, which has begun when this resolves. Ends the connection by the signal. */
export async function standStill(url: string, { path, key = freshKey(), upload = 2 }: Exchange, until: AbortSignal) {
  const outgoing = httpRequest(url + path, {
    method: "POST",
    headers: { "idempotency-key": key, "content-type": "application/json", "content-length": upload },
    agent: false,
  });
  until.addEventListener("abort", () => outgoing.destroy());
  const answered: Promise<IncomingMessage> = new Promise((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
  });
  outgoing.end(Buffer.alloc(upload, "1"));
  const response = await answered;
  response.on("error", () => undefined);
  response.pause();
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${await text(response)}`);
}

export async function download(url: string, mebibytes: number, more: Partial<Exchange> = {}): Promise<void> {
  const { bytes } = await exchange(url, { path: `/bytes?size=${mebibytes * MIB}`, ...more });
  if (bytes !== mebibytes * MIB) throw new Error(`${bytes} bytes came`);
}
