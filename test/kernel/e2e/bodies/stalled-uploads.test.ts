// Clients that stop inside their request's body, or send a byte now and then: they are given up after `idle_timeout`, wherever the body is
// read, and take nothing from others meanwhile.

import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endpoint, freshKey, rawRequest } from "../../../support/http.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

const SHORT = { timeout: "2s", lock: "4s", idle_timeout: "1s" };

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ scope: ["none"], shards: 1 }, [
    { path: "/short/*", ...SHORT },
    { path: "/flows/*", ...SHORT, fingerprint: { body: "none" } },
    { path: "/found/*", ...SHORT, key_from: ["json:/id"] },
    { path: "/patient/*", key_from: ["json:/id"] },
  ]);
});
afterAll(() => scene.close());

/** A request of which only `sent` bytes of `length` come; `null` announces no length. */
function begin(path: string, key: string | null, length: number | null, sent: number): Socket {
  const socket = connect(endpoint(scene.gateway.url));
  const keyLine = key === null ? "" : `Idempotency-Key: ${key}\r\n`;
  const framing = length === null ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  const type = "Content-Type: application/json";
  socket.write(`POST ${path} HTTP/1.1\r\nHost: api.example.com\r\n${keyLine}${type}\r\n${framing}\r\n\r\n`);
  const body = Buffer.alloc(sent, " ");
  socket.write(
    length === null ? Buffer.concat([Buffer.from(`${sent.toString(16)}\r\n`), body, Buffer.from("\r\n")]) : body,
  );
  return socket;
}

/** All that comes back until the connection ends. */
async function answerOf(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("latin1").on("data", (more: string) => (text += more));
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

const KIB = 1024;

describe("a client that stands still inside its body", () => {
  it.each([
    ["small", "/short/pay", 100, 50],
    ["small, in chunks", "/short/pay", null, 50],
    ["of some size", "/short/pay", 500 * KIB, 100 * KIB],
    ["large", "/short/pay", 3000 * KIB, 1500 * KIB],
    ["in which a key may be", "/found/pay", 500 * KIB, 100 * KIB],
    ["small, in which a key may be", "/found/pay", 100, 50],
  ])("%s gets 408 in time, and may send it again", async (_, path, length, sent) => {
    const key = path.startsWith("/found") ? null : freshKey();
    const text = await answerOf(begin(path, key, length, sent));
    expect(text.split("\r\n")[0]).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('"code":"request-invalid"');
    expect(text).toContain('"retryable":true');
    if (key === null) return;
    const again = { ...endpoint(scene.gateway.url), method: "POST", target: path, body: "{}" };
    expect((await rawRequest({ ...again, headers: [["Idempotency-Key", key]] })).status).toBe(201);
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("is given up also if it sends a byte now and then", async () => {
    const socket = begin("/short/pay", freshKey(), 100, 1);
    const trickle = setInterval(() => socket.write(" "), 200);
    const text = await answerOf(socket);
    clearInterval(trickle);
    expect(text.split("\r\n")[0]).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("whose body flows to the origin is unknown, and its call ends", async () => {
    const text = await answerOf(begin("/flows/pay", freshKey(), 100 * KIB, 50 * KIB));
    expect(text).toMatch(/^HTTP\/1\.1 50[24] /);
  });

  it("takes no memory from others with keys in their bodies: the slowest is refused first", async () => {
    const still = Array.from({ length: 40 }, () => begin("/patient/pay", null, 1000 * KIB, 900 * KIB));
    for (const socket of still) socket.on("error", () => undefined);
    try {
      const pay = async (): Promise<number> => {
        const body = `{"id":"${freshKey()}","more":"${"x".repeat(200 * KIB)}"}`;
        const headers = [["Content-Type", "application/json"]] as const;
        const sent = { ...endpoint(scene.gateway.url), method: "POST", target: "/patient/pay", headers, body };
        return (await rawRequest(sent)).status;
      };
      // As long as the uploads still arrive, a payment may be the slowest itself.
      await expect.poll(pay).toBe(201);
      for (let count = 0; count < 20; count += 1) expect(await pay()).toBe(201);
    } finally {
      for (const socket of still) socket.resetAndDestroy();
    }
  });
});
