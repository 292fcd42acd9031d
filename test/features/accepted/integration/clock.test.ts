// Accepted requests, and a clock that was ahead for a moment.

import { describe, expect, it, vi } from "vitest";
import { asyncHead, SCHEDULE, untilState } from "../../../support/integration/accepted.ts";
import { headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";

const HOUR_MS = 3_600_000;

standStill(["warn", "error"]);

describe("a clock that was ahead for a moment", () => {
  it.each([
    ["and its instance lives on", (): Promise<void> => Promise.resolve()],
    ["and its instance is lost", (bench: ShardBench): Promise<void> => bench.lose()],
  ])("stops no accepted request %s: the next exchange finds out, and the alarm comes", async (_what, between) => {
    const bench = new ShardBench();
    bench.origin = (_request, number) => new Response("busy", { status: number === 1 ? 503 : 201 });
    const right = Date.now();
    vi.setSystemTime(right + HOUR_MS);
    const head = asyncHead();
    await bench.send(messageOf(head));
    await untilState(bench, head, "waiting");
    await between(bench);
    vi.setSystemTime(right);
    expect(await bench.send(messageOf(headOf()))).toMatchObject({ status: 201 });
    await untilState(bench, head, "completed");
  });

  it("puts off no accepted request that could not be begun meanwhile, whatever the pause", async () => {
    const bench = new ShardBench();
    bench.origin = (_request, number) => new Response("busy", { status: number === 1 ? 503 : 201 });
    const head = asyncHead();
    await bench.send(messageOf(head));
    await untilState(bench, head, "waiting");
    await bench.within((_ledger, { storage }) => {
      storage.sql.exec("CREATE TRIGGER full BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'full'); END");
    });
    const right = Date.now() + SCHEDULE.longestPauseMs;
    vi.setSystemTime(right + HOUR_MS / 6);
    await bench.deliverAlarm();
    await bench.within((_ledger, { storage }) => {
      storage.sql.exec("DROP TRIGGER full");
    });
    expect(bench.calls).toHaveLength(1);
    vi.setSystemTime(right);
    expect(await bench.send(messageOf(headOf()))).toMatchObject({ status: 201 });
    await untilState(bench, head, "completed");
  });
});
