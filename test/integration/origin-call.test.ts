// What an origin says of its answer's length: only what is certain becomes the length of what the client gets, since a body of
// any other length breaks there.

import { describe, expect, it } from "vitest";
import type { Origin } from "../../src/config/resolved.ts";
import { callOrigin } from "../../src/shard/origin-call.ts";
import { Reachability } from "../../src/shard/reachability.ts";

const NETWORK: Origin = { kind: "url", url: "http://127.0.0.1:9" };
const BINDING: Origin = { kind: "binding", binding: "API" };

async function lengthOf(origin: Origin, headers: Readonly<Record<string, string>>): Promise<number | null> {
  const target = { fetch: () => Promise.resolve(new Response("hello", { headers })) };
  const call = { origin, method: "POST", url: "http://127.0.0.1:9/", headers: [], body: null };
  const known = { has: () => false, add: () => undefined };
  const reachability = new Reachability(new Map(), known);
  const outcome = await callOrigin({ ...call, timeoutMs: 1000, idleTimeoutMs: 1000 }, target, reachability);
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
