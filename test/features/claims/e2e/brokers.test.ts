// @module-tag needs/redis
// @module-tag needs/kcat
// Real brokers in front of claims: Redis Streams, and Kafka's protocol. Consumers are killed and stopped, and effects are counted in another
// process (test/features/claims/rounds/run.ts is the long form).

import { describe, expect, it } from "vitest";
import { POINTS } from "../rounds/consumer.ts";
import { keyOf } from "../rounds/scene.ts";
import { recordsIn } from "../rounds/records.ts";
import { killRound, MESSAGES, replayRound, stopRound } from "../rounds/rounds.ts";

const ROUND_MS = 60_000;

/** The attempts that have acted for a message at which its consumer was killed. */
const STRUCK = {
  retry: { read: [1], claimed: [2], acted: [1, 2], completed: [1] },
  hold: { read: [1], claimed: [], acted: [1], completed: [1] },
} as const;

describe.each(["redis", "kafka"] as const)("a consumer of %s", (broker) => {
  const rounds = (["hold", "retry"] as const).flatMap((unknown) => POINTS.map((point) => [point, unknown] as const));

  it.each(rounds)(
    "that is killed when it has %s a message, with %s: acts once for all others, and as its rule says for this one",
    async (point, unknown) => {
      const { ends, struck, wrong, violations } = await killRound(broker, unknown, point);
      expect({ wrong, violations }).toEqual({ wrong: [], violations: [] });
      expect(struck).toEqual(STRUCK[unknown][point]);
      const mayBeUnknown = unknown === "hold" && (point === "claimed" || point === "acted");
      expect(ends["OutcomeUnknownError"] ?? 0).toBe(mayBeUnknown ? 1 : 0);
    },
    ROUND_MS,
  );

  it(
    "that is stopped past its lock, and goes on, has lost its claim: the other one's result counts",
    async () => {
      const { said, struck, wrong, violations, ends } = await stopRound(broker);
      expect(said).toBe("SupersededError");
      // The first one acts late, with its older number, which is what a fence is for.
      expect(struck).toEqual([2, 1]);
      expect({ wrong, violations }).toEqual({ wrong: [], violations: [] });
      // A broker may give a message again: then the last that was said of it is `replayed`.
      const { done = 0, replayed = 0, ...others } = ends;
      expect(others).toEqual({});
      expect(done + replayed).toBe(MESSAGES);
    },
    ROUND_MS,
  );
});

describe("a topic that is read again from offset 0", () => {
  it(
    "has no effect, writes nothing, and leaves its position",
    async () => {
      const { ends, struck, wrong, violations, before, after, later } = await replayRound(recordsIn);
      expect(ends).toEqual({ replayed: MESSAGES });
      expect({ struck, wrong, violations }).toEqual({ struck: [1], wrong: [], violations: [] });
      expect(before).toContain(`"next":"${MESSAGES}"`);
      expect(after).toBe(before);
      expect(later).toEqual([keyOf(MESSAGES)]);
    },
    ROUND_MS,
  );
});
