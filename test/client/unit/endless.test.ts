// Answers that never end, from a real server: whoever answers at the gateway's address may not take the caller's memory.

import { once as untilEvent } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ClaimFailedError, createFetch, once } from "../../../src/client/index.ts";
import { MAX_CLAIM_BYTES, MAX_PROBLEM_BYTES } from "../../../src/client/read-answer.ts";
import { HELD_BYTES } from "../../../src/client/send.ts";

const PIECE = Buffer.alloc(1 << 16, " ");
/** What the system and the runtime may have taken that nobody has read. */
const ON_THE_WAY = 16 << 20;

let server: Server;
let url: string;
/** For each path, how many bytes it has sent, and whether its connection has been closed. */
const sent = new Map<string, { bytes: number; readonly closed: Promise<unknown> }>();

beforeAll(async () => {
  server = createServer((request, response) => {
    const [, kind = "", name = ""] = (request.url ?? "").split("/");
    const one = { bytes: 0, closed: untilEvent(response, "close") };
    sent.set(name, one);
    const type = kind === "problem" ? "application/problem+json" : "application/json";
    response.writeHead(kind === "problem" ? 400 : 200, { "Content-Type": type });
    const more = (): void => {
      if (response.destroyed) return;
      one.bytes += PIECE.byteLength;
      if (response.write(PIECE)) setImmediate(more);
      else response.once("drain", more);
    };
    request.resume();
    more();
  });
  server.listen(0, "127.0.0.1");
  await untilEvent(server, "listening");
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function bytesOf(name: string): Promise<number> {
  const one = sent.get(name);
  await one?.closed;
  return one?.bytes ?? 0;
}

it("a claim whose answer never ends is given up, and its connection closed", async () => {
  const options = { group: "billing", token: "t", url: `${url}/claims`, tries: 1 };
  await expect(once(options, "k", "p", async () => "done")).rejects.toThrow(ClaimFailedError);
  expect(await bytesOf("billing")).toBeLessThan(MAX_CLAIM_BYTES + ON_THE_WAY);
});

it("a problem that never ends is none: its status decides", async () => {
  const response = await createFetch()(`${url}/problem/p1`, { method: "POST", body: "{}" });
  expect(response.status).toBe(400);
  await response.body?.cancel();
  expect(await bytesOf("p1")).toBeLessThan(MAX_PROBLEM_BYTES + ON_THE_WAY);
});

it("an answer that never ends comes to the caller as it comes, who may leave it", async () => {
  const response = await createFetch()(`${url}/answer/a1`, { method: "POST", body: "{}" });
  expect(response.status).toBe(200);
  await response.body?.cancel();
  const bytes = await bytesOf("a1");
  expect(bytes).toBeGreaterThanOrEqual(HELD_BYTES);
  expect(bytes).toBeLessThan(HELD_BYTES + ON_THE_WAY);
});
