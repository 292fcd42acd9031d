// An accepted request whose stored form cannot be read any more: it is looked at again after longer and longer pauses, and ends as
// what is true. Nothing of it is in the log, because it has its caller's credential.

import { describe, expect, it, vi } from "vitest";
import { PLACES } from "../../../../src/features/accepted/object/accepted-attempts.ts";
import { durationMs } from "../../../../src/kernel/record/units.ts";
import { asyncHead, SCHEDULE, untilState } from "../../../support/integration/accepted.ts";
import { again, heldAnswer, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

const GIVE_UP_MS = 100_000;
const SECRET = "Bearer of-the-caller";

interface Scene {
  readonly bench: ShardBench;
  readonly head: ReturnType<typeof asyncHead>;
}

/** A request that waits because all places are taken, and then cannot be read. */
async function unreadable(stored: string | null): Promise<Scene> {
  const bench = new ShardBench();
  const { origin, release } = heldAnswer(() => new Response("done"));
  bench.origin = origin;
  const others = Array.from({ length: PLACES }, () => asyncHead());
  for (const other of others) await bench.send(messageOf(other));
  const plain = asyncHead();
  const schedule = { ...SCHEDULE, giveUpAfterMs: durationMs(GIVE_UP_MS) };
  const head = { ...plain, rules: { ...plain.rules, policy: { ...plain.rules.policy, schedule } } };
  await bench.send(messageOf(head));
  await bench.within((_ledger, { storage }) => {
    storage.sql.exec("UPDATE records SET request = ? WHERE id = ?", stored, head.record.id);
  });
  release();
  for (const other of others) await untilState(bench, other, "completed");
  return { bench, head };
}

describe("a request that cannot be read", () => {
  it.each([
    ["is not stored", null],
    ["is no JSON", `{"head":"${SECRET}`],
    ["has a head that is no JSON", JSON.stringify({ head: `{"call":"${SECRET}` })],
  ])("because it %s is put off, then given up without an attempt", async (_, stored) => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { bench, head } = await unreadable(stored);
    const waiting = await bench.stored(head.record.id);
    expect(waiting).toMatchObject({ state: "waiting", attempt: { number: 0 } });
    const startAts = new Set<number>();
    let looks = 0;
    for (; (await bench.stored(head.record.id))?.state === "waiting"; looks += 1) {
      const record = await bench.stored(head.record.id);
      if (record?.state !== "waiting") break;
      startAts.add(record.startAt);
      vi.setSystemTime(record.startAt);
      await bench.deliverAlarm();
    }
    expect(startAts.size).toBe(looks);
    // At the longest pause, and not every five seconds.
    expect(looks).toBeLessThan(5 + GIVE_UP_MS / SCHEDULE.longestPauseMs);
    expect(await bench.stored(head.record.id)).toMatchObject({
      state: "failed",
      attempt: { number: 0, mayHaveActed: false },
    });
    expect(bench.calls).toHaveLength(PLACES);
    // The first time, a place was free before the clock was moved.
    expect(errors).toHaveBeenCalledTimes(looks + 1);
    expect(JSON.stringify(errors.mock.calls)).not.toContain("of-the-caller");
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 202 });
  });
});
