// A client that observes a response while it arrives: what has come so far, and how it ends. It reads at the speed that the
// test sets, over a separate connection.

import { createHash } from "node:crypto";
import { type IncomingMessage, request as httpRequest } from "node:http";
import type { HeaderPair } from "../http.ts";

export interface StreamRequest {
  readonly path: string;
  readonly key: string;
  readonly headers?: readonly HeaderPair[];
  readonly body?: string;
  /** Reads nothing of the body until `resume`, apart from what the system buffers. */
  readonly paused?: boolean;
  /** Keeps only count and digest of what it reads. */
  readonly digestOnly?: boolean;
}

export interface StreamHead {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
}

export interface StreamEnd {
  readonly bytes: Buffer;
  readonly size: number;
  readonly sha256: string;
  /** False: the connection ended before the body did. */
  readonly complete: boolean;
}

export interface StreamReader {
  readonly head: Promise<StreamHead>;
  /** What has been read so far. */
  text(): string;
  size(): number;
  /** Resolves as soon as so many bytes have been read; rejects when the body ends before. */
  untilSize(bytes: number): Promise<void>;
  /** Resolves as soon as exactly this has been read; rejects as soon as it can no longer be. */
  untilText(text: string): Promise<void>;
  readonly end: Promise<StreamEnd>;
  pause(): void;
  resume(): void;
  /** Ends the connection with a reset. */
  reset(): void;
}

const PATIENCE_MS = 15_000;

export function openStream(url: string, request: StreamRequest): StreamReader {
  const head = Promise.withResolvers<StreamHead>();
  const end = Promise.withResolvers<StreamEnd>();
  for (const { promise } of [head, end]) promise.catch(() => undefined);
  const pieces: Buffer[] = [];
  const hash = createHash("sha256");
  let size = 0;
  let ended = false;
  let response: IncomingMessage | null = null;
  let isPaused = request.paused === true;
  const watchers = new Set<() => void>();
  const text = (): string => Buffer.concat(pieces).toString();
  const notify = (): void => {
    for (const watcher of watchers) watcher();
  };

  const { hostname, port } = new URL(url);
  const outgoing = httpRequest({
    agent: false,
    host: hostname,
    port,
    method: "POST",
    path: request.path,
    headers: [
      "Host",
      `${hostname}:${port}`,
      "Idempotency-Key",
      request.key,
      ...(request.headers ?? []).flat(),
      "Content-Length",
      String(Buffer.byteLength(request.body ?? "{}")),
      "Connection",
      "close",
    ],
  });
  const fail = (error: Error): void => {
    head.reject(error);
    finish(false);
  };
  const finish = (complete: boolean): void => {
    if (ended) return;
    ended = true;
    end.resolve({ bytes: Buffer.concat(pieces), size, sha256: hash.digest("hex"), complete });
    notify();
  };
  outgoing.on("error", fail);
  outgoing.on("response", (incoming) => {
    response = incoming;
    const { rawHeaders } = incoming;
    const headers = rawHeaders.flatMap((name, at): HeaderPair[] =>
      at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""]] : [],
    );
    incoming.on("data", (piece: Buffer) => {
      if (request.digestOnly !== true) pieces.push(piece);
      hash.update(piece);
      size += piece.byteLength;
      notify();
    });
    if (isPaused) incoming.pause();
    incoming.on("end", () => finish(incoming.complete));
    incoming.on("error", () => finish(false));
    incoming.on("close", () => finish(incoming.complete));
    head.resolve({ status: incoming.statusCode ?? 0, headers });
  });
  // Bytes, not text: text would be sent together with the headers, and in its own encoding.
  outgoing.end(Buffer.from(request.body ?? "{}"));

  const until = (isThere: () => boolean, canBe: () => boolean, what: () => string): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        watchers.delete(check);
      };
      const check = (): void => {
        if (isThere()) {
          leave();
          resolve();
        } else if (ended || !canBe()) {
          leave();
          reject(new Error(what()));
        }
      };
      const timer = setTimeout(() => {
        leave();
        reject(new Error(`${what()} (gave up waiting)`));
      }, PATIENCE_MS);
      watchers.add(check);
      check();
    });

  return {
    head: head.promise,
    text,
    size: () => size,
    untilSize: (bytes) =>
      until(
        () => size >= bytes,
        () => true,
        () => `${size} bytes came, not ${bytes}`,
      ),
    untilText: (wanted) =>
      until(
        () => text() === wanted,
        () => wanted.startsWith(text()),
        () => `came: ${JSON.stringify(text())}, not ${JSON.stringify(wanted)}`,
      ),
    end: end.promise,
    pause() {
      isPaused = true;
      response?.pause();
    },
    resume() {
      isPaused = false;
      response?.resume();
    },
    reset: () => void outgoing.socket?.resetAndDestroy(),
  };
}
