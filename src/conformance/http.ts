// A raw HTTP/1.1 client over TCP or TLS, for exact bytes: odd targets, repeated or malformed headers, connections that are reset
// midway. It sends what it is given and checks nothing. One request per connection.

import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { createResponseParser } from "./http-response.ts";
import type { HeaderPair, RawHead, RawResponse } from "./http-response.ts";

export interface RawRequest {
  readonly host: string;
  readonly port: number;
  /** TLS with the certificates that Node trusts; plain TCP by default. */
  readonly isSecure?: boolean;
  /** The local address; the system's choice by default. */
  readonly from?: string;
  readonly method: string;
  /** The request target, byte for byte: also `*`, absolute URLs, unescaped characters. */
  readonly target: string;
  /**
   * Sent in this order and case. `Host`, `Connection: close` and the framing of `body` are added unless a header of that
   * name is given; `bare` adds nothing.
   */
  readonly headers?: readonly HeaderPair[];
  readonly body?: Buffer | string;
  /** Sends the body with chunked encoding. */
  readonly chunked?: boolean;
  readonly bare?: boolean;
  /** Timeout of the whole exchange; 30 s by default. */
  readonly timeoutMs?: number;
  /** The most that may come back; 64 MiB by default. */
  readonly maxBytes?: number;
}

/** Nothing came in time. Other errors say that the connection was refused or lost. */
export class NoAnswerError extends Error {
  constructor(timeoutMs: number) {
    super(`nothing came within ${timeoutMs / 1_000} s`);
  }
}

export interface OpenRequest {
  /** Resolves once the connection is open and the head (and the body, if given) is written. */
  readonly sent: Promise<void>;
  /** Rejects if the connection ends before the headers do. */
  readonly head: Promise<RawHead>;
  /** Rejects as `head` does; an unfinished body is `complete: false`, not a rejection. */
  readonly response: Promise<RawResponse>;
  /** Resolves with the first bytes of the answer's body; rejects as `response` does, and when a whole answer has none. */
  readonly piece: Promise<void>;
  /** Sends more bytes of the request unchanged, for a body that was only announced. */
  write(bytes: Buffer | string): void;
  /** Stops reading until `resume` and keeps the connection open, so the sender has to wait. */
  pause(): void;
  resume(): void;
  /** Ends the connection with a reset (RST), like a client that crashes; with TLS, without its closing words. */
  reset(): void;
}

export function rawRequest(request: RawRequest): Promise<RawResponse> {
  return openRequest(request).response;
}

export function openRequest(request: RawRequest): OpenRequest {
  const parser = createResponseParser(request.method);
  const sent = promiseWithResolvers<void>();
  const head = promiseWithResolvers<RawHead>();
  const response = promiseWithResolvers<RawResponse>();
  const piece = promiseWithResolvers<void>();
  let hasPiece = false;
  // A caller awaits only the promises that it needs; rejections of the others must not count as unhandled.
  for (const { promise } of [sent, head, response, piece]) promise.catch(() => {});

  const socket = openSocket(request);
  const timeoutMs = request.timeoutMs ?? 30_000;
  const deadline = setTimeout(() => fail(new NoAnswerError(timeoutMs)), timeoutMs);

  function fail(error: Error): void {
    clearTimeout(deadline);
    socket.destroy();
    sent.reject(error);
    head.reject(error);
    response.reject(error);
    piece.reject(error);
  }

  function finish(): void {
    clearTimeout(deadline);
    socket.destroy();
    const received = parser.response();
    if (received === null) fail(new Error("the connection ended before the response's headers"));
    else response.resolve(received);
    piece.reject(new Error("the answer has no body"));
  }

  socket.setNoDelay(true);
  socket.on(request.isSecure === true ? "secureConnect" : "connect", () => {
    socket.write(requestBytes(request), (error) => {
      if (error === undefined || error === null) sent.resolve();
    });
  });
  let left = request.maxBytes ?? 64 << 20;
  socket.on("data", (bytes) => {
    left -= bytes.length;
    try {
      if (left < 0) throw new Error("the answer is too large");
      parser.push(bytes);
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    const received = parser.head();
    if (received !== null) head.resolve(received);
    if (!hasPiece && (parser.response()?.body.length ?? 0) > 0) {
      hasPiece = true;
      piece.resolve();
    }
    if (parser.isDone()) finish();
  });
  socket.on("end", () => {
    parser.close();
    finish();
  });
  // A reset in the middle of a body makes the response incomplete; before the headers it is a failure.
  socket.on("error", (error) => (parser.head() === null ? fail(error) : finish()));
  socket.on("close", () => finish());

  return {
    sent: sent.promise,
    head: head.promise,
    response: response.promise,
    piece: piece.promise,
    write: (bytes) => void socket.write(bytes),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    // Node resets TCP only; a connection of TLS ends without a word, which a server cannot take for a client that waits either.
    reset: () => void (request.isSecure === true ? socket.destroy() : socket.resetAndDestroy()),
  };
}

function openSocket({ host, port, from, isSecure = false }: RawRequest): Socket {
  const where = { host, port, ...(from === undefined ? {} : { localAddress: from }) };
  // An address is no server's name (RFC 6066, section 3).
  const name = isIP(host) === 0 ? { servername: host } : {};
  return isSecure ? connectTls({ ...where, ...name, ALPNProtocols: ["http/1.1"] }) : connect(where);
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
}

/** `Promise.withResolvers`, which Node 20 lacks. */
export function promiseWithResolvers<T>(): Deferred<T> {
  let settle: Omit<Deferred<T>, "promise"> = { resolve: () => undefined, reject: () => undefined };
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

/** The request's bytes. Header text is Latin-1: each character is one byte. */
export function requestBytes(request: RawRequest): Buffer {
  const given = request.headers ?? [];
  const has = (name: string): boolean => given.some(([candidate]) => candidate.toLowerCase() === name);
  const body = request.body === undefined ? null : Buffer.from(request.body);
  const added: HeaderPair[] = [];
  if (request.bare !== true) {
    if (!has("host")) added.push(["Host", `${request.host}:${request.port}`]);
    if (!has("connection")) added.push(["Connection", "close"]);
    if (request.chunked === true && !has("transfer-encoding")) added.push(["Transfer-Encoding", "chunked"]);
    const isFramed = request.chunked === true || has("content-length") || has("transfer-encoding");
    if (body !== null && !isFramed) added.push(["Content-Length", String(body.length)]);
  }
  const lines = [...added, ...given].map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${request.method} ${request.target} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1");
  if (body === null) return head;
  return Buffer.concat([head, request.chunked === true ? chunkedBody(body) : body]);
}

/** Uses two chunks if possible, so that the reader must join them. */
function chunkedBody(body: Buffer): Buffer {
  const half = Math.ceil(body.length / 2);
  const chunks = [body.subarray(0, half), body.subarray(half)].filter((chunk) => chunk.length > 0);
  const framed = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...framed, Buffer.from("0\r\n\r\n")]);
}
