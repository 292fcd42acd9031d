// The declared length of an origin's answer: only a reliable one becomes the length for the client, because a body of any
// other length would break there.

import { connect } from "cloudflare:sockets";
import { describe, expect, it, vi } from "vitest";
import type { Origin } from "../../../../src/kernel/config/resolved.ts";
import { callOrigin, type OriginResponse } from "../../../../src/kernel/object/origin-call.ts";
import { OriginReachability } from "../../../../src/kernel/object/reachability.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";

const NETWORK: Origin = { kind: "url", url: "http://127.0.0.1:9" };
const BINDING: Origin = { kind: "binding", binding: "API" };

async function lengthOf(origin: Origin, headers: Readonly<Record<string, string>>): Promise<number | null> {
  const target = { fetch: () => Promise.resolve(new Response("hello", { headers })) };
  const call = {
    origin,
    method: "POST",
    names: { keyHash: "" },
    url: "http://127.0.0.1:9/",
    headers: [],
    body: null,
    totalMs: null,
  };
  const known = { has: () => false, add: () => undefined };
  const timers = new ObjectTimers();
  const reachability = new OriginReachability(new Map(), known, timers, connect);
  const outcome = await callOrigin({ ...call, timeoutMs: 1000, idleTimeoutMs: 1000 }, target, {
    reachability,
    timers,
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

  it("is unknown if Transfer-Encoding overrides it (RFC 9112, section 6.3)", async () => {
    expect(await lengthOf(NETWORK, { "content-length": "5", "transfer-encoding": "chunked" })).toBeNull();
  });

  it.each(["9007199254740992", "18446744073709551617", "5, 5", "-1", "5.0", "0x5", ""])(
    "is unknown if Content-Length is %j, which is invalid or too large to count",
    async (length) => {
      expect(await lengthOf(NETWORK, { "content-length": length })).toBeNull();
    },
  );

  it("is unknown for a binding, whose Worker may send another body under the headers", async () => {
    expect(await lengthOf(BINDING, { "content-length": "5" })).toBeNull();
  });
});

/** A call whose body comes as the test says, and the number of pending runtime timers after each step. */
async function pendingIn(
  body: BodyInit,
  headers: Readonly<Record<string, string>>,
  steps: (outcome: OriginResponse) => Promise<void>,
): Promise<{ readonly before: number; readonly after: number }> {
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
    const target = { fetch: () => Promise.resolve(new Response(body, { headers })) };
    const call = {
      names: { keyHash: "" },
      origin: NETWORK,
      method: "POST",
      url: "http://127.0.0.1:9/",
      headers: [],
      body: null,
      totalMs: null,
    };
    const reach = { canProbe: false, uncertain: false, trialsLeft: 0 };
    const known = { has: () => false, add: () => undefined };
    const timers = new ObjectTimers();
    const outcome = await callOrigin({ ...call, timeoutMs: 9000, idleTimeoutMs: 9000 }, target, {
      reachability: new OriginReachability(new Map([["127.0.0.1:9", reach]]), known, timers, connect),
      timers,
    });
    if (!("next" in outcome)) throw new Error(`the call ended: ${outcome.kind}`);
    const before = pending.size;
    await steps(outcome);
    return { before, after: pending.size };
  } finally {
    vi.unstubAllGlobals();
  }
}

describe("no timer is left behind, since a pending one keeps the object in memory,", () => {
  it.each([
    ["of the length that was told", { "content-length": "5" }],
    ["of a length that was not told", {}],
  ])("when the last byte of a body has come, %s", async (_what, headers) => {
    const counts = await pendingIn("hello", headers, async (outcome) => {
      // The caller reads no more than was sent.
      let left = outcome.length ?? Number.POSITIVE_INFINITY;
      while (left > 0) {
        const piece = await outcome.next();
        if (piece.kind !== "bytes") break;
        left -= piece.bytes.byteLength;
      }
    });
    expect(counts).toEqual({ before: 1, after: 0 });
  });

  it("when there is no body to wait for", async () => {
    const counts = await pendingIn("", { "content-length": "0" }, async (outcome) => {
      expect(await outcome.next()).toEqual({ kind: "whole" });
    });
    expect(counts).toEqual({ before: 1, after: 0 });
  });

  it("when the body breaks off", async () => {
    const { readable, writable } = new IdentityTransformStream();
    const counts = await pendingIn(readable, {}, async (outcome) => {
      await writable.abort(new Error("broken"));
      expect(await outcome.next()).toEqual({ kind: "dropped" });
    });
    expect(counts).toEqual({ before: 1, after: 0 });
  });

  it("when the rest is not needed", async () => {
    const counts = await pendingIn("hello", {}, (outcome) => Promise.resolve(outcome.cancel()));
    expect(counts).toEqual({ before: 1, after: 0 });
  });
});
