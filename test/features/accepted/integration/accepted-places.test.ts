// The places of accepted requests in a real shard: what takes one, and when it is free again.

import { describe, expect, it, vi } from "vitest";
import { attemptId, durationMs, fingerprint } from "../../../../src/kernel/record/units.ts";
import { bytesBody } from "../../../../src/kernel/body/request-body.ts";
import { NOW } from "../../../support/integration/records.ts";
import { encodeMessage, type ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { HELD_MS, PLACES } from "../../../../src/features/accepted/object/accepted-attempts.ts";
import { LONGEST_ANSWER_MS, originRequest } from "../../../../src/kernel/object/origin-call.ts";
import { RemoteBodies } from "../../../../src/kernel/overflow/remote-bodies.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";
import { asyncHead, SCHEDULE, untilState } from "../../../support/integration/accepted.ts";
import { again, heldAnswer, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";
import { eventually } from "../../../support/eventually.ts";

silence();

/** An answer whose body begins and does not end. */
function unending(status: number, cancelled: () => void): Response {
  const body = new ReadableStream({
    type: "bytes",
    start(controller) {
      controller.enqueue(new TextEncoder().encode("busy"));
    },
    cancel: cancelled,
  });
  return new Response(body, { status });
}

/** A method as it is, for one that stands in its place. */
function actual<T extends object, Name extends keyof T>(prototype: T, name: Name): T[Name] {
  return prototype[name];
}

/** Places are given up when the test calls what this returns. */
function heldPlaces(): { readonly ends: (() => void)[] } {
  const ends: (() => void)[] = [];
  const set = actual(ObjectTimers.prototype, "set");
  vi.spyOn(ObjectTimers.prototype, "set").mockImplementation(function held(this: ObjectTimers, ms, run) {
    if (ms === HELD_MS) ends.push(run);
    return set.call(this, ms, run);
  });
  return { ends };
}

/** Less than `giveUpAfterMs`. */
const HALF_AN_HOUR_MS = durationMs(1_800_000);

/** A request whose second attempt begins no sooner than the test lets time pass. */
function patientHead(pauseMs = SCHEDULE.giveUpAfterMs): ExchangeHead {
  const head = asyncHead();
  const schedule = { ...SCHEDULE, firstPauseMs: pauseMs, longestPauseMs: pauseMs };
  return { ...head, rules: { ...head.rules, policy: { ...head.rules.policy, schedule } } };
}

describe("a place", () => {
  it.each([503, 504])("is free when the origin has answered %i, although its body does not end", async (status) => {
    const bench = new ShardBench();
    let open = 0;
    let isUp = false;
    bench.origin = () => {
      if (isUp) return new Response("done");
      open += 1;
      return unending(status, () => (open -= 1));
    };
    const heads = Array.from({ length: PLACES }, () => patientHead(HALF_AN_HOUR_MS));
    for (const head of heads) await bench.send(messageOf(head));
    for (const head of heads) await untilState(bench, head, "waiting");
    isUp = true;
    const next = asyncHead();
    await bench.send(messageOf(next));
    await untilState(bench, next, "completed");
    // Nobody reads these answers.
    await eventually(() => expect(open).toBe(0));
    vi.setSystemTime(Date.now() + 60_000 + HALF_AN_HOUR_MS);
    await bench.deliverAlarm();
    for (const head of heads) await untilState(bench, head, "completed");
    expect(bench.calls).toHaveLength(2 * PLACES + 1);
  });

  it("is given up by an answer that trickles, whether it is kept or not, which then counts as its caller's all the same", async () => {
    // No bucket is bound.
    vi.spyOn(RemoteBodies.prototype, "begin").mockResolvedValue(null);
    const { ends } = heldPlaces();
    const bench = new ShardBench();
    const begun: string[] = [];
    bench.origin = ({ url }) => {
      const { pathname } = new URL(url);
      begun.push(pathname);
      return pathname === "/done" ? new Response("done") : unending(200, () => undefined);
    };
    const of = (lane: number, pathname: string, most?: number): ExchangeHead => {
      const head = asyncHead();
      const rules = most === undefined ? head.rules : { ...head.rules, maxResponseBodyBytes: most };
      const call = { ...head.call, url: `https://api.example${pathname}` };
      return { ...head, rules, call, record: { ...head.record, lane } };
    };
    for (let sent = 0; sent < PLACES; sent += 1)
      await bench.send(messageOf(of(1, `/trickles-${sent}`, sent % 2 || undefined)));
    await bench.called(PLACES);
    const more = Array.from({ length: PLACES }, (_, sent) => of(1, `/more-${sent}`));
    for (const head of more) await bench.send(messageOf(head));
    const other = of(2, "/done");
    await bench.send(messageOf(other));
    await eventually(() => expect(ends).toHaveLength(PLACES));
    expect(begun).not.toContain("/done");
    await bench.within(() => ends[0]?.());
    await untilState(bench, other, "completed");
    expect(begun.indexOf("/done")).toBe(PLACES);
    await bench.within(() => ends[1]?.());
    await bench.called(PLACES + 3);
  });

  it("ends with an answer's longest time, which only an accepted request's has", () => {
    const { head, body } = { head: asyncHead(), body: bytesBody(new Uint8Array()) };
    const attempt = { id: attemptId("1"), number: 1, startedAt: NOW, lockedUntil: NOW, mayHaveActed: false };
    const started = { state: "started", fingerprint: fingerprint(""), attempt, policy: head.rules.policy } as const;
    const { timeoutMs } = head.rules;
    expect(originRequest(head, body, started).totalMs).toBeNull();
    const accepted = { schedule: SCHEDULE, acceptedAt: NOW, giveUpAt: NOW, lastAttempt: 1 };
    expect(originRequest(head, body, { ...started, accepted }).totalMs).toBe(timeoutMs + LONGEST_ANSWER_MS);
  });

  it("is not taken by an attempt whose claim cannot be written, and whose request's body is erased in the end", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Response("busy", { status: 503 });
    const head = asyncHead();
    await bench.send(encodeMessage({ head, body: new Uint8Array(100_000) }));
    await untilState(bench, head, "waiting");
    bench.origin = () => new Response("done");
    await bench.within((_ledger, { storage }) => {
      storage.sql.exec("CREATE TRIGGER full BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'full'); END");
    });
    vi.setSystemTime(Date.now() + SCHEDULE.longestPauseMs);
    await bench.deliverAlarm();
    expect(bench.calls).toHaveLength(1);
    await bench.within((_ledger, { storage }) => {
      storage.sql.exec("DROP TRIGGER full");
    });
    vi.setSystemTime(Date.now() + SCHEDULE.longestPauseMs);
    await bench.deliverAlarm();
    await untilState(bench, head, "completed");
    await eventually(async () => {
      await bench.deliverAlarm();
      const left = await bench.within((_ledger, { storage }) =>
        storage.sql.exec("SELECT count(*) AS n FROM chunks").one(),
      );
      expect(left).toEqual({ n: 0 });
    });
  });
});

describe("callers who wait for places", () => {
  function headIn(lane: number): ExchangeHead {
    const head = asyncHead();
    const url = `https://api.example/lane-${lane}`;
    return { ...head, call: { ...head.call, url }, record: { ...head.record, lane } };
  }

  it("take turns: one with many slow requests has all places alone, and leaves the next to another", async () => {
    const bench = new ShardBench();
    const answers: ReturnType<typeof heldAnswer>[] = [];
    const calls: string[] = [];
    bench.origin = (request, ...others) => {
      calls.push(new URL(request.url).pathname);
      const answer = heldAnswer(() => new Response("done"));
      answers.push(answer);
      return answer.origin(request, ...others);
    };
    for (let sent = 0; sent < 100; sent += 1) await bench.send(messageOf(headIn(1)));
    await bench.called(PLACES);
    for (const lane of [2, 2, 3]) await bench.send(messageOf(headIn(lane)));
    expect(calls).toEqual(Array.from({ length: PLACES }, () => "/lane-1"));
    // When each has one place, the rest goes by time.
    for (const expected of ["/lane-2", "/lane-3", "/lane-1"]) {
      const before = calls.length;
      answers.shift()?.release();
      await eventually(() => expect(calls).toHaveLength(before + 1));
      expect(calls.at(-1)).toBe(expected);
    }
  });

  it("come before those who come after a crash, although no attempt is in flight that would begin theirs", async () => {
    const bench = new ShardBench();
    bench.origin = heldAnswer(() => new Response("done")).origin;
    for (let sent = 0; sent < PLACES; sent += 1) await bench.send(messageOf(headIn(1)));
    await bench.called(PLACES);
    const [early, late] = [headIn(2), headIn(3)];
    for (const head of [early, late]) await bench.send(messageOf(head));
    await bench.lose();
    for (let sent = 0; sent < PLACES; sent += 1) await bench.send(messageOf(headIn(1)));
    await bench.called(2 * PLACES);
    const begun = bench.calls.slice(PLACES);
    expect(begun).toHaveLength(PLACES);
    expect(begun).toEqual(expect.arrayContaining(["POST /lane-2 1", "POST /lane-3 1"]));
  });

  it("find a place also behind a record of their lane that cannot be read", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("done"));
    bench.origin = held.origin;
    for (let sent = 0; sent < PLACES; sent += 1) await bench.send(messageOf(headIn(1)));
    await bench.called(PLACES);
    const [broken, behind, other] = [headIn(2), headIn(2), headIn(3)];
    for (const head of [broken, behind, other]) await bench.send(messageOf(head));
    await bench.within((_ledger, { storage }) =>
      storage.sql.exec("UPDATE records SET unknown = 'later' WHERE id = ?", broken.record.id).toArray(),
    );
    held.release();
    for (const head of [behind, other]) await untilState(bench, head, "completed");
    expect(bench.calls).toHaveLength(PLACES + 2);
  });
});

