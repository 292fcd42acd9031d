// Does the simulation see anything of a queue's messages? As ../planted.test.ts.

import { afterEach, describe, it, vi } from "vitest";
import { expectFound, original, plantStep } from "../../../simulation/plant.ts";
import { ExpiredRecords } from "../../../../src/kernel/store/expired-records.ts";
import { OutboxRows } from "../../../../src/features/outbox/object/rows.ts";
import type { decideDelivery } from "../../../../src/kernel/record/delivery.ts";

type Decide = typeof decideDelivery;

interface Planted {
  decide: ((actual: Decide, ...given: Parameters<Decide>) => ReturnType<Decide>) | null;
  /** Whether the consumer takes the beginning of an answer for all of it. */
  isHasty: boolean;
}

const planted = vi.hoisted((): Planted => ({ decide: null, isHasty: false }));

vi.mock(import("../../../../src/kernel/record/delivery.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const decide: Decide = (...given) =>
    planted.decide === null ? actual.decideDelivery(...given) : planted.decide(actual.decideDelivery, ...given);
  return { ...actual, decideDelivery: decide };
});

vi.mock(import("../../../simulation/stand-ins.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const deliveredResponse: typeof actual.deliveredResponse = (response, rest) =>
    actual.deliveredResponse(response, planted.isHasty ? null : rest);
  return { ...actual, deliveredResponse };
});

afterEach(() => {
  planted.decide = null;
  planted.isHasty = false;
});

const ACKNOWLEDGED = /G9: m\d+ of r\d is acknowledged, and neither settled, kept nor a dead letter/;

describe("a message", () => {
  it("that is acknowledged while its attempt runs breaks G9", async () => {
    planted.decide = (actual, answer, delivery) =>
      answer.kind === "problem" && answer.code === "in-flight" ? { kind: "ack" } : actual(answer, delivery);
    await expectFound(ACKNOWLEDGED, "deliveries");
  });

  it("that is acknowledged at the first byte of its answer breaks G9", async () => {
    planted.isHasty = true;
    await expectFound(ACKNOWLEDGED, "deliveries", "bucket");
  });

  it("that is acknowledged although its answer broke off breaks G9", async () => {
    planted.decide = (actual, answer, delivery) =>
      actual(answer.kind === "answer" ? { ...answer, isWhole: true } : answer, delivery);
    await expectFound(ACKNOWLEDGED, "deliveries", "bucket");
  });

  it("whose content is not compared with that of its key breaks G9", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "request"
        ? actual(record, { ...event, fingerprint: record.fingerprint }, record.policy, now)
        : null,
    );
    await expectFound(ACKNOWLEDGED, "deliveries");
  });

  it("that is said to be kept and is not breaks G9", async () => {
    plantStep((_actual, record, { type }) =>
      type === "park" && record.state === "unknown" ? { record, reply: { type: "parked" }, deadline: null } : null,
    );
    await expectFound(ACKNOWLEDGED, "deliveries");
  });

  it("that is acknowledged although the origin refused it breaks G9", async () => {
    planted.decide = (actual, answer, delivery) =>
      answer.kind === "answer" && answer.verdict === "refused" ? { kind: "ack" } : actual(answer, delivery);
    await expectFound(ACKNOWLEDGED, "deliveries");
  });

  it("that the origin never takes, and that is never too old, breaks G9", async () => {
    planted.decide = (actual, answer, delivery) => {
      const isAmbiguous = answer.kind === "answer" && answer.verdict === "ambiguous";
      return actual(answer, isAmbiguous ? { ...delivery, ageMs: 0 } : delivery);
    };
    await expectFound(/G9: m\d+ is never settled/, "deliveries", "poison");
  });

  it("that is a dead letter although its result settles it breaks G9", async () => {
    planted.decide = (actual, answer, delivery) => {
      const decision = actual(answer, delivery);
      return decision.kind === "ack" ? { kind: "dead", reason: "rejected", status: 201 } : decision;
    };
    await expectFound(/G9: m\d+ is a dead letter, "rejected", and that is not so/, "deliveries");
  });

  it("that nobody ever settles breaks G9", async () => {
    planted.decide = (actual, answer, delivery) => {
      const decision = actual(answer, delivery);
      return decision.kind === "ack" ? { kind: "retry", afterMs: 1 } : decision;
    };
    await expectFound(/G9: m\d+ is never settled/, "deliveries");
  });
});

const NO_LETTER = /G9: m\d+ of r\d, parked until now, has 0 letters, expected 1/;

describe("a parked message", () => {
  it("whose record expires without a letter breaks G9", async () => {
    const erase = original(ExpiredRecords.prototype, "erase");
    vi.spyOn(ExpiredRecords.prototype, "erase").mockImplementation(function silent(this: ExpiredRecords, now, limit) {
      return erase.call(this, now, limit);
    });
    await expectFound(NO_LETTER, "deliveries");
  });

  it("whose letter is written in another turn than its record's end breaks G9", async () => {
    const insert = original(OutboxRows.prototype, "insert");
    vi.spyOn(OutboxRows.prototype, "insert").mockImplementation(function later(this: OutboxRows, ...row) {
      setTimeout(() => insert.apply(this, row), 0);
    });
    await expectFound(NO_LETTER, "deliveries");
  });
});
