// Waiting requests take nothing that others need, and a failure beside an answer never costs the answer.

import { afterEach, describe, expect, it, vi } from "vitest";
import type { Layout } from "../../../../src/kernel/config/layout.ts"; // feature: previous-shards
import { elsewhereIn } from "../../../../src/kernel/elsewhere.ts"; // feature: previous-shards
import { epochMs } from "../../../../src/kernel/record/units.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { holdBytes } from "../../../../src/kernel/body/read-memory.ts";
import { MAX_PER_RECORD, MAX_PER_SHARD } from "../../../../src/kernel/object/waiters.ts";
import { type HeldExchanges, type HeldWorld, withExchanges } from "../../../support/integration/held-exchanges.ts";
import {
  again,
  type HeadChanges,
  headOf,
  LOCK_MS,
  RETENTION_MS,
  saidBy,
} from "../../../support/integration/shard-bench.ts";
import { eventually } from "../../../support/eventually.ts"; // feature: previous-shards

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const waiting = ({ rules, ...changes }: HeadChanges = {}): ExchangeHead =>
  headOf({ ...changes, rules: { duplicate: "wait", waitMs: 60_000, ...rules } });

/** Limits the number of simultaneous timers: the platform throws for the next one. */
function limitTimers(most: number): { readonly peak: () => number } {
  const pending = new Set<unknown>();
  let peak = 0;
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  vi.stubGlobal("setTimeout", (run: () => void, ms: number) => {
    if (pending.size >= most) throw new Error("QuotaExceededError: too many timers");
    const timer: unknown = set(() => {
      pending.delete(timer);
      run();
    }, ms);
    pending.add(timer);
    peak = Math.max(peak, pending.size);
    return timer;
  });
  vi.stubGlobal("clearTimeout", (timer: ReturnType<typeof set>) => {
    pending.delete(timer);
    clear(timer);
  });
  return { peak: () => peak };
}

/** A request whose outcome is unknown, and the question about it, which the test answers. */
async function loseOutcome(run: HeldExchanges["run"], world: HeldWorld) {
  const head = headOf({}, "verify");
  const verification = Promise.withResolvers<Response>();
  let acts = 0;
  world.origin = (url) => {
    if (url.endsWith("/look-up")) return verification.promise;
    acts += 1;
    return Promise.reject(new Error("connection lost"));
  };
  vi.useFakeTimers({ toFake: ["Date"] });
  expect(await saidBy(await run(head))).toMatchObject({ code: "origin-dropped" });
  vi.setSystemTime(Date.now() + LOCK_MS);
  return { head, verification, acts: () => acts };
}

