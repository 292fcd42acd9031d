// An origin whose answers are written by the test itself, piece by piece: the next piece does not exist before the test
// sends it. So what a client has seen by then came from what was sent before, and no test needs to sleep.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../origin-server.ts";
import { stallSometimes } from "../stalls.ts";

type Header = readonly [name: string, value: string];

/** The answer to one request, written by the test. */
export interface Streaming {
  /** Sends the status line and the headers; chunked, unless there is a `Content-Length` among them. */
  begin(headers: readonly Header[], status?: number): void;
  /** Resolves when the bytes have been handed to the system: a receiver that does not read holds it up. Rejects when it ends the connection. */
  write(bytes: Uint8Array | string): Promise<void>;
  /** The clean end. Resolves when all has been handed to the system, or the receiver has ended the connection. */
  end(): Promise<void>;
  /** Ends the connection in the middle of the body; what was written before arrives. */
  cut(): void;
  /** Ends the connection with a reset (RST), as a process that crashes does. */
  reset(): void;
  /** Whether the receiver has ended the connection before the answer was whole. */
  wasCut(): boolean;
}

export interface StreamOrigin {
  readonly url: string;
  /** The answer to the next request with this key, which may be on its way; in the order of their arrival. */
  take(key: string): Promise<Streaming>;
  /** How many requests have come with this key: each is an effect. */
  effects(key: string): number;
  close(): Promise<void>;
}

interface Arrivals {
  count: number;
  readonly waiting: ((streaming: Streaming) => void)[];
  readonly ready: Streaming[];
}

const PATIENCE_MS = 10_000;

export async function startStreamOrigin(): Promise<StreamOrigin> {
  const byKey = new Map<string, Arrivals>();
  const arrivalsOf = (key: string): Arrivals => {
    const known = byKey.get(key) ?? { count: 0, waiting: [], ready: [] };
    byKey.set(key, known);
    return known;
  };
  const limits = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 };
  const server = createServer(limits, (request, response) => {
    const arrive = async (): Promise<void> => {
      const arrivals = arrivalsOf(keyOf(request));
      arrivals.count += 1;
      const streaming = streamingOf(request, response);
      await stallSometimes();
      const taker = arrivals.waiting.shift();
      if (taker === undefined) arrivals.ready.push(streaming);
      else taker(streaming);
    };
    request.resume().on("end", () => void arrive());
  });
  const { port } = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    take(key) {
      const arrivals = arrivalsOf(key);
      const ready = arrivals.ready.shift();
      if (ready !== undefined) return Promise.resolve(ready);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no request with the key ${key} has come`)), PATIENCE_MS);
        arrivals.waiting.push((streaming) => {
          clearTimeout(timer);
          resolve(streaming);
        });
      });
    },
    effects: (key) => byKey.get(key)?.count ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function keyOf({ headers }: IncomingMessage): string {
  const key = headers["idempotency-key"];
  if (typeof key !== "string") throw new TypeError("a request without a key");
  return key;
}

function streamingOf({ socket }: IncomingMessage, response: ServerResponse): Streaming {
  socket.setNoDelay(true);
  let cut = false;
  response.on("close", () => (cut = !response.writableFinished));
  response.on("error", () => undefined);
  return {
    begin(headers, status = 200) {
      response.sendDate = false;
      response.writeHead(
        status,
        headers.flatMap(([name, value]) => [name, value]),
      );
      response.flushHeaders();
    },
    write: (bytes) =>
      new Promise((resolve, reject) => {
        // Node never calls back for what is written after the connection has ended and before the answer knows of it.
        const leave = (): void => reject(new Error("the receiver has ended the connection"));
        response.once("close", leave);
        response.write(bytes, (error) => {
          response.off("close", leave);
          if (error === undefined || error === null) resolve();
          else reject(error);
        });
      }),
    end: () =>
      new Promise((resolve) => {
        response.once("close", () => resolve());
        response.end(() => resolve());
      }),
    cut: () => socket.destroySoon(),
    reset: () => void socket.resetAndDestroy(),
    wasCut: () => cut,
  };
}
