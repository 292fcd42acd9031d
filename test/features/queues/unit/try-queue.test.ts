// What `onceway try --queue` makes of the gateway's answer.

import { describe, expect, it } from "vitest";
import { plainLook } from "../../../../src/cli/look.ts";
import { judgeTrial, type QueueTrial, trialReport } from "../../../../src/features/queues/cli/try-queue.ts";

type Delivery = QueueTrial["deliveries"][number];

const FIRST: Delivery = { decision: "ack", reason: null, afterMs: null, answer: "first", status: 201 };
const SECOND: Delivery = { ...FIRST, answer: "replayed" };
const TRIAL: QueueTrial = {
  queue: "orders",
  messageId: "m1",
  recordId: "ab".repeat(32),
  deliveries: [FIRST, SECOND],
  attempts: 1,
  record: null,
};

describe("a trial", () => {
  it("works if both deliveries are acknowledged after one attempt", () => {
    expect(judgeTrial(TRIAL)).toMatchObject({ works: true, advice: null });
    const notKept: QueueTrial = {
      ...TRIAL,
      deliveries: [FIRST, { ...SECOND, answer: "response-not-kept", status: null }],
    };
    expect(judgeTrial(notKept).works).toBe(true);
  });

  it.each<[string, Partial<QueueTrial>, string]>([
    ["the record is older", { deliveries: [SECOND, SECOND] }, "has a record from before"],
    ["there were two attempts", { attempts: 2 }, "called 2 times"],
    ["the record is gone", { attempts: null }, "was not found"],
    ["there was one delivery", { deliveries: [FIRST] }, "no two deliveries"],
    ["it is to be delivered again", { deliveries: [FIRST, { ...SECOND, decision: "retry" }] }, "deliver it again"],
    [
      "it is dead",
      { deliveries: [{ ...FIRST, decision: "dead", reason: "rejected" }, SECOND] },
      "dead letter: rejected",
    ],
    [
      "its letter was lost",
      { deliveries: [{ ...FIRST, decision: "retry", reason: "rejected" }, SECOND] },
      "not accepted",
    ],
    ["it is parked", { deliveries: [{ ...FIRST, decision: "park" }, SECOND] }, "keeps the message"],
    ["a newer gateway decides otherwise", { deliveries: [{ ...FIRST, decision: "later" }, SECOND] }, "not settled"],
  ])("proves nothing if %s", (_, change, happened) => {
    const finding = judgeTrial({ ...TRIAL, ...change });
    expect(finding.works).toBe(false);
    expect(finding.happened).toContain(happened);
    expect(finding.advice).not.toBeNull();
  });

  it("is shown with what its texts could do to a terminal written out", () => {
    const trial: QueueTrial = { ...TRIAL, deliveries: [{ ...FIRST, afterMs: 1200, answer: "\u001b[2J" }] };
    const text = trialReport(trial, judgeTrial(trial), plainLook);
    expect(text).toContain("again in 2 s");
    expect(text).not.toContain("\u001b");
  });
});
