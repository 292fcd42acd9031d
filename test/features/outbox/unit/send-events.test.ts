// How events leave: what a webhook's receiver gets, and what its answers mean. The receiver is a real server that verifies with the
// standard's own library.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Destination } from "../../../../src/kernel/config/resolved.ts";
import { LONGEST_PAUSE_MS } from "../../../../src/kernel/record/outbox.ts";
import { durationMs } from "../../../../src/kernel/record/units.ts";
import { batchOf, sendEvents } from "../../../../src/features/outbox/send-events.ts";
import { listen } from "../../../support/origin-server.ts";

const ENV = { NEW: `whsec_${btoa("1".repeat(32))}`, OLD: `whsec_${btoa("2".repeat(32))}`, BAD: "whsec_%%%" };
const EVENT = { id: "5f0c-0", event: '{"id":"5f0c-0"}' };
const REST = { alerts: [], console: null, giveUpAfterMs: durationMs(1000), keepDeadMs: durationMs(1000) };

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let url = "";
let received: Received[] = [];
const accept = (response: ServerResponse): void => void response.writeHead(204).end();
let answer = accept;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    answer(response);
  });
});

beforeAll(async () => {
  const { port } = await listen(server, 0);
  url = `http://127.0.0.1:${port}/hooks`;
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  received = [];
  answer = accept;
});

function hook(secrets: readonly string[] = ["NEW"]): Destination {
  return { name: "billing", target: { kind: "webhook", url, secrets }, ...REST };
}

function queue(binding = "QUEUE"): Destination {
  return { name: "audit", target: { kind: "queue", binding }, ...REST };
}

describe("a webhook", () => {
  it("gets an event that its receiver can verify, with each of the secrets while they change", async () => {
    expect(await sendEvents(hook(["NEW", "OLD"]), [EVENT], ENV, new Date())).toEqual({ kind: "accepted" });
    const [{ headers, body } = { headers: {}, body: "" }] = received;
    expect(headers).toMatchObject({ "content-type": "application/cloudevents+json", "webhook-id": EVENT.id });
    const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    for (const secret of [ENV.NEW, ENV.OLD]) {
      expect(new Webhook(secret).verify(body, given)).toEqual({ id: EVENT.id });
    }
    expect(() => new Webhook(btoa("3".repeat(32))).verify(body, given)).toThrow("No matching signature");
  });

  it.each([
    [500, {}, { reason: "status 500", retryAfterMs: null, scope: "lane" }],
    [503, { "retry-after": "120" }, { reason: "status 503", retryAfterMs: 120_000, scope: "lane" }],
    [410, {}, { reason: "status 410", retryAfterMs: LONGEST_PAUSE_MS, scope: "lane" }],
    [409, { "retry-after": "2" }, { reason: "status 409", retryAfterMs: 2000, scope: "event" }],
    [422, {}, { reason: "status 422", retryAfterMs: null, scope: "event" }],
    [401, {}, { reason: "status 401", retryAfterMs: null, scope: "lane" }],
    [302, { location: "/elsewhere" }, { reason: "status 302", retryAfterMs: null, scope: "lane" }],
  ])("that answers %i has not taken the event", async (status, headers, failure) => {
    answer = (response) => void response.writeHead(status, headers).end("body");
    expect(await sendEvents(hook(), [EVENT], ENV, new Date())).toEqual({ kind: "failed", ...failure });
    // In particular, it is not asked elsewhere.
    expect(received).toHaveLength(1);
  });

  it("that breaks off, or is not there, has not taken the event either", async () => {
    answer = (response) => response.destroy();
    expect(await sendEvents(hook(), [EVENT], ENV, new Date())).toMatchObject({ kind: "failed", scope: "destination" });
    const nowhere: Destination = {
      ...hook(),
      target: { kind: "webhook", url: "http://127.0.0.1:9/", secrets: ["NEW"] },
    };
    expect(await sendEvents(nowhere, [EVENT], ENV, new Date())).toMatchObject({ kind: "failed", scope: "destination" });
  });

  it("is not called without a secret that signs", async () => {
    for (const name of ["MISSING", "BAD"]) {
      const sent = await sendEvents(hook([name]), [EVENT], ENV, new Date());
      expect(sent).toMatchObject({ kind: "failed" });
      expect(JSON.stringify(sent)).not.toContain("%%%");
    }
    expect(received).toEqual([]);
  });

  it("gets one event at a time", () => {
    expect(batchOf(hook()).events).toBe(1);
  });
});

describe("a queue", () => {
  it("gets a batch of the texts that are stored, to the digit", async () => {
    const batches: unknown[] = [];
    const QUEUE = { sendBatch: (messages: unknown) => Promise.resolve(batches.push(messages)) };
    const large = '{"id":"5f0c-1","data":{"sum":1e20,"id":12345678901234567890}}';
    const events = [EVENT, { id: "5f0c-1", event: large }];
    expect(await sendEvents(queue(), events, { QUEUE }, new Date())).toEqual({ kind: "accepted" });
    expect(batches).toEqual([
      [
        { body: EVENT.event, contentType: "text" },
        { body: large, contentType: "text" },
      ],
    ]);
    expect(batchOf(queue())).toEqual({ events: 100, bytes: 250_000 });
  });

  it("that does not answer within twenty seconds has taken nothing", async () => {
    vi.useFakeTimers();
    const QUEUE = { sendBatch: () => new Promise(() => undefined) };
    const sent = sendEvents(queue(), [EVENT], { QUEUE }, new Date());
    await vi.advanceTimersByTimeAsync(20_000);
    vi.useRealTimers();
    expect(await sent).toMatchObject({ kind: "failed", scope: "destination", reason: "no answer within 20 s" });
  });

  it("that fails, or is not bound, has taken nothing", async () => {
    const QUEUE = { sendBatch: () => Promise.reject(new Error("Queue sendBatch failed")) };
    expect(await sendEvents(queue(), [EVENT], { QUEUE }, new Date())).toMatchObject({
      kind: "failed",
      reason: "Error: Queue sendBatch failed",
      scope: "lane",
    });
    expect(await sendEvents(queue("OTHER"), [EVENT], { QUEUE }, new Date())).toMatchObject({
      kind: "failed",
      reason: "the binding OTHER does not exist",
      scope: "destination",
    });
  });
});
