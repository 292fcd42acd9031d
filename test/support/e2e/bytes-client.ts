// A client for large bodies in both directions: it sends and receives them piece by piece and keeps digests, not bytes. It
// decodes nothing. One request per connection.

import { createHash } from "node:crypto";
import { type ClientRequest, type IncomingMessage, request as openHttp } from "node:http";
import { digestOf, generateBytes } from "../origin-bytes.ts";
import type { Script } from "../origin.ts";
import type { HeaderPair } from "../http.ts";

/** A generated body: the same on both sides for the same seed and size. */
export interface Generated {
  readonly seed: string;
  readonly bytes: number;
}

export interface Upload extends Generated {
  readonly chunked?: boolean;
  /** Stops after so many bytes, and leaves the request open. */
  readonly stopAfterBytes?: number;
  /** Replaces the last byte by another one. */
  readonly lastByteChanged?: boolean;
}

export interface TransferRequest {
  /** POST by default. */
  readonly method?: string;
  readonly path: string;
  readonly key: string;
  readonly headers?: readonly HeaderPair[];
  /** A small JSON text when there is none. */
  readonly upload?: Upload;
  /** How the origin answers this request; not part of the fingerprint. */
  readonly behave?: Script;
}

export interface TransferHead {
  readonly status: number;
  readonly statusText: string;
  /** Wire order and case. */
  readonly headers: readonly HeaderPair[];
}

export interface Received extends TransferHead {
  readonly bytes: number;
  readonly sha256: string;
  /** The beginning of the body, enough for a problem. */
  readonly text: string;
  /** False: the connection ended before the body did. */
  readonly complete: boolean;
}

export interface Transfer {
  readonly head: Promise<TransferHead>;
  readonly response: Promise<Received>;
  /** Resolves when the upload is written as far as it goes: all of it, or up to where it stops. */
  readonly uploaded: Promise<void>;
  /** Resolves when so many bytes of the response are here; rejects when it ends before. */
  received(bytes: number): Promise<void>;
  /** Ends the connection with a reset (RST), as a client that crashes does. */
  reset(): void;
}

const TEXT_BYTES = 2_000;

export function transfer(url: string, request: TransferRequest): Promise<Received> {
  return openTransfer(url, request).response;
}

export function openTransfer(
  url: string,
  { method = "POST", path, key, headers = [], upload, behave }: TransferRequest,
): Transfer {
  const { hostname, port } = new URL(url);
  const pairs: HeaderPair[] = [
    ["Host", `${hostname}:${port}`],
    ["Connection", "close"],
    ["Idempotency-Key", key],
    ...headers,
  ];
  if (behave !== undefined) pairs.push(["x-behave", JSON.stringify(behave)]);
  if (upload?.chunked === true) pairs.push(["Transfer-Encoding", "chunked"]);
  else pairs.push(["Content-Length", String(upload?.bytes ?? SMALL_BODY.length)]);

  const head = Promise.withResolvers<TransferHead>();
  const response = Promise.withResolvers<Received>();
  const uploaded = Promise.withResolvers<void>();
  for (const { promise } of [head, response, uploaded]) promise.catch(() => undefined);
  const progress = new Progress();

  const outgoing = openHttp({ host: hostname, port, method, path, headers: pairs.flat(), agent: false });
  outgoing.setNoDelay(true);
  let answered = false;
  outgoing.on("response", (incoming) => {
    answered = true;
    head.resolve(headOf(incoming));
    incoming.on("close", () => progress.end());
    response.resolve(receive(incoming, progress));
  });
  // After the head, what breaks is the body: `complete` tells of it.
  outgoing.on("error", (error) => {
    head.reject(error);
    uploaded.reject(error);
    if (answered) return;
    response.reject(error);
    progress.end();
  });
  outgoing.on("close", () => uploaded.reject(new Error("the connection has ended")));
  write(outgoing, upload).then(uploaded.resolve, uploaded.reject);

  return {
    head: head.promise,
    response: response.promise,
    uploaded: uploaded.promise,
    received: (bytes) => progress.reach(bytes),
    reset: () => void outgoing.socket?.resetAndDestroy(),
  };
}

const SMALL_BODY = '{"amount":1}';

async function write(outgoing: ClientRequest, upload: Upload | undefined): Promise<void> {
  if (upload === undefined) {
    outgoing.end(SMALL_BODY);
    return;
  }
  const { stopAfterBytes = null } = upload;
  let left = stopAfterBytes ?? upload.bytes;
  outgoing.flushHeaders();
  for (const piece of uploadPieces(upload)) {
    if (left <= 0) break;
    await new Promise<void>((resolve, reject) => {
      outgoing.write(piece.subarray(0, left), (error) => (error ? reject(error) : resolve()));
    });
    left -= piece.length;
  }
  if (stopAfterBytes === null) outgoing.end();
}

export function* uploadPieces({ seed, bytes, lastByteChanged = false }: Upload): Generator<Buffer, void> {
  let at = 0;
  for (const piece of generateBytes(seed, bytes)) {
    at += piece.length;
    const last = piece.length - 1;
    if (lastByteChanged && at === bytes) piece.writeUInt8((piece.readUInt8(last) + 1) % 256, last);
    yield piece;
  }
}

export function digestOfGenerated({ seed, bytes }: Generated): string {
  return digestOf(generateBytes(seed, bytes));
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): TransferHead {
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return { status: statusCode ?? 0, statusText: statusMessage ?? "", headers };
}

function receive(incoming: IncomingMessage, progress: Progress): Promise<Received> {
  const hash = createHash("sha256");
  let text = "";
  return new Promise((resolve) => {
    incoming.on("data", (bytes: Buffer) => {
      hash.update(bytes);
      if (text.length < TEXT_BYTES) text += bytes.toString("latin1", 0, TEXT_BYTES - text.length);
      progress.add(bytes.length);
    });
    incoming.on("error", () => undefined);
    incoming.on("close", () => {
      const { bytes } = progress;
      resolve({ ...headOf(incoming), bytes, sha256: hash.digest("hex"), text, complete: incoming.complete });
    });
  });
}

class Progress {
  bytes = 0;
  #ended = false;
  readonly #waiting = new Set<() => void>();

  add(bytes: number): void {
    this.bytes += bytes;
    for (const check of this.#waiting) check();
  }

  end(): void {
    this.#ended = true;
    for (const check of this.#waiting) check();
  }

  reach(bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        if (this.bytes < bytes && !this.#ended) return;
        this.#waiting.delete(check);
        if (this.bytes >= bytes) resolve();
        else reject(new Error(`the response ended after ${this.bytes} of ${bytes} bytes`));
      };
      this.#waiting.add(check);
      check();
    });
  }
}
