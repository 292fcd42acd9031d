import { describe, expect, it } from "vitest";
import { type ReplayRequest, ReplayCache, SMALL_BODY_BYTES } from "../../../../src/kernel/request/replay-cache.ts";

const NOW = 1_800_000_000_000;

const asked = (over: Partial<ReplayRequest> = {}): ReplayRequest => ({
  recordId: "r",
  fingerprint: "f",
  echo: '"k"',
  ...over,
});

function replay(body: string | null, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(body, {
    status: body === null ? 204 : 201,
    headers: {
      "idempotency-expires": new Date(NOW + 3_600_000).toUTCString(),
      "idempotent-replayed": "true",
      "idempotency-key": '"k"',
      "idempotency-small": "true",
      "x-own": "1",
      ...headers,
    },
  });
}

async function shown(response: Response | null): Promise<unknown> {
  if (response === null) return null;
  return [response.status, Object.fromEntries(response.headers), await response.text()];
}

describe("a record that is asked for", () => {
  it("is asked for again the second time, and each time after that", () => {
    const memory = new ReplayCache();
    expect(["a", "b", "a", "a", "b"].map((id) => memory.isAskedAgain(id))).toEqual([false, false, true, true, true]);
  });

  it("is forgotten after some thousands of others, so that what is asked for once takes little memory", () => {
    const memory = new ReplayCache();
    const ids = Array.from({ length: 20_000 }, (_, at) => `record ${at}`);
    expect(ids.filter((id) => memory.isAskedAgain(id))).toEqual([]);
    expect(ids.filter((id) => memory.isAskedAgain(id))).toEqual([]);
  });

  it("is remembered beside two thousand others", () => {
    const memory = new ReplayCache();
    memory.isAskedAgain("early");
    for (let at = 0; at < 2000; at += 1) memory.isAskedAgain(`record ${at}`);
    expect(memory.isAskedAgain("early")).toBe(true);
  });
});

describe("a replay that is remembered", () => {
  it("equals the shard's, with the key as each client sent it, and without the internal mark", async () => {
    const memory = new ReplayCache();
    const given = await shown(await memory.keep(replay("body"), asked(), NOW));
    const again = await shown(memory.find(asked(), NOW + 1));
    expect(again).toEqual(given);
    expect(given).toEqual([201, expect.not.objectContaining({ "idempotency-small": "true" }), "body"]);
    expect(memory.find(asked({ echo: "k" }), NOW)?.headers.get("idempotency-key")).toBe("k");
  });

  it("has no body if the first answer had none", async () => {
    const memory = new ReplayCache();
    await memory.keep(replay(null), asked(), NOW);
    expect(memory.find(asked(), NOW)?.body).toBeNull();
    expect(memory.find(asked(), NOW)?.status).toBe(204);
  });

  it("answers no other record and no other request", async () => {
    const memory = new ReplayCache();
    await memory.keep(replay("body"), asked(), NOW);
    expect(memory.find(asked({ recordId: "other" }), NOW)).toBeNull();
    expect(memory.find(asked({ fingerprint: "other" }), NOW)).toBeNull();
  });

  it.each([
    ["its record expires", 2000, 2000],
    ["half a minute has passed", 3_600_000, 30_000],
  ])("is forgotten when %s", async (_when, expiresInMs, forgottenAfterMs) => {
    const memory = new ReplayCache();
    const expires = new Date(NOW + expiresInMs).toUTCString();
    await memory.keep(replay("body", { "idempotency-expires": expires }), asked(), NOW);
    expect(memory.find(asked(), NOW + forgottenAfterMs - 1)).not.toBeNull();
    expect(memory.find(asked(), NOW + forgottenAfterMs)).toBeNull();
  });

  it("is evicted for others, least recently used first", async () => {
    const memory = new ReplayCache();
    const body = "b".repeat(SMALL_BODY_BYTES);
    await memory.keep(replay(body), asked({ recordId: "first" }), NOW);
    await memory.keep(replay(body), asked({ recordId: "second" }), NOW);
    for (let number = 0; number < 2000; number += 1) {
      expect(memory.find(asked({ recordId: "first" }), NOW)).not.toBeNull();
      await memory.keep(replay(body), asked({ recordId: `other ${number}` }), NOW);
    }
    expect(memory.find(asked({ recordId: "second" }), NOW)).toBeNull();
    expect(memory.find(asked({ recordId: "other 1999" }), NOW)).not.toBeNull();
  });
});

it("answers without the shard's mark are passed on", async () => {
  const memory = new ReplayCache();
  const first = new Response("body", { headers: { "idempotency-expires": new Date(NOW + 1000).toUTCString() } });
  expect(await memory.keep(first, asked(), NOW)).toBe(first);
  expect(memory.find(asked(), NOW)).toBeNull();
});
