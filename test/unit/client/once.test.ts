import { describe, expect, it } from "vitest";
import {
  ClaimFailed,
  InDoubt,
  InFlight,
  Mismatch,
  NothingHappened,
  once,
  type OnceContext,
  type OnceOptions,
  Superseded,
} from "../../../src/client/index.ts";
import { payloadHash } from "../../../src/client/claim-calls.ts";
import { virtualClock } from "./virtual-clock.ts";

const LOCK_MS = 10_000;

/** What the gateway does with one call: an answer, a status with a code, or no answer. */
type Step = Readonly<Record<string, unknown>> | number | "lost";

interface Call {
  readonly operation: string;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly atMs: number;
}

const GRANTED: Step = { state: "granted", attempt: 3, lockedForMs: LOCK_MS };
const SETTLED: Step = { state: "settled" };
const OPTIONS = { group: "billing", token: "t", url: "http://gateway.test/_claims/" };

/** `steps` by operation; the last one repeats. */
function scene(steps: Readonly<Record<string, readonly Step[]>>, options: Partial<OnceOptions> = {}) {
  const clock = virtualClock();
  const startMs = clock.now();
  const calls: Call[] = [];
  const send = async (...[input, init]: Parameters<typeof fetch>): Promise<Response> => {
    const request = new Request(input, init);
    const operation = new URL(request.url).pathname.replace("/_claims/billing", "").slice(1);
    const { claims }: { claims: readonly [Call["entry"]] } = JSON.parse(await request.text());
    expect(request.headers.get("authorization")).toBe("Bearer t");
    const number = calls.filter((one) => one.operation === operation).length;
    calls.push({ operation, entry: claims[0], atMs: clock.now() - startMs });
    const own = steps[operation] ?? [SETTLED];
    const step = own[Math.min(number, own.length - 1)] ?? SETTLED;
    if (step === "lost") throw new TypeError("fetch failed");
    if (typeof step === "number") return Response.json({ code: "claim-invalid" }, { status: step });
    return Response.json({ claims: [step] });
  };
  return {
    calls,
    clock,
    operations: () => calls.map(({ operation }) => operation || "claim"),
    elapsedMs: () => clock.now() - startMs,
    sleep: (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve)),
    run: <T>(handler: (context: OnceContext) => Promise<T>) =>
      clock.settle(once({ ...OPTIONS, clock, fetch: send, ...options }, "k1", { b: 1, a: 2 }, handler)),
  };
}

describe("once", () => {
  it("claims, calls the handler with its attempt, and completes with the result", async () => {
    const { run, calls, operations } = scene({ "": [GRANTED] }, { lockMs: 5000, holder: "node-1" });
    const done = await run(async ({ attempt }) => ({ charged: attempt }));
    expect(done).toEqual({ result: { charged: 3 }, replayed: false, completedAt: null });
    expect(operations()).toEqual(["claim", "complete"]);
    const [claim, complete] = calls.map(({ entry }) => entry);
    expect(claim).toMatchObject({
      key: "k1",
      lockMs: 5000,
      holder: "node-1",
      payloadHash: await payloadHash({ a: 2, b: 1 }),
    });
    expect(complete).toEqual({ key: "k1", attemptId: claim?.["attemptId"], result: { charged: 3 } });
  });

  it("gives an earlier result without calling the handler", async () => {
    const completed = { state: "completed", attempt: 1, completedAt: "2026-11-21T08:30:00.000Z", result: [1] };
    const { run } = scene({ "": [completed] });
    const handler = (): Promise<number[]> => Promise.reject(new Error("called"));
    expect(await run(handler)).toEqual({ result: [1], replayed: true, completedAt: completed.completedAt });
  });

  it("asks through a service binding, whatever the host", async () => {
    const urls: string[] = [];
    const binding = {
      fetch: async (...[input]: Parameters<typeof fetch>): Promise<Response> => {
        urls.push(new Request(input).url);
        return Response.json({ claims: [urls.length === 1 ? GRANTED : SETTLED] });
      },
    };
    await once({ group: "mail", token: "t", binding }, "k", "p", async () => undefined);
    expect(urls).toEqual(["https://gateway/_claims/mail", "https://gateway/_claims/mail/complete"]);
  });

  it.each([
    [{ state: "in-flight", retryAfterMs: 700 }, InFlight],
    [{ state: "unknown" }, InDoubt],
    [{ state: "mismatch" }, Mismatch],
    [{ state: "news" }, ClaimFailed],
  ])("does not call the handler after %o", async (answer, error) => {
    const { run, operations } = scene({ "": [answer] });
    await expect(run(() => Promise.reject(new Error("called")))).rejects.toBeInstanceOf(error);
    expect(operations()).toEqual(["claim"]);
  });

  it("sends a call whose answer is lost again, with the same attempt", async () => {
    const { run, calls, operations } = scene({
      "": ["lost", 503, { state: "unavailable" }, GRANTED],
      complete: ["lost", SETTLED],
    });
    expect(await run(async () => 1)).toMatchObject({ result: 1 });
    expect(operations()).toEqual(["claim", "claim", "claim", "claim", "complete", "complete"]);
    expect(new Set(calls.map(({ entry }) => entry["attemptId"])).size).toBe(1);
  });

  it("does not repeat what the gateway refuses, and gives up in the end", async () => {
    const refused = scene({ "": [401] });
    await expect(refused.run(async () => 1)).rejects.toMatchObject({ name: "ClaimFailed", code: "claim-invalid" });
    expect(refused.operations()).toEqual(["claim"]);
    const lost = scene({ "": ["lost"] });
    await expect(lost.run(async () => 1)).rejects.toMatchObject({ name: "ClaimFailed", code: null });
    expect(lost.operations()).toHaveLength(4);
  });

  it("is in doubt if it has acted and cannot say so, and superseded if another has begun", async () => {
    await expect(scene({ "": [GRANTED], complete: ["lost"] }).run(async () => 1)).rejects.toBeInstanceOf(InDoubt);
    const late = scene({ "": [GRANTED], complete: [{ state: "superseded" }] });
    await expect(late.run(async () => 1)).rejects.toBeInstanceOf(Superseded);
  });

  it("releases what the handler throws: with no effect only if it says so", async () => {
    for (const [thrown, effect] of [
      [new NothingHappened("not mine"), "none"],
      [new Error("broken\npipe ü"), "unknown"],
    ] as const) {
      const { run, calls, operations } = scene({ "": [GRANTED], release: ["lost"] });
      await expect(run(() => Promise.reject(thrown))).rejects.toBe(thrown);
      expect(operations().slice(0, 2)).toEqual(["claim", "release"]);
      expect(calls[1]?.entry).toMatchObject({ effect });
      expect(String(calls[1]?.entry["reason"])).toMatch(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/);
    }
  });
});

