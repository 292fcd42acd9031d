// Crashes: SIGKILL to every process of the gateway at any moment, and a restart on the same state. The alarm alone ends the
// interrupted attempts: after a restart these tests read the ledger on disk and send nothing until its state has changed. The
// start itself calls no object (it only requests the published policy), and under both runtimes the alarm needs no request.

import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeStateDir, startWorkerd, startWranglerDev } from "../../../support/gateway.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { startOrigin } from "../../../support/origin.ts";
import type { Behaviour, TestOrigin } from "../../../support/origin.ts";
import { few, isLong } from "../../../support/long.ts";
import {
  essence,
  isReplay,
  open,
  problemCode,
  send,
  until,
  untilNotInFlight,
} from "../../../support/e2e/guarantees-client.ts";
import { type LedgerRow, newRows, readLedgers } from "../../../support/e2e/guarantees-ledger.ts";

const LOCK_MS = 2_000;
/** A start, and an alarm that comes late on a busy machine. */
const SLACK_MS = 15_000;

const ROUTES = [
  { path: "/retry", unknown: "retry" },
  { path: "/hold", unknown: "hold" },
];

let origin: TestOrigin;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());

const PROGRAMS = [
  ["workerd serve", startWorkerd],
  ["wrangler dev", startWranglerDev],
] as const;

