// Does the simulation see anything of claims? As ../planted.test.ts.

import { afterEach, describe, it, vi } from "vitest";
import { expectFound, original, plantAnyStep, plantStep } from "../../../simulation/plant.ts";
import type * as ClaimWords from "../../../../src/kernel/record/claim.ts";
import type * as PositionRules from "../../../../src/kernel/record/position.ts";
import type { Started } from "../../../../src/kernel/record/record.ts";
import { attemptId, epochMs } from "../../../../src/kernel/record/units.ts";
import { OpenOffsets } from "../../../../src/features/claims/object/open-offsets.ts";
import { PartitionPositions } from "../../../../src/features/claims/object/partition-positions.ts";
import { PositionRows } from "../../../../src/features/claims/object/position-rows.ts";

type After = typeof PositionRules.afterCompletion;
type WithClaim = typeof PositionRules.withClaim;
type MayExtend = typeof ClaimWords.mayExtend;

interface Planted {
  after: After | null;
  withClaim: WithClaim | null;
  mayExtend: MayExtend | null;
}

const planted = vi.hoisted((): Planted => ({ after: null, withClaim: null, mayExtend: null }));

vi.mock(import("../../../../src/kernel/record/position.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const afterCompletion: After = (...given) => (planted.after ?? actual.afterCompletion)(...given);
  const withClaim: WithClaim = (...given) => (planted.withClaim ?? actual.withClaim)(...given);
  return { ...actual, afterCompletion, withClaim };
});

vi.mock(import("../../../../src/kernel/record/claim.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const mayExtend: MayExtend = (...given) => (planted.mayExtend ?? actual.mayExtend)(...given);
  return { ...actual, mayExtend };
});

afterEach(() => {
  planted.after = null;
  planted.withClaim = null;
  planted.mayExtend = null;
});

/** The same attempt with a longer or shorter lock. */
function moved(record: Started, byMs: number): Started {
  const { attempt } = record;
  return { ...record, attempt: { ...attempt, lockedUntil: epochMs(attempt.lockedUntil + byMs) } };
}

describe("a claim", () => {
  it("that is granted while another attempt has the lock breaks G12", async () => {
    plantAnyStep((actual, record, event, policy, now) =>
      event.type === "claim" && record?.state === "started" && event.attemptId !== record.attempt.id
        ? actual(record, event, policy, epochMs(now + record.policy.lockMs))
        : null,
    );
    await expectFound(/G12: c\d+ is granted after c\d+, which has the lock until/, "claims");
  });

  it("of a lost answer that is refused by its own lock breaks G12", async () => {
    plantStep((actual, record, event, now) => {
      const taken = actual(record, event, record.policy, now);
      if (taken.reply.type !== "granted-again") return null;
      const { record: started } = taken.reply;
      return { ...taken, reply: { type: "in-flight", record: started, retryFrom: started.attempt.lockedUntil } };
    });
    await expectFound(/G12: c\d+ has the lock until \d+, and its own claim gets in-flight/, "claims");
  });

  it("that moves the lock by being granted again breaks G12", async () => {
    plantStep((actual, record, event, now) => {
      const taken = actual(record, event, record.policy, now);
      if (taken.reply.type !== "granted-again") return null;
      return { ...taken, reply: { type: "granted-again", record: moved(taken.reply.record, 10) } };
    });
    await expectFound(/G12: c\d+ is granted again until \d+, and it had the lock until/, "claims");
  });

  it("that is numbered from 1 again breaks G12", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "claim" && record.state === "failed"
        ? actual({ ...record, attempt: { ...record.attempt, number: 0 } }, event, record.policy, now)
        : null,
    );
    await expectFound(/G12: c\d+ is granted after c\d+ with number 1, expected a higher one/, "claims");
  });

  it("that is granted a second time after its release breaks G12", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "claim" && record.state === "failed" && record.attempt.id === event.attemptId
        ? actual({ ...record, attempt: { ...record.attempt, id: attemptId("another") } }, event, record.policy, now)
        : null,
    );
    await expectFound(/G12: c\d+ has ended, and is granted a second time/, "claims");
  });

  it("that is granted for another time than its holder wanted breaks G12", async () => {
    plantAnyStep((actual, record, event, policy, now) => {
      const taken = actual(record, event, policy, now);
      if (event.type !== "claim" || taken.reply.type !== "start") return taken;
      const longer = moved(taken.reply.record, 5);
      return { ...taken, record: longer, reply: { type: "start", record: longer } };
    });
    await expectFound(/G12: c\d+ is granted for \d+ ms, expected \d+ ms/, "claims");
  });

  it("that is refused, and ends the lock of another, breaks G12", async () => {
    plantStep((actual, record, event, now) => {
      const taken = actual(record, event, record.policy, now);
      if (event.type !== "claim" || taken.reply.type !== "in-flight" || record.state !== "started") return null;
      const { fingerprint, attempt, policy } = record;
      const expiresAt = epochMs(now + policy.retentionMs);
      const retryFrom = attempt.lockedUntil;
      return { ...taken, record: { state: "failed", fingerprint, attempt, policy, retryFrom, expiresAt } };
    });
    await expectFound(/G12: c\d+ has the lock until \d+, and r\d is failed/, "claims");
  });

  it("that hears of another message although it is the same breaks G12", async () => {
    plantStep((actual, record, event, now) => {
      const taken = actual(record, event, record.policy, now);
      return event.type === "claim" && record.state === "completed"
        ? { ...taken, record, reply: { type: "key-reused" } }
        : null;
    });
    await expectFound(/G12: c\d+ hears mismatch, and every claim of r\d was the same/, "claims");
  });

  it("that is granted while the outcome of another is unknown breaks G6", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "claim" || record.policy.unknown !== "hold") return null;
      return actual({ ...record, policy: { ...record.policy, unknown: "retry" } }, event, record.policy, now);
    });
    await expectFound(/G6: c\d+ is granted after c\d+, whose outcome is unknown/, "claims");
  });

  it("that is granted after a completion breaks G2", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "claim" && record.state === "completed" ? actual(null, event, record.policy, now) : null,
    );
    await expectFound(/G2: c\d+ is granted after c\d+, whose result is kept/, "claims");
  });
});

