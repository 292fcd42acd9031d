// Heads of requests that a shard accepts, and what a test changes to see them wait.

import type { Schedule } from "../../../src/kernel/record/record.ts";
import { durationMs, fingerprint } from "../../../src/kernel/record/units.ts";
import type { ExchangeHead } from "../../../src/kernel/request/message.ts";
import { headOf, type ShardBench } from "./shard-bench.ts";
import { eventually } from "../eventually.ts";

export const FINGERPRINT_PREFIX = "f".repeat(32);

export const SCHEDULE: Schedule = {
  attempts: 3,
  firstPauseMs: durationMs(1000),
  longestPauseMs: durationMs(8000),
  giveUpAfterMs: durationMs(3_600_000),
};

export const ASYNC = { accepts: true, monitor: "/monitor?key=key", waitMs: durationMs(0), isPreferred: true };

export function asyncHead(unknown: Parameters<typeof headOf>[1] = "retry", waitMs = 0): ExchangeHead {
  const head = headOf({ request: { fingerprint: fingerprint(FINGERPRINT_PREFIX) } }, unknown);
  return {
    ...head,
    rules: { ...head.rules, policy: { ...head.rules.policy, schedule: SCHEDULE } },
    async: { ...ASYNC, waitMs: durationMs(waitMs) },
  };
}

/** Resolves when the record is in this state. */
export async function untilState(bench: ShardBench, { record }: ExchangeHead, state: string): Promise<void> {
  await eventually(async () => {
    const found = (await bench.stored(record.id))?.state;
    if (found !== state) throw new Error(`the record is ${found}, not ${state}`);
  });
}