describe("duplicates that are abandoned", () => {
  it("leave nothing behind: after 10,200 of them a stream is stored and kept, with the object's single timer", async () => {
    const timers = limitTimers(1);
    await withExchanges(async ({ run, world }) => {
      const answer = Promise.withResolvers<Response>();
      world.origin = () => answer.promise;
      const head = waiting();
      const first = run(head);
      for (let left = 0; left < 10_200; left += MAX_PER_RECORD) {
        const callers = Array.from({ length: MAX_PER_RECORD }, () => new AbortController());
        const answers = callers.map((caller) => run(again(head), caller));
        for (const caller of callers) caller.abort();
        for (const response of await Promise.all(answers)) expect(response.status).toBe(409);
      }
      const { readable, writable } = new IdentityTransformStream();
      world.origin = () => Promise.resolve(new Response(readable, { status: 202 }));
      const stranger = waiting();
      const streaming = run(stranger);
      const writer = writable.getWriter();
      await writer.write(new TextEncoder().encode("one, "));
      const streamed = await streaming;
      expect(streamed.status).toBe(202);
      const text = streamed.text();
      await writer.write(new TextEncoder().encode("two"));
      await writer.close();
      expect(await text).toBe("one, two");
      expect(await saidBy(await run(again(stranger)))).toMatchObject({ status: 202, text: "one, two", isReplay: true });
      answer.resolve(new Response("done", { status: 201 }));
      expect((await first).status).toBe(201);
    });
    expect(timers.peak()).toBe(1);
  });

  it("are answered at once, whatever they were waiting for", async () => {
    await withExchanges(async ({ run, world }) => {
      const answer = Promise.withResolvers<Response>();
      world.origin = () => answer.promise;
      const head = waiting();
      const first = run(head);
      const caller = new AbortController();
      const waiter = run(again(head), caller);
      caller.abort();
      expect(await saidBy(await waiter)).toMatchObject({ status: 409, code: "in-flight" });
      const late = new AbortController();
      late.abort();
      expect(await saidBy(await run(again(head), late))).toMatchObject({ status: 409, code: "in-flight" });
      answer.resolve(new Response("done"));
      await first;
    });
  });

  it("start no attempt when the origin reports that the last one had no effect", async () => {
    await withExchanges(async ({ run, world }) => {
      const { head, verification, acts } = await loseOutcome(run, world);
      const caller = new AbortController();
      const asking = run(again(head), caller);
      caller.abort();
      expect(await saidBy(await asking)).toMatchObject({ status: 409, code: "outcome-unknown" });
      verification.resolve(new Response(null, { status: 404 }));
      await scheduler.wait(1);
      expect(acts()).toBe(1);
      // A client that is still there starts it.
      expect(await saidBy(await run(again(head)))).toMatchObject({ code: "origin-dropped" });
      expect(acts()).toBe(2);
    });
  });

  it("start no attempt when they leave after they are woken and before they continue", async () => {
    await withExchanges(async ({ run, world }) => {
      const { head, verification, acts } = await loseOutcome(run, world);
      // The signal says that the client has gone before the gateway has noticed.
      const caller = new AbortController();
      let hasLeft = false;
      Object.defineProperty(caller.signal, "aborted", { get: () => hasLeft });
      const asking = run(again(head), caller);
      hasLeft = true;
      verification.resolve(new Response(null, { status: 404 }));
      expect(await saidBy(await asking)).toMatchObject({ status: 409, code: "outcome-unknown" });
      expect(acts()).toBe(1);
    });
  });
});

