// Does the simulation see anything of keys that are looked up and given up? As ../../../simulation/planted.test.ts.

import { afterEach, describe, it, vi } from "vitest";
import { expectFound, original, plantAnyStep } from "../../../simulation/plant.ts";
import { RecordSteps } from "../../../../src/kernel/object/record-steps.ts";

const planted = vi.hoisted((): { isAlwaysSafe: boolean } => ({ isAlwaysSafe: false }));

vi.mock(import("../../../../src/features/look-up/key-report.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  return {
    ...actual,
    describeKey: (...taken) => {
      const report = actual.describeKey(...taken);
      return planted.isAlwaysSafe ? { ...report, safeNewKey: true } : report;
    },
  };
});

afterEach(() => {
  planted.isAlwaysSafe = false;
});

const STARTS = /G6: \w+ starts, and a client was told that r\d is given up/;

describe("a key that was given up", () => {
  it("and is not stored starts an attempt, which breaks G6", async () => {
    plantAnyStep((_actual, record, { type }) =>
      type === "abandon" ? { record, reply: { type: "abandoned" }, deadline: null } : null,
    );
    await expectFound(STARTS, "look-ups");
  });

  it("before that is durable starts an attempt after a crash, which breaks G6", async () => {
    const take = original(RecordSteps.prototype, "take");
    vi.spyOn(RecordSteps.prototype, "take").mockImplementation(function late(this: RecordSteps, ...taken) {
      if (taken[1].type !== "abandon") return take.apply(this, taken);
      // A disk that is full fails it, too.
      later(() => take.apply(this, taken)).catch(() => undefined);
      return { entry: null, record: null, reply: { type: "abandoned" }, deadline: null };
    });
    await expectFound(STARTS, "look-ups");
  });

  it("beside an attempt that may have acted breaks G6", async () => {
    planted.isAlwaysSafe = true;
    plantAnyStep((actual, record, event, policy, now) =>
      event.type === "abandon" && record !== null ? actual(null, event, policy, now) : null,
    );
    await expectFound(/G6: abandonment \d+ gives r\d up, with one, but \w+ may have acted/, "look-ups");
  });
});

describe("a report of a key", () => {
  it("that always calls a new key safe breaks G6", async () => {
    planted.isAlwaysSafe = true;
    // Nobody is told that such a key is given up.
    plantAnyStep((actual, record, event, policy, now) =>
      event.type === "abandon" && record !== null ? actual(null, event, policy, now) : null,
    );
    await expectFound(/G6: look-up \d+ is told that a new key is safe, but \w+ may have acted/, "look-ups");
  });
});

/** After the answer has been given, and in the same step. */
async function later(write: () => unknown): Promise<void> {
  for (let left = TURNS; left > 0; left -= 1) await Promise.resolve();
  write();
}
const TURNS = 20;