describe.each(few(PROGRAMS))("kill -9 of %s", (_name, start) => {
  let gateway: Gateway;
  beforeAll(async () => {
    const vars = { IDEMPOTENCY: { origin: origin.url, shards: 3, timeout: "1900ms", lock: `${LOCK_MS}ms` }, ROUTES };
    gateway = await start({ vars, stateDir: await makeStateDir() });
  });
  afterAll(async () => {
    await gateway.stop();
    await rm(gateway.stateDir, { recursive: true, force: true });
  });

  async function crash(): Promise<void> {
    await gateway.kill9();
    gateway = await gateway.restart();
  }

  /** Starts an attempt, and resolves while the origin works on it. Its client gets no answer, because the gateway is killed. */
  async function startAttempt(path: string, key: string, number = 1): Promise<void> {
    open(gateway.url, { path, key });
    await origin.arrived(key, number);
  }

  /** Sends nothing to the gateway. Resolves once no new record (one that is not in `before`) is in flight. */
  function untilAlarmEndsLocks(before: readonly LedgerRow[]): Promise<readonly LedgerRow[]> {
    return until(
      () => newRows(gateway.stateDir, before),
      (rows) => rows.every(({ state }) => state !== "started"),
      LOCK_MS + SLACK_MS,
    );
  }

  const works: Behaviour = { status: 201, hold: true };
  const answers: Behaviour = { status: 201, body: "after the crash" };

  it("lets the alarm end the lock without any request: retry runs again as attempt 2 with the same key", async () => {
    const key = freshKey();
    const before = await readLedgers(gateway.stateDir);
    await origin.behave({ key }, { sequence: [works, answers] });
    await startAttempt("/retry", key);
    await crash();
    const [row, ...more] = await untilAlarmEndsLocks(before);
    expect(row).toMatchObject({ state: "failed", attempt: 1 });
    expect(more).toEqual([]);
    expect(Date.now()).toBeGreaterThanOrEqual(row?.locked_until ?? Infinity);
    expect(await origin.requests(key)).toHaveLength(1);

    const answer = await send(gateway.url, { path: "/retry", key });
    expect(answer).toMatchObject({ status: 201, body: Buffer.from("after the crash") });
    const [, second] = await origin.requests(key);
    expect(second).toMatchObject({ attempt: "2", key });
    expect(second?.arrivedAtMs).toBeGreaterThanOrEqual(row?.locked_until ?? Infinity);
    expect(isReplay(await send(gateway.url, { path: "/retry", key }))).toBe(true);
    expect(await origin.effects(key)).toBe(2);
    await origin.release(key);
  });

  it("lets the alarm end the lock without any request: hold answers outcome-unknown", async () => {
    const key = freshKey();
    const before = await readLedgers(gateway.stateDir);
    await origin.behave({ key }, { sequence: [works, answers] });
    await startAttempt("/hold", key);
    await crash();
    expect(await untilAlarmEndsLocks(before)).toMatchObject([{ state: "unknown", attempt: 1 }]);
    for (let ask = 0; ask < 3; ask += 1) {
      expect(problemCode(await send(gateway.url, { path: "/hold", key }))).toBe("outcome-unknown");
    }
    expect(await origin.effects(key)).toBe(1);
    await origin.release(key);
  });

  it("also ends the lock at a request that comes before the alarm", async () => {
    const [retried, held] = [freshKey(), freshKey()];
    for (const key of [retried, held]) await origin.behave({ key }, { sequence: [works, answers] });
    await startAttempt("/retry", retried);
    await startAttempt("/hold", held);
    await crash();
    const [again, unknown] = await Promise.all([
      untilNotInFlight(gateway.url, { path: "/retry", key: retried }, LOCK_MS + SLACK_MS),
      untilNotInFlight(gateway.url, { path: "/hold", key: held }, LOCK_MS + SLACK_MS),
    ]);
    expect(again.status).toBe(201);
    expect(problemCode(unknown)).toBe("outcome-unknown");
    expect((await origin.requests(retried)).map(({ attempt }) => attempt)).toEqual(["1", "2"]);
    expect((await origin.requests(held)).map(({ attempt }) => attempt)).toEqual(["1"]);
    await origin.release();
  });

  it("keeps counting attempts through several crashes, and each waits for the lock of the one before", async () => {
    const key = freshKey();
    const before = await readLedgers(gateway.stateDir);
    await origin.behave({ key }, { sequence: [works, works, works, answers] });
    const lockedUntil: number[] = [];
    for (const number of [1, 2, 3]) {
      await startAttempt("/retry", key, number);
      await crash();
      const [row] = await untilAlarmEndsLocks(before);
      expect(row).toMatchObject({ state: "failed", attempt: number });
      lockedUntil.push(row?.locked_until ?? Infinity);
    }
    expect((await send(gateway.url, { path: "/retry", key })).status).toBe(201);
    const attempts = await origin.requests(key);
    expect(attempts.map(({ attempt }) => attempt)).toEqual(["1", "2", "3", "4"]);
    for (const [index, end] of lockedUntil.entries()) {
      expect(attempts[index + 1]?.arrivedAtMs).toBeGreaterThanOrEqual(end);
    }
    await origin.release(key);
  });

  it.runIf(isLong)("keeps a key held through two crashes in a row", async () => {
    const key = freshKey();
    const before = await readLedgers(gateway.stateDir);
    await origin.behave({ key }, { sequence: [works, answers] });
    await startAttempt("/hold", key);
    await crash();
    await crash();
    expect(await untilAlarmEndsLocks(before)).toMatchObject([{ state: "unknown", attempt: 1 }]);
    expect(problemCode(await send(gateway.url, { path: "/hold", key }))).toBe("outcome-unknown");
    expect(await origin.effects(key)).toBe(1);
    await origin.release(key);
  });

  it("forgets none of 20 keys in flight, in any shard", async () => {
    const retried = Array.from({ length: 10 }, freshKey);
    const held = Array.from({ length: 10 }, freshKey);
    const before = await readLedgers(gateway.stateDir);
    for (const key of [...retried, ...held]) await origin.behave({ key }, { sequence: [works, answers] });
    await Promise.all([
      ...retried.map((key) => startAttempt("/retry", key)),
      ...held.map((key) => startAttempt("/hold", key)),
    ]);
    await crash();
    const states = (await untilAlarmEndsLocks(before)).map(({ state }) => state);
    expect(states.filter((state) => state === "failed")).toHaveLength(10);
    expect(states.filter((state) => state === "unknown")).toHaveLength(10);

    const again = await Promise.all(retried.map((key) => send(gateway.url, { path: "/retry", key })));
    expect(again.map(({ status }) => status)).toEqual(retried.map(() => 201));
    const unknown = await Promise.all(held.map((key) => send(gateway.url, { path: "/hold", key })));
    expect(unknown.map(problemCode)).toEqual(held.map(() => "outcome-unknown"));
    const effects = await Promise.all([...retried, ...held].map((key) => origin.effects(key)));
    expect(effects).toEqual([...retried.map(() => 2), ...held.map(() => 1)]);
    await origin.release();
  });

  it("replays results from before the crash, also after a second crash", async () => {
    const keys = Array.from({ length: 5 }, freshKey);
    const bodyBase64 = Buffer.from([0, 255, 10, 13]).toString("base64");
    for (const key of keys) {
      const first = {
        status: 201,
        statusText: "Made",
        headers: [["ETag", `"${key}"`]],
        bodyBase64,
      } satisfies Behaviour;
      await origin.behave({ key }, { sequence: [first, answers] });
    }
    const reported = await Promise.all(keys.map((key) => send(gateway.url, { path: "/hold", key })));
    for (let crashes = 0; crashes < 2; crashes += 1) {
      await crash();
      const replayed = await Promise.all(keys.map((key) => send(gateway.url, { path: "/hold", key })));
      expect(replayed.every(isReplay)).toBe(true);
      expect(replayed.map(essence)).toEqual(reported.map(essence));
    }
    expect(await Promise.all(keys.map((key) => origin.effects(key)))).toEqual(keys.map(() => 1));
  });
});