describe("a lease", () => {
  it("that another attempt can end breaks G12", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "result") return null;
      return actual(record, { ...event, attemptId: record.attempt.id }, record.policy, now);
    });
    await expectFound(/G12: c\d+ is completed, (after c\d+ was granted|and it was never granted)/, "claims");
  });

  it("that another attempt can extend breaks G12", async () => {
    planted.mayExtend = (record) => record?.state === "started";
    plantStep((actual, record, event, now) =>
      event.type === "renew" ? actual(record, { ...event, attemptId: record.attempt.id }, record.policy, now) : null,
    );
    await expectFound(/G12: (c\d+ asks, and c\d+ is granted|c\d+ is extended, (after|and it was never))/, "claims");
  });

  it("that is released after its completion breaks G12", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "refused" && record.state === "completed"
        ? { ...actual(record, { type: "tick" }, record.policy, now), record, reply: { type: "settled" } }
        : null,
    );
    await expectFound(/G12: c\d+ is released, and it was completed/, "claims");
  });

  it("that an operator ends beside its holder breaks G12", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "forget" && record.state === "started"
        ? { record: null, reply: { type: "changed" }, deadline: null }
        : actual(record, event, record.policy, now),
    );
    await expectFound(/G12: an operator's forget beside c\d+, which has the lock until/, "claims", "operators");
  });

  it("that its holder has not ended and has no more breaks G12", async () => {
    planted.mayExtend = () => false;
    await expectFound(/G12: c\d+ has the lock until \d+, and its extend is superseded/, "claims");
  });

  it("that is not as long as its holder wanted breaks G12", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "renew") return null;
      const taken = actual(record, event, record.policy, now);
      return taken.reply.type === "settled" ? { ...taken, record } : taken;
    });
    await expectFound(/G12: c\d+ is extended for \d+ ms, expected/, "claims");
  });
});

describe("a position", () => {
  it("that is the highest offset breaks G12", async () => {
    planted.after = (stored, claimed, offset) => {
      const done = Math.max(stored?.done ?? 0, offset + 1);
      return { next: done, done, claimed };
    };
    await expectFound(
      /G12: the position (?:that is read )?is \d+, and \d+ \(r\d\) is (started|failed|unknown)/,
      "claims",
    );
  });

  it("that is the last offset goes back, and breaks G12", async () => {
    planted.after = (_stored, claimed, offset) => ({ next: offset + 1, done: offset + 1, claimed });
    await expectFound(/G12: the position goes back/, "claims");
  });

  it("that is stored in another turn than its completion breaks G12", async () => {
    const put = original(PositionRows.prototype, "put");
    vi.spyOn(PositionRows.prototype, "put").mockImplementation(function later(this: PositionRows, ...row) {
      setTimeout(() => put.apply(this, row), 0);
    });
    vi.spyOn(PositionRows.prototype, "made").mockImplementation(() => undefined);
    await expectFound(/G12: the position ends at \d+, and the last completion is \d+/, "claims");
  });

  it("that passes what an earlier instance has left open breaks G12", async () => {
    vi.spyOn(PositionRows.prototype, "claimed").mockReturnValue([]);
    await expectFound(/G12: the position( that is read)? is \d+, and \d+ \(r\d\) is/, "claims");
  });

  it("that passes what was never claimed breaks G12", async () => {
    const actual = await vi.importActual<typeof PositionRules>("../../../../src/kernel/record/position.ts");
    planted.withClaim = (claimed, { offset }) => actual.withClaim(claimed, { offset });
    await expectFound(/G12: the position( that is read)? is \d+, and \d+ \(r\d\) was never claimed/, "claims");
  });

  it("that forgets with its instance what was never claimed breaks G12", async () => {
    const put = original(PositionRows.prototype, "put");
    vi.spyOn(PositionRows.prototype, "put").mockImplementation(function bare(this: PositionRows, partition, position) {
      put.call(this, partition, { ...position, claimed: position.claimed.map((one) => ({ ...one, after: null })) });
    });
    await expectFound(/G12: the position( that is read)? is \d+, and \d+ \(r\d\) was never claimed/, "claims");
  });

  it("that is read as the last completion breaks G12", async () => {
    const get = original(PartitionPositions.prototype, "get");
    vi.spyOn(PartitionPositions.prototype, "get").mockImplementation(function hasty(this: PartitionPositions, where) {
      const stored = get.call(this, where);
      return { ...stored, next: stored.next === null ? null : stored.next + 1 };
    });
    await expectFound(/G12: the position is read as \d+, and it is stored as \d+ to \d+/, "claims");
  });

  it("that knows of no open offset breaks G12", async () => {
    vi.spyOn(OpenOffsets.prototype, "lowest").mockReturnValue(null);
    await expectFound(/G12: the position( that is read)? is \d+, and \d+ \(r\d\) is/, "claims");
  });
});
