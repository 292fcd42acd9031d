// When an issuer's keys are fetched, and which are used meanwhile, over hours of a clock that the test moves.

import { createLocalJWKSet, exportJWK, generateKeyPair } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  FAILED_MS,
  FRESH_MS,
  type FoundKeySet,
  KeySet,
  UNKNOWN_MS,
  USABLE_MS,
} from "../../../../src/kernel/request/key-set.ts";

const { publicKey } = await generateKeyPair("ES256");
const JWK = { ...(await exportJWK(publicKey)), kid: "k" };

type Answer = () => Promise<Response>;

const good: Answer = async () => Response.json({ keys: [JWK] });
const failing: Answer = async () => new Response(null, { status: 500 });
/** Ends when the gateway gives up, as the runtime's `fetch` does. */
const hanging =
  (signal: AbortSignal | null | undefined): Answer =>
  () =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(new Error("aborted")));
    });

function issuer(): { set: KeySet<unknown>; fetches: () => number; be: (answer: Answer | "hanging") => void } {
  let fetches = 0;
  let answer: Answer | "hanging" = good;
  const network = {
    fetch: (_: Request | string, init?: RequestInit): Promise<Response> => {
      fetches += 1;
      return (answer === "hanging" ? hanging(init?.signal) : answer)();
    },
  };
  return {
    set: new KeySet("https://login.example.com/jwks", { network, waitUntil: () => undefined }, createLocalJWKSet),
    fetches: () => fetches,
    be: (next) => {
      answer = next;
    },
  };
}

const kindOf = async (keys: Promise<FoundKeySet<unknown>>): Promise<FoundKeySet<unknown>["kind"]> => (await keys).kind;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("an issuer's keys", () => {
  it("are fetched once for all who need them at once, and again when they are no longer fresh", async () => {
    const { set, fetches } = issuer();
    const all = await Promise.all(Array.from({ length: 20 }, () => set.keys()));
    expect(all.every(({ kind }) => kind === "keys")).toBe(true);
    vi.advanceTimersByTime(FRESH_MS - 1);
    await set.keys();
    expect(fetches()).toBe(1);
    vi.advanceTimersByTime(1);
    await set.keys();
    expect(fetches()).toBe(2);
  });

  it("outlive an outage, up to a bound", async () => {
    const { set, fetches, be } = issuer();
    await set.keys();
    be(failing);
    vi.advanceTimersByTime(USABLE_MS - 1);
    expect(await kindOf(set.keys())).toBe("keys");
    expect(fetches()).toBe(2);
    // While it fails it is asked seldom.
    for (let requests = 0; requests < 50; requests += 1) await set.keys();
    expect(fetches()).toBe(2);
    vi.advanceTimersByTime(FAILED_MS);
    expect(await kindOf(set.keys())).toBe("unavailable");
    expect(fetches()).toBe(3);
    be(good);
    vi.advanceTimersByTime(FAILED_MS);
    expect(await kindOf(set.keys())).toBe("keys");
  });

  it("that are known make only the first request wait for an issuer that hangs", async () => {
    const { set, be, fetches } = issuer();
    await set.keys();
    vi.advanceTimersByTime(FRESH_MS);
    be("hanging");
    const first = set.keys();
    expect(await kindOf(set.keys())).toBe("keys");
    await vi.advanceTimersByTimeAsync(5000);
    expect(await kindOf(first)).toBe("keys");
    expect(fetches()).toBe(2);
  });

  it("that nobody knows yet are waited for, and only so long", async () => {
    const { set, be, fetches } = issuer();
    be("hanging");
    const waiting = [set.keys(), set.keys()].map(kindOf);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await Promise.all(waiting)).toEqual(["unavailable", "unavailable"]);
    expect(await set.keys()).toEqual({ kind: "unavailable", retryAfterMs: FAILED_MS });
    vi.advanceTimersByTime(FAILED_MS - 1);
    expect(await set.keys()).toEqual({ kind: "unavailable", retryAfterMs: 1 });
    expect(fetches()).toBe(1);
  });

  it("are fetched at once for a token with an unknown key, and then not for a while", async () => {
    const { set, fetches } = issuer();
    await set.keys();
    expect(await kindOf(set.newerKeys())).toBe("keys");
    for (let requests = 0; requests < 50; requests += 1) {
      expect(await kindOf(set.newerKeys())).toBe("unavailable");
    }
    vi.advanceTimersByTime(UNKNOWN_MS - 1);
    expect(await set.newerKeys()).toEqual({ kind: "unavailable", retryAfterMs: 1 });
    expect(fetches()).toBe(2);
    vi.advanceTimersByTime(1);
    expect(await kindOf(set.newerKeys())).toBe("keys");
    expect(fetches()).toBe(3);
  });

  it.each<readonly [string, Answer]>([
    ["no keys", async () => Response.json({})],
    ["too many keys", async () => Response.json({ keys: Array.from({ length: 101 }, () => JWK) })],
    ["keys that are none", async () => Response.json({ keys: ["a"] })],
    ["a list", async () => Response.json([JWK])],
    ["a redirect", async () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } })],
    ["too many bytes", async () => Response.json({ keys: [JWK], padding: "x".repeat(300_000) })],
  ])("are not taken from an answer with %s, which leaves the ones of before", async (_, answer) => {
    const { set, be } = issuer();
    await set.keys();
    be(answer);
    vi.advanceTimersByTime(FRESH_MS);
    expect(await set.keys()).toMatchObject({ kind: "keys", isNew: false });
    vi.advanceTimersByTime(USABLE_MS);
    expect(await kindOf(set.keys())).toBe("unavailable");
  });
});
