// An origin of raw bytes: it records each request's bytes, and answers with the bytes of its case. A request names its case in
// a header.

import { createHash } from "node:crypto";
import { createServer, type Socket } from "node:net";
import type { HeaderPair } from "../http.ts";

export const CASE_HEADER = "X-Case";

/** What an origin does once it has read a request. */
export interface WireAnswer {
  /** One character for each byte. */
  readonly bytes: string;
  /** What becomes of the connection then. */
  readonly after: "stays" | "ends" | "is reset" | "is a WebSocket";
}

export interface WireRequest {
  readonly method: string;
  readonly target: string;
  /** Wire order and case; one character for each byte. */
  readonly headers: readonly HeaderPair[];
  readonly body: string;
  readonly trailers: string;
}

export interface WireOrigin {
  readonly url: string;
  readonly port: number;
  answer(id: string, answer: WireAnswer): void;
  /** What has come of a case. */
  requests(id: string): readonly WireRequest[];
  close(): Promise<void>;
}

export async function startWireOrigin(): Promise<WireOrigin> {
  const answers = new Map<string, WireAnswer>();
  const seen = new Map<string, WireRequest[]>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    const reader = new RequestReader();
    socket.on("data", (bytes) => {
      for (const request of reader.push(bytes)) {
        const id = valueOf(request, CASE_HEADER);
        seen.set(id, [...(seen.get(id) ?? []), request]);
        give(socket, request, answers.get(id) ?? { bytes: "HTTP/1.1 500 No such case\r\n\r\n", after: "ends" });
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    answer: (id, answer) => void answers.set(id, answer),
    requests: (id) => seen.get(id) ?? [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function valueOf({ headers }: Pick<WireRequest, "headers">, name: string): string {
  return headers.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1] ?? "";
}

function give(socket: Socket, request: WireRequest, { bytes, after }: WireAnswer): void {
  switch (after) {
    case "stays":
      socket.write(bytes, "latin1");
      return;
    case "ends":
      socket.end(bytes, "latin1");
      return;
    case "is reset":
      // What was written comes first.
      socket.write(bytes, "latin1", () => setTimeout(() => socket.resetAndDestroy(), 20));
      return;
    case "is a WebSocket": {
      // RFC 6455, section 4.2.2.
      const accept = createHash("sha1")
        .update(`${valueOf(request, "sec-websocket-key")}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest("base64");
      socket.write(`${bytes}Sec-WebSocket-Accept: ${accept}\r\n\r\n`, "latin1");
      // "hi", then a close with the status 1000.
      socket.end("\x81\x02hi\x88\x02\x03\xe8", "latin1");
      return;
    }
  }
}

/** Reads requests off a connection, one after the other (RFC 9112). */
class RequestReader {
  #pending = "";

  push(bytes: Buffer): readonly WireRequest[] {
    this.#pending += bytes.toString("latin1");
    const requests: WireRequest[] = [];
    for (let request = this.#take(); request !== null; request = this.#take()) requests.push(request);
    return requests;
  }

  #take(): WireRequest | null {
    const end = this.#pending.indexOf("\r\n\r\n");
    if (end < 0) return null;
    const [line = "", ...lines] = this.#pending.slice(0, end).split("\r\n");
    const headers = lines.map((one): HeaderPair => {
      const colon = one.indexOf(":");
      return [one.slice(0, colon), one.slice(colon + 1).trim()];
    });
    const rest = this.#pending.slice(end + 4);
    const content = /chunked/i.test(valueOf({ headers }, "transfer-encoding"))
      ? chunksOf(rest)
      : sliceOf(rest, Number(valueOf({ headers }, "content-length")));
    if (content === null) return null;
    this.#pending = rest.slice(content.length);
    const [method = "", target = ""] = line.split(" ");
    return { method, target, headers, body: content.body, trailers: content.trailers };
  }
}

interface Content {
  readonly body: string;
  readonly trailers: string;
  /** On the wire. */
  readonly length: number;
}

function sliceOf(text: string, length: number): Content | null {
  return text.length < length ? null : { body: text.slice(0, length), trailers: "", length };
}

function chunksOf(text: string): Content | null {
  let body = "";
  for (let at = 0; ;) {
    const end = text.indexOf("\r\n", at);
    if (end < 0) return null;
    const size = Number.parseInt(text.slice(at, end), 16);
    if (size === 0) {
      const last = text.indexOf("\r\n\r\n", end);
      return last < 0 ? null : { body, trailers: text.slice(end + 2, last), length: last + 4 };
    }
    const from = end + 2;
    if (text.length < from + size + 2) return null;
    body += text.slice(from, from + size);
    at = from + size + 2;
  }
}