describe("the lock", () => {
  it("is extended at half its time, as often as it takes, and no longer than the handler works", async () => {
    const { run, calls, sleep, operations } = scene({ "": [GRANTED], extend: [GRANTED] });
    await run(async ({ signal }) => {
      await sleep(22_000);
      expect(signal.aborted).toBe(false);
    });
    expect(operations()).toEqual(["claim", "extend", "extend", "extend", "extend", "complete"]);
    const extended = calls.filter(({ operation }) => operation === "extend");
    expect(extended.map(({ atMs }) => atMs)).toEqual([5000, 10_000, 15_000, 20_000]);
  });

  it("tells the handler to stop 20% before it would end, if it cannot be extended", async () => {
    const { run, sleep, elapsedMs, operations } = scene({ "": [GRANTED], extend: ["lost"] });
    let abortedAtMs = 0;
    await run(async ({ signal }) => {
      signal.addEventListener("abort", () => (abortedAtMs = elapsedMs()));
      await sleep(30_000);
      expect(signal.reason).toBeInstanceOf(Superseded);
    });
    expect(abortedAtMs).toBe(8000);
    // At 5, 6 and 7 seconds.
    expect(operations().filter((one) => one === "extend")).toHaveLength(3);
  });

  it("goes on if one extension fails and the next does not", async () => {
    const { run, sleep } = scene({ "": [GRANTED], extend: ["lost", "lost", GRANTED] });
    await run(async ({ signal }) => {
      await sleep(14_000);
      expect(signal.aborted).toBe(false);
    });
  });

  it("tells the handler at once when it is lost", async () => {
    const { run, sleep, elapsedMs } = scene({ "": [GRANTED], extend: [{ state: "superseded" }] });
    let abortedAtMs = 0;
    await run(async ({ signal }) => {
      signal.addEventListener("abort", () => (abortedAtMs = elapsedMs()));
      await sleep(9000);
    });
    expect(abortedAtMs).toBe(5000);
  });
});

describe("the hash of a payload", () => {
  it("is the same for the same JSON in any order, and another for anything else", async () => {
    const one = await payloadHash({ a: 1, b: { c: [1, 2], d: null } });
    expect(await payloadHash({ b: { d: null, c: [1, 2] }, a: 1 })).toBe(one);
    for (const other of [{ a: 1 }, { a: 1, b: { c: [2, 1], d: null } }, "a", new Uint8Array([97, 1]), null]) {
      expect(await payloadHash(other)).not.toBe(one);
    }
    expect(await payloadHash("a")).toBe(await payloadHash(new Uint8Array([97])));
    await expect(payloadHash(undefined)).rejects.toThrow("has no JSON form");
  });
});