describe("duplicates that wait", () => {
  it("get an answer that their Worker does not cache, but the next one's does", async () => {
    await withExchanges(async ({ run, world }) => {
      const answer = Promise.withResolvers<null>();
      world.origin = () => answer.promise.then(() => new Response("done", { status: 201 }));
      const head = waiting();
      const toCache = (): ExchangeHead => {
        const later = again(head);
        return { ...later, request: { ...later.request, isCached: true } };
      };
      const [first, second] = [run(head), run(toCache())];
      answer.resolve(null);
      const given = [await first, await second, await run(toCache())];
      expect(given.map(({ headers }) => headers.get("idempotency-status"))).toEqual(["first", "replayed", "replayed"]);
      expect(given.map(({ headers }) => headers.has("idempotency-small"))).toEqual([false, false, true]);
    });
  });

  it("share the news that the origin is unreachable: one try for all of them, each with its own key echoed", async () => {
    await withExchanges(async ({ run, world }) => {
      const gate = Promise.withResolvers<boolean>();
      let tries = 0;
      world.isReachable = () => {
        tries += 1;
        return gate.promise;
      };
      const head = waiting({
        call: { ...headOf().call, origin: { kind: "url", url: "http://192.0.2.1:9" }, url: "http://192.0.2.1:9/act" },
      });
      const first = run(head);
      const others = Array.from({ length: 300 }, (_, index) => {
        const retry = again(head);
        return run({ ...retry, request: { ...retry.request, echo: `"key" ${index}` } });
      });
      await scheduler.wait(1);
      gate.resolve(false);
      const unreachable = { status: 502, code: "origin-unreachable" };
      expect(await saidBy(await first)).toMatchObject(unreachable);
      const answers = await Promise.all(others);
      const said = await Promise.all(answers.map((response) => saidBy(response.clone())));
      const reported = said.filter(({ code }) => code === "origin-unreachable");
      const refused = said.filter(({ code }) => code === "in-flight");
      expect([reported.length, refused.length]).toEqual([MAX_PER_RECORD, 300 - MAX_PER_RECORD]);
      expect(answers.map(({ headers }) => headers.get("idempotency-key"))).toEqual(
        answers.map((_, index) => `"key" ${index}`),
      );
      expect(tries).toBe(1);
    });
  });

  it("of one caller leave a place to another, although they have taken all", async () => {
    await withExchanges(async ({ run, world }) => {
      const answer = Promise.withResolvers<null>();
      world.origin = () => answer.promise.then(() => new Response("done", { status: 201 }));
      const heads = Array.from({ length: MAX_PER_SHARD / MAX_PER_RECORD }, () => waiting());
      const other = waiting();
      const inLane = (head: ExchangeHead): ExchangeHead => ({ ...head, record: { ...head.record, lane: 5 } });
      const firsts = [...heads, other].map((head) => run(head));
      const crowd = heads.flatMap((head) => Array.from({ length: MAX_PER_RECORD }, () => run(again(head))));
      const another = Array.from({ length: 20 }, () => run(inLane(again(other))));
      // One of the crowd has given each of these its place.
      const refused = await Promise.all(crowd.slice(0, another.length));
      for (const response of refused) expect(await saidBy(response)).toMatchObject({ status: 409, code: "in-flight" });
      answer.resolve(null);
      const rest = crowd.slice(another.length);
      for (const response of await Promise.all([...firsts, ...rest, ...another])) expect(response.status).toBe(201);
    });
  });

  it("are limited in one object", async () => {
    await withExchanges(async ({ run, world }) => {
      const answer = Promise.withResolvers<null>();
      world.origin = () => answer.promise.then(() => new Response("done", { status: 201 }));
      const heads = Array.from({ length: MAX_PER_SHARD / MAX_PER_RECORD + 1 }, () => waiting());
      const firsts = heads.map((head) => run(head));
      const [last, ...others] = heads;
      if (last === undefined) throw new Error("no key");
      const crowd = others.flatMap((head) => Array.from({ length: MAX_PER_RECORD }, () => run(again(head))));
      expect(await saidBy(await run(again(last)))).toMatchObject({
        status: 409,
        code: "in-flight",
        retryAfterSeconds: 1,
      });
      answer.resolve(null);
      for (const response of await Promise.all([...firsts, ...crowd])) expect(response.status).toBe(201);
      // The places are free again.
      const held = Promise.withResolvers<Response>();
      world.origin = () => held.promise;
      const head = waiting();
      const first = run(head);
      const crowdAgain = Array.from({ length: MAX_PER_RECORD }, () => run(again(head)));
      held.resolve(new Response("again"));
      for (const response of await Promise.all([first, ...crowdAgain])) expect(await response.text()).toBe("again");
    });
  });
});

it("a refusal is the answer of all who wait for it, but its cookie is the first one's alone", async () => {
  await withExchanges(async ({ run, world }) => {
    const held = Promise.withResolvers<Response>();
    world.origin = () => held.promise;
    const head = waiting({ rules: { omitHeaders: ["set-cookie"] } });
    const answers = [run(head), run(again(head))];
    held.resolve(new Response("busy", { status: 503, headers: { "Set-Cookie": "session=first", "Retry-After": "7" } }));
    const told = (await Promise.all(answers)).map(({ status, headers }) => [
      status,
      headers.get("Idempotency-Status"),
      headers.get("Retry-After"),
      headers.get("Set-Cookie"),
    ]);
    expect(told).toEqual([
      [503, "first", "7", "session=first"],
      [503, "attached", "7", null],
    ]);
  });
});