describe("an attempt whose turn comes after give_up.after", () => {
  it("is not made: the request is given up, and is no longer stored", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Response("busy", { status: 503 });
    const heads = Array.from({ length: PLACES + 1 }, patientHead);
    for (const head of heads) await bench.send(messageOf(head));
    for (const head of heads) await untilState(bench, head, "waiting");
    bench.origin = () => new Response("done");
    vi.setSystemTime(Date.now() + SCHEDULE.giveUpAfterMs + 1);
    await bench.deliverAlarm(2);
    for (const head of heads) await untilState(bench, head, "failed");
    expect(bench.calls).toHaveLength(PLACES + 1);
    const left = await bench.within((_ledger, { storage }) =>
      storage.sql.exec("SELECT count(*) AS n FROM records WHERE request IS NOT NULL").one(),
    );
    expect(left).toEqual({ n: 0 });
    // The same request begins anew.
    for (const head of heads) expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 202 });
    for (const head of heads) await untilState(bench, head, "completed");
  });

  it("is made if it is the first", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("done"));
    bench.origin = held.origin;
    const heads = Array.from({ length: PLACES + 1 }, () => asyncHead());
    for (const head of heads) await bench.send(messageOf(head));
    await bench.called(PLACES);
    vi.setSystemTime(Date.now() + SCHEDULE.giveUpAfterMs + SCHEDULE.longestPauseMs);
    held.release();
    for (const head of heads) await untilState(bench, head, "completed");
    expect(bench.calls).toHaveLength(PLACES + 1);
  });
});

describe("a request that is accepted after an attempt", () => {
  it("of the same request on an encrypted route has a monitor", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Response("busy", { status: 503 });
    const head = asyncHead();
    const encrypted = { ...head, request: { ...head.request, fingerprint: fingerprint("keyed:1") } };
    const { async: _, ...others } = encrypted;
    expect(await bench.send(messageOf(others))).toMatchObject({ status: 503, text: "busy" });
    bench.origin = () => new Response("done");
    const open = again({ ...head, request: { ...head.request, otherFingerprint: fingerprint("keyed:1") } });
    expect(await bench.send(messageOf(open))).toMatchObject({ status: 202 });
    await untilState(bench, head, "completed");
    expect(await bench.send(messageOf(again(open)))).toMatchObject({ status: 200, text: "done", isReplay: true });
  });
});
