// An origin that decodes a path before it routes it, as some servers and proxies do. A key that decodes to a path would make it
// answer a question about something else, and that answer would become the operation's.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { posix } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { clientOf, removeGateway, startGateway } from "../../../support/e2e/scene.ts";
import { expectGiven, expectHeld, SETTINGS, VERIFY } from "../../../support/e2e/verify-scene.ts";

/** What it was asked for, as it reads it. */
const asked: string[] = [];
const effects: string[] = [];

const server: Server = createServer((request, response) => {
  if (request.method === "POST") {
    effects.push(String(request.headers["idempotency-key"]));
    request.socket.destroy();
    return;
  }
  const path = posix.normalize(decodeURIComponent(request.url ?? ""));
  asked.push(path);
  response.end(`the answer to ${path}`);
});

let gateway: Gateway;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  gateway = await startGateway(`http://127.0.0.1:${portOf(server.address())}`, SETTINGS, [
    { path: "/*", ...VERIFY, verify: "/v1/by-key/{key}", lock: "10m" },
  ]);
});
afterAll(async () => {
  await removeGateway(gateway);
  server.close();
});

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === "string") throw new TypeError("a port was expected");
  return address.port;
}

it.each(["../../x", "..\\..\\x", "%2e%2e/%2e%2e/x", "x?y", "x;y"])(
  "is never asked about a key that it would read as a path: %s",
  async (key) => {
    const client = clientOf(gateway.url);
    asked.length = 0;
    await client.send({ path: "/act", key });
    expectHeld(await client.send({ path: "/act", key }), key);
    expect(asked).toEqual([]);
    expect(effects.filter((one) => one === key)).toHaveLength(1);
  },
);

it("is asked about every other key, each by its own path", async () => {
  const client = clientOf(gateway.url);
  const key = `order:${freshKey()}`;
  asked.length = 0;
  await client.send({ path: "/act", key });
  expectGiven(await client.send({ path: "/act", key }), 200, `the answer to /v1/by-key/${key}`);
  expect(asked).toEqual([`/v1/by-key/${key}`]);
});
