// Answers whose Content-Length is not the length of their body: over the network, where Transfer-Encoding overrides it, and
// from a binding whose Worker sends another body under the headers that it got. A body is whole when it has ended; the first
// client and every replay get exactly that body, or see that it broke off.

import { createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { expectReplay } from "../../../support/e2e/problem.ts";
import { clientOf, removeGateway, until } from "../../../support/e2e/scene.ts";
import { openStream } from "../../../support/e2e/stream-client.ts";
import { isReplay } from "../../../support/e2e/stream-scene.ts";

/** A Worker behind a binding: the path says which headers it gives its two-part body. */
const WORKER = `export default {
  async fetch(request) {
    const { readable, writable } = new TransformStream();
    const send = async () => {
      const writer = writable.getWriter();
      const encoder = new TextEncoder();
      await writer.write(encoder.encode("hello "));
      // Longer than the gateway waits for more bytes to send with the first ones.
      await scheduler.wait(200);
      await writer.write(encoder.encode("world"));
      await writer.close();
    };
    void send().catch(() => undefined);
    const length = new URL(request.url).pathname.split("/").at(-1);
    return new Response(readable, { headers: { "content-length": length } });
  },
};`;

let gateway: Gateway;
/** The connection of a request, controlled by the test. */
let takeConnection: () => Promise<Socket>;
const server = createServer();
beforeAll(async () => {
  const ready: Socket[] = [];
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    // The gateway also opens connections on which it sends nothing, and uses one again.
    socket.on("data", (bytes) => {
      if (bytes.includes("POST ")) ready.push(socket);
    });
  });
  server.on("close", () => {
    for (const socket of sockets) socket.destroy();
  });
  takeConnection = () => until(() => Promise.resolve(ready.shift() ?? null), "a request at the origin");
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: `http://127.0.0.1:${address.port}`, shards: 1, unknown: "hold", timeout: "5s" },
      ROUTES: [{ path: "/network" }, { path: "/binding/*", origin: { binding: "API" } }],
    },
    extraBindings: ['(name = "API", service = "api")'],
    extraServices: [
      `(name = "api", worker = (modules = [(name = "api", esModule = ${JSON.stringify(WORKER)})], compatibilityDate = "2026-10-01"))`,
    ],
  });
});
afterAll(async () => {
  await removeGateway(gateway);
  await new Promise((resolve) => {
    server.close(resolve);
    server.emit("close");
  });
});

describe("an answer over the network", () => {
  it.each(["3", "10", "1000"])("in chunks, under a Content-Length of %s, is as long as its chunks", async (length) => {
    const request = { path: "/network", key: freshKey() };
    const first = openStream(gateway.url, request);
    const socket = await takeConnection();
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`);
    await first.untilText("hello");
    socket.write("5\r\nworld\r\n0\r\n\r\n");
    expect(await first.end).toMatchObject({ complete: true, bytes: Buffer.from("helloworld") });
    const replay = openStream(gateway.url, request);
    expect(isReplay(await replay.head)).toBe(true);
    expect(await replay.end).toMatchObject({ complete: true, bytes: Buffer.from("helloworld") });
  });

  it.each(["9007199254740993", "9007199254740992"])(
    "of %s bytes, too many to count, is streamed, and breaks off when the origin does",
    async (length) => {
      const first = openStream(gateway.url, { path: "/network", key: freshKey() });
      const socket = await takeConnection();
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\nhello`);
      await first.untilText("hello");
      socket.destroy();
      expect(await first.end).toMatchObject({ complete: false, bytes: Buffer.from("hello") });
    },
  );
});

it.each(["5", "11", "50"])("a binding's answer under a Content-Length of %s is as long as its body", async (length) => {
  const message = { path: `/binding/${length}`, key: freshKey() };
  const first = await clientOf(gateway.url).send(message);
  expect({ ...first, body: first.body.toString() }).toMatchObject({ status: 200, complete: true, body: "hello world" });
  expectReplay(await clientOf(gateway.url).send(message), first);
});