it("an answer whose record has gone is not its client's: 409 in-flight", async () => {
  await withExchanges(async ({ run, world, ledger }) => {
    const held = Promise.withResolvers<Response>();
    const called = Promise.withResolvers<void>();
    world.origin = () => {
      called.resolve();
      return held.promise;
    };
    const head = headOf({}, "retry");
    const first = run(head);
    await called.promise;
    ledger.save(head.record.id, ledger.find(head.record.id), null);
    held.resolve(new Response("done", { status: 201 }));
    expect(await saidBy(await first)).toMatchObject({ status: 409, code: "in-flight" });
  });
});

/** An answer whose body never ends. */
function endless(status: number, cancelled: () => void): Response {
  const body = new ReadableStream({
    type: "bytes",
    pull: (controller) => {
      controller.enqueue(new Uint8Array(1000));
      return new Promise(() => undefined);
    },
    cancel: cancelled,
  });
  return new Response(body, { status });
}

describe("an ambiguous answer whose body is still arriving", () => {
  it.each(["hold", "retry"] as const)(
    "is cut off before the next attempt begins, however late its timer, also where an operator lets that in (%s)",
    async (unknown) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      await withExchanges(async ({ run, world, steps }) => {
        const reported: string[] = [];
        world.origin = () => {
          reported.push("first call");
          return Promise.resolve(endless(504, () => reported.push("first call cancelled")));
        };
        const head = headOf({}, unknown);
        const first = await run(head);
        expect(first.status).toBe(504);
        if (unknown === "hold") {
          expect(await saidBy(await run(again(head)))).toMatchObject({ code: "outcome-unknown" });
          // Its body can no longer change the record, so a decision need not wait for it.
          const release = { type: "release", by: "test", reason: "test" } as const;
          expect(steps.change(head.record.id, release, null)).toBeNull();
        }
        vi.setSystemTime(Date.now() + LOCK_MS - 1);
        expect(await saidBy(await run(again(head)))).toMatchObject({ code: "in-flight", retryAfterSeconds: 1 });
        world.origin = () => {
          reported.push("second call");
          return Promise.resolve(new Response("done", { status: 201 }));
        };
        vi.setSystemTime(Date.now() + 1);
        expect(await saidBy(await run(again(head)))).toMatchObject({ status: 201, text: "done" });
        expect(reported).toEqual(["first call", "first call cancelled", "second call"]);
        await expect(first.arrayBuffer()).rejects.toThrow();
      });
    },
  );
});

describe("an ambiguous answer whose record has expired", () => {
  it("is cut off before the key begins in another object", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await withExchanges(async ({ run, world, steps, ledger }) => {
      const reported: string[] = [];
      world.origin = () => Promise.resolve(endless(504, () => reported.push("cancelled")));
      const head = headOf({}, "retry");
      const first = await run(head);
      vi.setSystemTime(Date.now() + LOCK_MS + 2 * RETENTION_MS);
      expect(ledger.expired.erase(epochMs(Date.now()), 10)).toBe(1);
      expect(reported).toEqual([]);
      expect(steps.holds(head.record.id, epochMs(Date.now()))).toBe(false);
      await expect(first.arrayBuffer()).rejects.toThrow();
      expect(reported).toEqual(["cancelled"]);
    });
  });

  // feature: previous-shards begins
  it("is cut off when its object first says that it is empty, because nobody asks that one about its key any more", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await withExchanges(async ({ run, world, ledger }) => {
      const reported: string[] = [];
      world.origin = () => Promise.resolve(endless(504, () => reported.push("cancelled")));
      const first = await run(headOf({}, "retry"));
      vi.setSystemTime(Date.now() + LOCK_MS + 2 * RETENTION_MS);
      expect(ledger.expired.erase(epochMs(Date.now()), 10)).toBe(1);
      const closesFor: Layout = { shards: 2, jurisdiction: null, locationHint: null };
      const asked = await run({ ...headOf(), previous: { closed: [], closesFor } });
      expect(elsewhereIn(asked)).toEqual({ kind: "closed", next: closesFor, isEmpty: true });
      await eventually(() => expect(reported).toEqual(["cancelled"]));
      await expect(first.arrayBuffer()).rejects.toThrow();
    });
  });
  // feature: previous-shards ends
});

