// The alarm asks the origin what became of a lost attempt, also after a crash, and less and less often. These tests send
// nothing to the gateway between the loss and the alarm's work; they read its ledger on disk.

import { describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { clientOf, removeGateway, type Scene, startGateway, until } from "../../../support/e2e/scene.ts";
import {
  openVerificationRows,
  type VerificationRow,
  type VerificationRows,
} from "../../../support/e2e/verification-rows.ts";
import {
  attempts,
  expectGiven,
  expectOpen,
  lookUpPath,
  loseAnswer,
  verifications,
  type Sent,
  SETTINGS,
  tellOf,
  VERIFY,
} from "../../../support/e2e/verify-scene.ts";

const LOCK_MS = 2_500;
/** Longer than a restart takes on a busy machine. */
const LONG_LOCK_MS = 12_000;

interface Bench extends Scene {
  /** SIGKILL in mid-call, and a new start on the same state. Returns the record as the crash has left it. */
  readonly crashDuring: (message: Sent) => Promise<VerificationRow>;
  /** The shard's file, once there is one. */
  readonly rows: () => VerificationRows;
}

/** A separate gateway, because it is killed and its alarm must serve only this test. */
async function withBench(run: (bench: Bench) => Promise<void>, lockMs = LOCK_MS): Promise<void> {
  const origin: TestOrigin = await startOrigin();
  const routes = [{ path: "/*", ...VERIFY, lock: `${lockMs}ms` }];
  let gateway: Gateway = await startGateway(origin.url, SETTINGS, routes);
  let opened: VerificationRows | null = null;
  const close = async (): Promise<void> => {
    opened?.close();
    await removeGateway(gateway);
    await origin.close();
  };
  const rows = (): VerificationRows => (opened ??= openVerificationRows(gateway));
  const crashDuring = async (message: Sent): Promise<VerificationRow> => {
    await origin.behave({ key: message.key }, { sequence: [{ hold: true }, { status: 201, body: "second" }] });
    clientOf(gateway.url).open(message);
    await origin.arrived(message.key);
    await gateway.kill9();
    const lost = rows().ofKey(message.key);
    gateway = await gateway.restart();
    return lost;
  };
  try {
    await run({ ...clientOf(gateway.url), origin, gateway, crashDuring, rows, close });
  } finally {
    await close();
  }
}

const isAsked = (times: number) => (row: VerificationRow) => (row.verifications ?? 0) >= times;
const isState = (state: string) => (row: VerificationRow) => row.state === state;

describe.concurrent("the alarm", () => {
  it("finds out what became of a lost attempt although no further request comes", () =>
    withBench(async (bench) => {
      const { origin, rows } = bench;
      const message = { path: "/alone", key: freshKey(), headers: [["Authorization", "Bearer caller"] as const] };
      await tellOf(origin, message.key, { status: 200, body: "it happened" });
      await loseAnswer(bench, message);
      const lost = rows().ofKey(message.key);
      const row = await rows().until(lost.id, isState("completed"), "the answer");
      expect(row).toMatchObject({ attempt: 1, verification: null, verify_at: null });
      const [verification, ...more] = await verifications(origin, message.key);
      expect(more).toEqual([]);
      expect(verification?.arrivedAtMs).toBeGreaterThanOrEqual(lost.locked_until);
      expect(verification?.headers.find(([name]) => /^authorization$/i.test(name))?.[1]).toBe("Bearer caller");
      const replay = await bench.send(message);
      expectGiven(replay, 200, "it happened");
      expectReplay(await bench.send(message), replay);
      expect(await verifications(origin, message.key)).toHaveLength(1);
      expect(await origin.effects(message.key)).toBe(1);
    }));

  it("learns it after a crash in the middle of the call, once the lock has ended", () =>
    withBench(async (bench) => {
      const { origin, rows, crashDuring } = bench;
      const message = { path: "/crash", key: freshKey() };
      await tellOf(origin, message.key, { status: 200, body: "it happened" });
      const lost = await crashDuring(message);
      expect(lost).toMatchObject({ state: "started", attempt: 1 });
      const row = await rows().until(lost.id, isState("completed"), "the answer");
      expect(row).toMatchObject({ attempt: 1, verification: null });
      const asked = await verifications(origin, message.key);
      expect(asked).toHaveLength(1);
      expect(asked[0]?.arrivedAtMs).toBeGreaterThanOrEqual(lost.locked_until);
      expectGiven(await bench.send(message), 200, "it happened");
      await origin.release(message.key);
      expect(await attempts(origin, message.key)).toHaveLength(1);
      expect(await origin.effects(message.key)).toBe(1);
    }));

  it("frees the key after a crash when the origin knows of nothing: attempt 2", () =>
    withBench(async (bench) => {
      const { origin, rows, crashDuring } = bench;
      const message = { path: "/crash", key: freshKey() };
      await tellOf(origin, message.key, { status: 404 });
      const { id } = await crashDuring(message);
      // No question while the lock lasts, because the attempt may still run.
      const early = await bench.send(message);
      expectProblem(early, { code: "in-flight", status: 409, retryable: true, echo: message.key });
      expect(await verifications(origin, message.key)).toEqual([]);
      const row = await rows().until(id, isState("failed"), "the answer");
      expect(row).toMatchObject({ attempt: 1, verification: null });
      const second = await bench.send(message);
      expectFirstAnswer(second, 201);
      expect(second.body.toString()).toBe("second");
      expect((await attempts(origin, message.key)).map(({ attempt }) => attempt)).toEqual(["1", "2"]);
    }, LONG_LOCK_MS));

  it("asks on after a crash in the middle of a question, and keeps its pause", () =>
    withBench(async (bench) => {
      const { origin, rows } = bench;
      const message = { path: "/crash", key: freshKey() };
      const silent = { status: 500, effect: false };
      const held = { status: 200, hold: true, effect: false };
      // The pause after the third question is long enough for most restarts.
      await origin.behave({ key: message.key, path: lookUpPath(message.key) }, { sequence: [silent, silent, held] });
      await loseAnswer(bench, message);
      const { id } = rows().ofKey(message.key);
      await origin.arrived(message.key, 4);
      const before = rows().ofId(id);
      await bench.gateway.kill9();
      // Written before the origin was asked, so the crash does not make it ask at once.
      expect(rows().ofId(id)).toEqual(before);
      expect(before).toMatchObject({ state: "unknown", verifications: 3 });
      await tellOf(origin, message.key, { status: 200, body: "it happened" });
      const again = await bench.gateway.restart();
      try {
        await rows().until(id, isState("completed"), "the answer");
        expectGiven(await bench.send(message), 200, "it happened");
        const asked = await verifications(origin, message.key);
        expect(asked).toHaveLength(4);
        expect(asked[3]?.arrivedAtMs).toBeGreaterThanOrEqual(before.verify_at ?? Infinity);
      } finally {
        await again.stop();
      }
    }));

  it("asks ever more rarely while the origin does not say, and a duplicate at once", () =>
    withBench(async (bench) => {
      const { origin, rows } = bench;
      const message = { path: "/rare", key: freshKey() };
      await tellOf(origin, message.key, { status: 500 });
      await loseAnswer(bench, message);
      const { id, locked_until: lockedUntil } = rows().ofKey(message.key);
      const asked: VerificationRow[] = [];
      for (const times of [1, 2, 3]) asked.push(await rows().until(id, isAsked(times), `question ${times}`));
      expect(asked.map((row) => row.verifications)).toEqual([1, 2, 3]);
      // Each pause is twice the one before, and counts from a question that came no sooner than the last one allowed.
      const ends = [lockedUntil, ...asked.map(({ verify_at: at }) => at ?? 0)];
      const pauses = ends.slice(1).map((end, index) => end - (ends[index] ?? 0));
      for (const [index, least] of [2_000, 4_000, 8_000].entries()) {
        expect(pauses[index]).toBeGreaterThanOrEqual(least);
      }
      const reached = await until(async () => {
        const found = await verifications(origin, message.key);
        return found.length >= 3 ? found : null;
      }, "the third question");
      expect(reached).toHaveLength(3);
      for (const [index, verification] of reached.entries()) {
        expect(verification.arrivedAtMs).toBeGreaterThanOrEqual(ends[index] ?? Infinity);
      }
      expectOpen(await bench.send(message), message.key, 16);
      expect(await verifications(origin, message.key)).toHaveLength(4);
      await tellOf(origin, message.key, { status: 200, body: "said at last" });
      const answer = await bench.send(message);
      expectGiven(answer, 200, "said at last");
      expect(headerValue(answer, "idempotency-key")).toBe(message.key);
      expect(await attempts(origin, message.key)).toHaveLength(1);
    }));

  it("is held up by no answer that trickles, and neither is a duplicate", () =>
    withBench(async (bench) => {
      const { origin, rows } = bench;
      const [slow, other] = [freshKey(), freshKey()].map((key) => ({ path: "/trickle", key }));
      if (slow === undefined || other === undefined) throw new Error("two messages");
      // A minute of it, and never a silence as long as `idle_timeout`.
      const chunks = Array.from({ length: 300 }, () => ({ text: ".", pauseMs: 200 }));
      await tellOf(origin, slow.key, { status: 200, chunks });
      await tellOf(origin, other.key, { status: 200, body: "it happened" });
      await loseAnswer(bench, slow);
      const { id } = rows().ofKey(slow.key);
      await rows().until(id, isAsked(1), "the question");
      await loseAnswer(bench, other);
      await rows().until(rows().ofKey(other.key).id, isState("completed"), "the other's answer");
      expectOpen(await bench.send(slow), slow.key, 60);
      expect(rows().ofId(id)).toMatchObject({ state: "unknown" });
      expect(await origin.effects(slow.key)).toBe(1);
    }));

  it("asks for each of many lost attempts, whose origin answers slowly", () =>
    withBench(async (bench) => {
      const { origin, rows } = bench;
      const messages = Array.from({ length: 15 }, () => ({ path: "/many", key: freshKey() }));
      for (const { key } of messages) await tellOf(origin, key, { status: 200, body: key, delayMs: 300 });
      await Promise.all(messages.map((message) => loseAnswer(bench, message)));
      const ids = messages.map(({ key }) => rows().ofKey(key).id);
      for (const id of ids) await rows().until(id, isState("completed"), "the answer");
      for (const message of messages) expectGiven(await bench.send(message), 200, message.key);
      for (const { key } of messages) expect(await verifications(origin, key)).toHaveLength(1);
    }));
});
