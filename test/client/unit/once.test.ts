import { describe, expect, it } from "vitest";
import {
  ClaimFailedError,
  InFlightError,
  KeyReusedError,
  NoEffectError,
  once,
  type OnceContext,
  type OnceOptions,
  OutcomeUnknownError,
  readPosition,
  SupersededError,
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
    // Only the gateway's own refusals have a code.
    if (step === 400) return Response.json({ code: "claim-invalid" }, { status: step });
    if (step === 401) return Response.json({ code: "consumer-unauthorized" }, { status: step });
    if (typeof step === "number")
      return new Response("no", { status: step, headers: step === 429 ? { "retry-after": "3600" } : {} });
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
    expect(done).toEqual({ result: { charged: 3 }, replayed: false, isKept: true, completedAt: null });
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
    expect(await run(handler)).toEqual({
      replayed: true,
      result: [1],
      isKept: true,
      completedAt: completed.completedAt,
    });
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
    [{ state: "in-flight", retryAfterMs: 700 }, InFlightError],
    [{ state: "unknown" }, OutcomeUnknownError],
    [{ state: "mismatch" }, KeyReusedError],
    [{ state: "news" }, ClaimFailedError],
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
    await expect(refused.run(async () => 1)).rejects.toMatchObject({
      name: "ClaimFailedError",
      code: "consumer-unauthorized",
      status: 401,
    });
    expect(refused.operations()).toEqual(["claim"]);
    const lost = scene({ "": ["lost"] });
    await expect(lost.run(async () => 1)).rejects.toMatchObject({ name: "ClaimFailedError", code: null, status: null });
    // The claim may have been granted: nobody else knows that its handler was never called.
    expect(lost.operations()).toEqual([...Array.from({ length: 8 }, () => "claim"), "release"]);
    expect(lost.calls.at(-1)?.entry).toMatchObject({ attemptId: lost.calls[0]?.entry["attemptId"], effect: "none" });
  });

  it("sends a claim again that is put off, after no longer than five seconds", async () => {
    const { run, calls, operations } = scene({ "": [429, 408, 425, GRANTED] });
    await run(async () => 1);
    expect(operations()).toEqual(["claim", "claim", "claim", "claim", "complete"]);
    expect(calls[3]?.atMs).toBeLessThanOrEqual(15_000);
  });

  it("is superseded if another has begun", async () => {
    const late = scene({ "": [GRANTED], complete: [{ state: "superseded" }] });
    await expect(late.run(async () => 1)).rejects.toBeInstanceOf(SupersededError);
  });

  it("releases what the handler throws: with no effect only if it says so", async () => {
    for (const [thrown, effect] of [
      [new NoEffectError("not mine"), "none"],
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

describe("the end of an attempt", () => {
  /** The gateway does not answer from the end of the handler on, for so long. */
  function away(forMs: number, operation: "complete" | "release", answer: Step) {
    const own = scene(
      { "": [GRANTED] },
      {
        fetch: async (...[input, init]) => {
          const request = new Request(input, init);
          const asked = request.url.split("/").at(-1);
          if (asked === "billing") return Response.json({ claims: [GRANTED] });
          if (asked === operation) tries.push(own.elapsedMs());
          if (own.elapsedMs() < forMs) throw new TypeError("fetch failed");
          return Response.json({ claims: [asked === operation ? answer : GRANTED] });
        },
      },
    );
    const tries: number[] = [];
    return { ...own, tries };
  }

  it.each([
    ["5 seconds of a restart, which half a lock outlasts", 5000],
    ["longer than the lock, which no other attempt has taken", 25_000],
  ])("is said until the gateway hears it, though it is away for %s", async (_, forMs) => {
    const completing = away(forMs, "complete", SETTLED);
    expect(await completing.run(async () => 1)).toMatchObject({ result: 1, isKept: true });
    expect(completing.tries.at(-1)).toBeGreaterThanOrEqual(forMs);
    const releasing = away(forMs, "release", { state: "released" });
    await expect(releasing.run(() => Promise.reject(new NoEffectError("x")))).rejects.toThrow("x");
    expect(releasing.tries.at(-1)).toBeGreaterThanOrEqual(forMs);
    // No try is left waiting for long while the lock runs out.
    expect(Math.max(...completing.tries.map((ms, at, all) => ms - (all[at - 1] ?? 0)))).toBeLessThanOrEqual(5000);
  });

  it("is unknown when the gateway has not heard it 30 seconds after the end of the lock, and not before", async () => {
    const { run, elapsedMs, operations } = scene({ "": [GRANTED], complete: ["lost"], extend: ["lost"] });
    await expect(run(async () => 1)).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(elapsedMs()).toBeGreaterThanOrEqual(LOCK_MS + 30_000);
    expect(elapsedMs()).toBeLessThan(LOCK_MS + 36_000);
    expect(operations().at(-1)).toBe("complete");
  });

  it("keeps its lock meanwhile, and aborts no handler that has ended", async () => {
    const { run, operations } = scene({
      "": [GRANTED],
      complete: [...Array.from({ length: 6 }, (): Step => 503), SETTLED],
      extend: [GRANTED],
    });
    let isAborted = false;
    await run(async ({ signal }) => signal.addEventListener("abort", () => (isAborted = true)));
    expect(operations().filter((one) => one === "extend").length).toBeGreaterThan(0);
    expect(operations().at(-1)).toBe("complete");
    expect(isAborted).toBe(false);
    const lost = scene({ "": [GRANTED], complete: [503, 503, 503, 503, 503, 503, SETTLED], extend: ["lost"] });
    await lost.run(async ({ signal }) => signal.addEventListener("abort", () => (isAborted = true)));
    expect(isAborted).toBe(false);
  });

  it("is said again after a refusal that may be one of now", async () => {
    const { run, operations } = scene({ "": [GRANTED], complete: [302, 401, 404, 429, SETTLED] });
    expect(await run(async () => 1)).toMatchObject({ result: 1 });
    expect(operations().filter((one) => one === "complete")).toHaveLength(5);
  });
});

describe("a result that cannot be kept", () => {
  class Receipt {
    readonly total = 1;
  }
  const circle: { self?: unknown } = {};
  circle.self = circle;

  it.each<readonly [string, unknown]>([
    ["more than 64 KiB", "x".repeat(64 * 1024)],
    ["more than 64 KiB of UTF-8", "ü".repeat(40_000)],
    ["a BigInt", { cents: 1n }],
    ["a circle", circle],
    ["a Map", new Map([["a", 1]])],
    ["bytes", new Uint8Array([1])],
    ["NaN", [Number.NaN]],
    ["a function", () => 1],
    ["an instance of a class", new Receipt()],
    ["undefined in a list", [undefined]],
    ["nothing", undefined],
  ])("leaves the completion without it: %s", async (_, value) => {
    const { run, calls, operations } = scene({ "": [GRANTED] });
    const done = await run(async () => value);
    expect(done).toMatchObject({ replayed: false, isKept: false });
    expect(done.result).toBe(value);
    expect(operations()).toEqual(["claim", "complete"]);
    expect(Object.keys(calls[1]?.entry ?? {})).toEqual(["key", "attemptId"]);
  });

  it.each<readonly [string, unknown]>([
    ["64 KiB", "x".repeat(64 * 1024 - 2)],
    ["null", null],
    ["a Date, which says its own text", { at: new Date(0), none: undefined }],
  ])("is none of these: %s", async (_, value) => {
    const { run, calls } = scene({ "": [GRANTED] });
    expect(await run(async () => value)).toMatchObject({ isKept: true });
    expect(calls[1]?.entry["result"]).toEqual(JSON.parse(JSON.stringify(value)));
  });

  it("is left out when the gateway, or a proxy, refuses it", async () => {
    for (const refusal of [400, 413]) {
      const { run, calls } = scene({ "": [GRANTED], complete: [refusal, SETTLED] });
      expect(await run(async () => 1)).toMatchObject({ result: 1, isKept: false });
      expect(calls.slice(1).map(({ entry }) => "result" in entry)).toEqual([true, false]);
    }
  });

  it("is not there for later calls", async () => {
    const { run } = scene({ "": [{ state: "completed", attempt: 1, completedAt: null }] });
    expect(await run(async () => 1)).toEqual({ replayed: true, result: undefined, isKept: false, completedAt: null });
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
      expect(signal.reason).toBeInstanceOf(SupersededError);
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
  });

  it("is of the bytes, whatever holds them", async () => {
    const { buffer } = new Uint8Array([1, 2, 3, 4]);
    const shared = new SharedArrayBuffer(4);
    new Uint8Array(shared).set([1, 2, 3, 4]);
    const hash = await payloadHash(new Uint8Array([1, 2, 3, 4]));
    for (const same of [buffer, new DataView(buffer), new Uint16Array(buffer), shared, Buffer.from([1, 2, 3, 4])]) {
      expect(await payloadHash(same)).toBe(hash);
    }
    expect(await payloadHash(new Uint8Array(buffer, 1, 2))).toBe(await payloadHash(new Uint8Array([2, 3])));
    for (const other of [new ArrayBuffer(4), new ArrayBuffer(0), new Uint16Array([1, 2, 3, 4])]) {
      expect(await payloadHash(other)).not.toBe(hash);
    }
  });

  it("is none of what JSON cannot say, at any depth", async () => {
    class Money {
      readonly #cents: number;
      constructor(cents: number) {
        this.#cents = cents;
      }
      cents(): number {
        return this.#cents;
      }
    }
    const none: readonly unknown[] = [
      undefined,
      new Map([["a", 1]]),
      new Set([1]),
      new WeakMap(),
      1n,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Symbol("a"),
      () => 1,
      new Money(5),
      new Error("x"),
      new Blob(["x"]),
      new FormData(),
      Promise.resolve(1),
      /a/,
      new Boolean(true),
    ];
    for (const value of none) {
      await expect(payloadHash(value)).rejects.toBeInstanceOf(TypeError);
      await expect(payloadHash([value])).rejects.toBeInstanceOf(TypeError);
      if (value !== undefined) await expect(payloadHash({ a: [{ b: value }] })).rejects.toThrow("JSON form");
    }
    for (const bytes of [new ArrayBuffer(1), new Uint8Array(1), new DataView(new ArrayBuffer(1))]) {
      await expect(payloadHash({ bytes })).rejects.toThrow('has no JSON form at "bytes"');
    }
    const circle: { self?: unknown } = {};
    circle.self = circle;
    await expect(payloadHash(circle)).rejects.toBeInstanceOf(TypeError);
    await expect(payloadHash("a\ud800")).rejects.toBeInstanceOf(TypeError);
  });

  it("is of what a value says of itself, and of the members that it has", async () => {
    expect(await payloadHash({ at: new Date(0) })).toBe(await payloadHash({ at: "1970-01-01T00:00:00.000Z" }));
    expect(await payloadHash({ a: 1, b: undefined })).toBe(await payloadHash({ a: 1 }));
    expect(await payloadHash(Object.assign(Object.create(null), { a: 1 }))).toBe(await payloadHash({ a: 1 }));
  });

  it("calls no gateway with a payload that has none", async () => {
    const { calls } = scene({});
    await expect(once({ ...OPTIONS }, "k", new Set([1]), async () => 1)).rejects.toBeInstanceOf(TypeError);
    expect(calls).toEqual([]);
  });
});

describe("claims of one partition", () => {
  const at = (offset: number, partition = 0) => ({ stream: "orders", partition, offset });

  /** Answers each claim when a test says so. */
  function partitions() {
    const clock = virtualClock();
    const sent: { readonly offset: number; readonly previous: number | null; readonly answer: (step: Step) => void }[] =
      [];
    const send: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      if (request.method === "GET") return Response.json({ next: null });
      if (!request.url.endsWith("/billing")) return Response.json({ claims: [SETTLED] });
      const { claims }: { claims: readonly [{ position: { offset: number; previous: number | null } }] } = JSON.parse(
        await request.text(),
      );
      const { offset, previous } = claims[0].position;
      const step = await new Promise<Step>((resolve) => void sent.push({ offset, previous, answer: resolve }));
      if (step === "lost") throw new TypeError("fetch failed");
      return Response.json({ claims: [step] });
    };
    const options = { ...OPTIONS, clock, fetch: send, tries: 1, tryMs: 1_000_000_000 };
    const call = (position: ReturnType<typeof at> & { previous?: number }): Promise<unknown> =>
      once({ ...options, position }, `k${position.offset}`, "p", async () => 1).catch((error: unknown) => error);
    const arrived = async (count: number): Promise<void> => {
      while (sent.length < count) await new Promise((resolve) => void setImmediate(resolve));
    };
    return { sent, call, arrived, options };
  }

  it("go one after the other, in the order of calls, and each names the one before it", async () => {
    const { sent, call, arrived } = partitions();
    const calls = [call(at(5)), call(at(6)), call(at(9)), call(at(3, 1))];
    await arrived(2);
    expect(sent.map(({ offset }) => offset).toSorted((one, other) => one - other)).toEqual([3, 5]);
    for (const [index, count] of [3, 4, 4].entries()) {
      sent.filter(({ offset }) => offset !== 3)[index]?.answer(GRANTED);
      await arrived(count);
    }
    sent.find(({ offset }) => offset === 3)?.answer(GRANTED);
    await Promise.all(calls);
    expect(sent.map(({ offset, previous }) => [offset, previous]).filter(([offset]) => offset !== 3)).toEqual([
      [5, null],
      [6, 5],
      [9, 6],
    ]);
  });

  it("go on after one that has failed, which names the same one when it is claimed again", async () => {
    const { sent, call, arrived } = partitions();
    const calls = [call(at(5)), call(at(6)), call(at(7))];
    for (const [index, step] of ([GRANTED, "lost", GRANTED] as const).entries()) {
      await arrived(index + 1);
      sent[index]?.answer(step);
    }
    expect(await calls[1]).toBeInstanceOf(ClaimFailedError);
    await Promise.all(calls);
    const again = call(at(6));
    await arrived(4);
    sent[3]?.answer(GRANTED);
    await again;
    const more = call({ ...at(8), previous: 4 });
    await arrived(5);
    sent[4]?.answer(GRANTED);
    await more;
    expect(sent.map(({ offset, previous }) => [offset, previous])).toEqual([
      [5, null],
      [6, 5],
      [7, 6],
      [6, 5],
      [8, 4],
    ]);
  });

  it("begin anew where the group asks where to go on", async () => {
    const { sent, call, arrived, options } = partitions();
    for (const [index, offset] of [5, 2].entries()) {
      const called = call(at(offset));
      await arrived(index + 1);
      sent[index]?.answer(GRANTED);
      await called;
    }
    expect(await readPosition(options, "orders", 0)).toBeNull();
    const called = call(at(40));
    await arrived(3);
    sent[2]?.answer(GRANTED);
    await called;
    expect(sent.map(({ previous }) => previous)).toEqual([null, null, null]);
  });
});