it("an operator's response is never mixed with the ambiguous answer of the same attempt", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  await withExchanges(async ({ run, world, steps, ledger }) => {
    world.origin = () => Promise.resolve(new Response(new Uint8Array(600_000).fill(1), { status: 504 }));
    const head = headOf({}, "hold");
    // Both clients stop reading while the isolate holds so much that they get small pieces.
    const release = holdBytes(new Uint8Array(16 << 20));
    const first = await run(head);
    const bytes = new Uint8Array(200_000).fill(2);
    const resolve = { type: "resolve", status: 200, by: "test", reason: "test" } as const;
    const response = { status: 200, statusText: "", headers: [], body: { kind: "inline", bytes } as const };
    expect(steps.change(head.record.id, resolve, response)).toBeNull();
    const replay = await run(again(head));
    vi.setSystemTime(Date.now() + 2 * RETENTION_MS);
    expect(ledger.expired.erase(epochMs(Date.now()), 10)).toBe(1);
    const replayed = new Uint8Array(await replay.arrayBuffer());
    expect(replayed.byteLength === bytes.byteLength && replayed.every((byte) => byte === 2)).toBe(true);
    await first.body?.cancel();
    release();
  });
});

it.each([503, 504])("a %i that cannot be stored in its record ends its call", async (status) => {
  vi.spyOn(console, "error").mockReturnValue();
  await withExchanges(async ({ run, world }) => {
    let isCancelled = false;
    world.origin = () => {
      world.isFull = true;
      return Promise.resolve(endless(status, () => (isCancelled = true)));
    };
    expect(await saidBy(await run(headOf()))).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(isCancelled).toBe(true);
  });
});

it("a result too large to keep is recorded as such, also when the store fails once", async () => {
  vi.spyOn(console, "error").mockReturnValue();
  await withExchanges(async ({ run, world }) => {
    world.origin = () => {
      world.isFull = true;
      return Promise.resolve(new Response(new Uint8Array(400_000), { status: 201 }));
    };
    world.refused = () => (world.isFull = false);
    const head = waiting({ rules: { maxResponseBodyBytes: 0 } });
    await run(head)
      .then((response) => response.arrayBuffer())
      .catch(() => undefined);
    expect(await saidBy(await run(again(head)))).toMatchObject({ code: "response-not-kept" });
  });
});

describe("an answer is sent and stored in its record", () => {
  /** A short answer and a stream: each is sent, and replayed. */
  async function expectKept(...[setAlarm]: Parameters<typeof withExchanges> extends [unknown, ...infer R] ? R : never) {
    vi.spyOn(console, "error").mockReturnValue();
    vi.spyOn(console, "warn").mockReturnValue();
    await withExchanges(async ({ run, world, traffic }) => {
      for (const name of ["exchange", "attempt", "verdict"] as const) failing(traffic, name);
      for (const body of ["short", "x".repeat(300_000)]) {
        world.origin = () => Promise.resolve(new Response(body, { status: 201 }));
        const head = waiting();
        const first = await run(head);
        expect([first.status, await first.text()]).toEqual([201, body]);
        expect(await saidBy(await run(again(head)))).toMatchObject({ status: 201, text: body, isReplay: true });
      }
    }, setAlarm);
  }

  /** Makes counting and reporting fail in every way. */
  function failing<T extends object>(target: T, name: keyof T): void {
    Object.defineProperty(target, name, {
      value: () => {
        throw new Error("no telemetry");
      },
    });
  }

  it("when counting fails", () => expectKept());

  it("when the platform refuses more timers", async () => {
    vi.stubGlobal("setTimeout", () => {
      throw new Error("QuotaExceededError: too many timers");
    });
    await expectKept();
  });

  it("when the alarm cannot be set", () =>
    expectKept(() => {
      throw new Error("no alarm");
    }));
});
