// A proxy between a client and the gateway that loses answers: the gateway has sent a whole one, and the client's connection is
// reset before or inside it. It also records what passed through it, which the origin cannot see.

import { createServer, request as openRequest } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen } from "../origin-server.ts";

export interface Passage {
  /** `Idempotency-Key` as it was sent; `null` for none. */
  readonly key: string | null;
  /** Of the gateway's answer; `null` while there is none. */
  status: number | null;
}

export interface LossyProxy {
  readonly url: string;
  readonly port: number;
  /** Loses the next answer: `"whole"` before its first byte, `"half"` inside its body. */
  loseAnswer(how: "whole" | "half"): void;
  /** Resets the connections of all who wait for an answer. */
  resetWaiting(): void;
  /** Every request since the start or the last call of `forget`. */
  passages(): readonly Readonly<Passage>[];
  forget(): void;
  close(): Promise<void>;
}

export async function startLossyProxy(gatewayPort: number): Promise<LossyProxy> {
  const losses: ("whole" | "half")[] = [];
  const waiting = new Set<IncomingMessage>();
  let passages: Passage[] = [];

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const passage: Passage = { key: request.headers["idempotency-key"]?.toString() ?? null, status: null };
    passages.push(passage);
    waiting.add(request);
    const answer = await ask(gatewayPort, request, response);
    const body = await buffer(answer);
    waiting.delete(request);
    passage.status = answer.statusCode ?? null;
    const loss = losses.shift();
    if (loss === "whole") return void request.socket.resetAndDestroy();
    const headers = [...endToEnd(answer.rawHeaders), "Content-Length", String(body.length)];
    response.writeHead(answer.statusCode ?? 502, headers);
    if (loss === undefined) return void response.end(body);
    response.write(body.subarray(0, Math.floor(body.length / 2)), () => request.socket.destroySoon());
  }

  const server = createServer((request, response) => {
    pass(request, response).catch(() => request.socket.resetAndDestroy());
  });
  const { port } = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    loseAnswer: (how) => void losses.push(how),
    resetWaiting() {
      for (const request of waiting) request.socket.resetAndDestroy();
      waiting.clear();
    },
    passages: () => passages,
    forget: () => void (passages = []),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** On a connection of its own. */
function ask(port: number, request: IncomingMessage, response: ServerResponse): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method, url, rawHeaders: headers } = request;
    const asked = openRequest({ host: "127.0.0.1", port, method, path: url, headers, agent: false }, resolve);
    asked.on("error", reject);
    // A client that leaves the proxy also leaves the gateway.
    response.once("close", () => asked.destroy());
    request.pipe(asked);
  });
}

/** The proxy frames the body itself. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  return pairs(rawHeaders)
    .filter(([name]) => !/^(?:connection|keep-alive|transfer-encoding|content-length)$/i.test(name))
    .flat();
}

function pairs(rawHeaders: readonly string[]): (readonly [string, string])[] {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  return names.map((name, index) => [name, rawHeaders[index * 2 + 1] ?? ""]);
}
