// A client that sends everything before it reads anything, as simple clients do (RFC 9112, section 9.6). It writes the whole
// body first, however early the answer comes. If the connection breaks meanwhile, it has no answer.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { HeaderPair } from "../http.ts";
import { createResponseParser, type RawResponse } from "../http-response.ts";

export interface DeafRequest {
  readonly path: string;
  readonly key: string;
  readonly headers?: readonly HeaderPair[];
  readonly bytes: number;
  readonly chunked?: boolean;
}

const PIECE = Buffer.alloc(64 * 1024, "0123456789abcdef");
const PATIENCE_MS = 60_000;

/** The answer; `null` when the connection broke before all of the request was sent, or before there was an answer. */
export async function sendDeaf(url: string, request: DeafRequest): Promise<RawResponse | null> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const broken = Promise.withResolvers<null>();
  socket.on("error", () => broken.resolve(null));
  const timer = setTimeout(() => socket.destroy(new Error("the exchange took too long")), PATIENCE_MS);
  try {
    return await Promise.race([broken.promise, exchange(socket, request)]);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

async function exchange(socket: Socket, request: DeafRequest): Promise<RawResponse | null> {
  await once(socket, "connect");
  for (const piece of requestPieces(socket, request)) {
    if (!socket.write(piece)) await once(socket, "drain");
  }
  // A socket without a listener reads nothing.
  const parser = createResponseParser("POST");
  const ended = Promise.withResolvers<void>();
  socket.on("data", (bytes) => {
    parser.push(bytes);
    if (parser.isDone()) ended.resolve();
  });
  socket.on("end", () => {
    parser.close();
    ended.resolve();
  });
  await ended.promise;
  return parser.response();
}

function* requestPieces(socket: Socket, { path, key, headers = [], bytes, chunked = false }: DeafRequest) {
  const pairs: HeaderPair[] = [
    ["Host", `${socket.remoteAddress}:${socket.remotePort}`],
    ["Idempotency-Key", key],
    ...headers,
    chunked ? ["Transfer-Encoding", "chunked"] : ["Content-Length", String(bytes)],
  ];
  yield `POST ${path} HTTP/1.1\r\n${pairs.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  for (let left = bytes; left > 0; left -= PIECE.length) {
    const piece = PIECE.subarray(0, left);
    if (chunked) yield `${piece.length.toString(16)}\r\n`;
    yield piece;
    if (chunked) yield "\r\n";
  }
  if (chunked) yield "0\r\n\r\n";
}
