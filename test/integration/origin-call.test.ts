// What an origin says of its answer's length: only what is certain becomes the length of what the client gets, since a body of
// any other length breaks there.

import { describe, expect, it, vi } from "vitest";
import type { Origin } from "../../src/config/resolved.ts";
import { callOrigin } from "../../src/shard/origin-call.ts";
import { Reachability } from "../../src/shard/reachability.ts";
import { Timers } from "../../src/shard/timers.ts";

const NETWORK: Origin = { kind: "url", url: "http://127.0.0.1:9" };
const BINDING: Origin = { kind: "binding", binding: "API" };

async function lengthOf(origin: Origin, headers: Readonly<Record<string, string>>): Promise<number | null> {
  const target = { fetch: () => Promise.resolve(new Response("hello", { headers })) };
  const call = { origin, method: "POST", url: "http://127.0.0.1:9/", headers: [], body: null };
  const known = { has: () => false, add: () => undefined };
  const reachability = new Reachability(new Map(), known);
  const outcome = await callOrigin({ ...call, timeoutMs: 1000, idleTimeoutMs: 1000 }, target, {
    reachability,
    timers: new Timers(),
  });
  if (!("next" in outcome)) throw new Error(`the call ended: ${outcome.kind}`);
  outcome.cancel();
  return outcome.length;
}

describe("the length of an origin's answer", () => {
  it("is what Content-Length says over the network", async () => {
    expect(await lengthOf(NETWORK, { "content-length": "5" })).toBe(5);
    expect(await lengthOf(NETWORK, { "content-length": "0" })).toBe(0);
    expect(await lengthOf(NETWORK, {})).toBeNull();
  });

  it("is not known where Transfer-Encoding overrides it (RFC 9112, section 6.3)", async () => {
    expect(await lengthOf(NETWORK, { "content-length": "5", "transfer-encoding": "chunked" })).toBeNull();
  });

  it.each(["9007199254740992", "18446744073709551617", "5, 5", "-1", "5.0", "0x5", ""])(
    "is not known where it is %j, of which nobody can count the bytes",
    async (length) => {
      expect(await lengthOf(NETWORK, { "content-length": length })).toBeNull();
    },
  );

  it("is not known of a binding, whose Worker may have put another body under the headers", async () => {
    expect(await lengthOf(BINDING, { "content-length": "5" })).toBeNull();
  });
});

it("leaves no timer behind when the last byte has come: a pending one keeps the object in memory", async () => {
  const pending = new Set<unknown>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  vi.stubGlobal("setTimeout", (run: () => void, ms: number) => {
    const timer: unknown = set(run, ms);
    pending.add(timer);
    return timer;
  });
  vi.stubGlobal("clearTimeout", (timer: ReturnType<typeof set>) => {
    pending.delete(timer);
    clear(timer);
  });
  try {
    for (const headers of [{ "content-length": "5" }, {}]) {
      const target = { fetch: () => Promise.resolve(new Response("hello", { headers })) };
      const call = { origin: NETWORK, method: "POST", url: "http://127.0.0.1:9/", headers: [], body: null };
      const reachability = new Reachability(
        new Map([["127.0.0.1:9", { telling: false, doubtful: false, trialsLeft: 0 }]]),
        {
          has: () => false,
          add: () => undefined,
        },
      );
      const outcome = await callOrigin({ ...call, timeoutMs: 9000, idleTimeoutMs: 9000 }, target, {
        reachability,
        timers: new Timers(),
      });
      if (!("next" in outcome)) throw new Error(`the call ended: ${outcome.kind}`);
      expect(pending.size).toBe(1);
      while ((await outcome.next()).kind !== "whole");
      expect(pending.size).toBe(0);
    }
  } finally {
    vi.unstubAllGlobals();
  }
});
