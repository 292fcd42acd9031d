import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  type MessageDecision,
  decideDelivery,
  type Delivery,
  isProblemCode,
  MIN_MAX_RETRIES,
  deliveryPauseMs,
  type DeliveryAnswer,
} from "../../../../src/kernel/record/delivery.ts";
import type { ClientProblemCode } from "../../../../src/kernel/record/problem.ts";
import type { Verdict } from "../../../../src/kernel/record/verdict.ts";

const HOUR_MS = 3_600_000;

const YOUNG: Delivery = {
  attempts: 1,
  ageMs: 1000,
  jitter: 0,
  giveUpAfterMs: 24 * HOUR_MS,
  unknown: "verify",
  done: [200, 201, 409],
};
const OLD: Delivery = { ...YOUNG, attempts: 50, ageMs: 24 * HOUR_MS };

function answer(
  status: number,
  verdict: Verdict,
  others: Partial<Extract<DeliveryAnswer, { kind: "answer" }>> = {},
): DeliveryAnswer {
  return { kind: "answer", status, verdict, isWhole: true, retryAfterMs: null, ...others };
}

function problem(
  code: ClientProblemCode,
  retryAfterMs: number | null = null,
  originalStatus: number | null = null,
): DeliveryAnswer {
  return { kind: "problem", code, retryAfterMs, originalStatus };
}

const ACK = { kind: "ack" };
const RETRY = { kind: "retry", afterMs: 750 };

function dead(reason: string, status: number | null = null): object {
  return { kind: "dead", reason, status };
}

describe("a delivery", () => {
  it.each<[string, DeliveryAnswer, object]>([
    ["a result that settles it", answer(201, "result"), ACK],
    ["another result", answer(422, "result"), dead("rejected", 422)],
    ["a result whose end did not come", answer(201, "result", { isWhole: false }), RETRY],
    ["a refusal", answer(503, "refused"), RETRY],
    ["a refusal with a time", answer(429, "refused", { retryAfterMs: 90_000 }), { kind: "retry", afterMs: 90_000 }],
    ["an ambiguous answer", answer(502, "ambiguous"), RETRY],
    ["an attempt in flight", problem("in-flight", 12_000), { kind: "retry", afterMs: 12_000 }],
    ["an unknown outcome that nobody asks about", problem("outcome-unknown"), dead("outcome-unknown")],
    ["an unknown outcome that is asked about", problem("outcome-unknown", 9000), { kind: "retry", afterMs: 9000 }],
    ["a result that was not kept", problem("response-not-kept", null, 201), ACK],
    ["another result that was not kept", problem("response-not-kept", null, 500), dead("rejected", 500)],
    ["a result of which only the status is known", problem("key-expired", null, 200), ACK],
    ["one that is still unknown", problem("key-expired"), dead("outcome-unknown")],
    ["another content under its key", problem("key-reused"), dead("key-reused")],
    ["an origin that cannot be reached", problem("origin-unreachable"), RETRY],
    ["a lost connection", problem("origin-dropped"), RETRY],
    ["a silent origin", problem("origin-timeout"), RETRY],
    ["a store that cannot be reached", problem("store-unavailable", 1000), { kind: "retry", afterMs: 1000 }],
    ["an unknown outcome whose message is stored", { kind: "parked" }, { kind: "park" }],
    ["no answer at all", { kind: "nothing" }, RETRY],
    ["an invalid configuration", problem("configuration-invalid"), { kind: "retry", afterMs: 900_000 }],
    ["a key that is missing", problem("key-missing"), dead("key-missing")],
    ["a message that cannot be a request", problem("request-invalid"), dead("message-invalid")],
  ])("after %s", (_what, fromShard, decision) => {
    expect(decideDelivery(fromShard, YOUNG)).toEqual(decision);
  });

  it.each<[string, DeliveryAnswer, string | null]>([
    ["a refusal", answer(503, "refused"), "exhausted"],
    ["an origin that cannot be reached", problem("origin-unreachable"), "exhausted"],
    ["an unknown outcome that is asked about", problem("outcome-unknown", 9000), "outcome-unknown"],
    ["an ambiguous answer", answer(500, "ambiguous"), "outcome-unknown"],
    ["a result whose end did not come", answer(201, "result", { isWhole: false }), "outcome-unknown"],
    ["a lost connection", problem("origin-dropped"), "outcome-unknown"],
    ["a silent origin", problem("origin-timeout"), "outcome-unknown"],
    ["a result of which nothing is known", problem("response-not-kept"), "outcome-unknown"],
    ["a limit of new keys", problem("too-many-keys", 1000), "exhausted"],
    ["a credential that is refused", problem("credential-invalid"), "exhausted"],
    // It is in flight, or nobody could look: the next delivery learns what became of it.
    ["an attempt in flight", problem("in-flight", 1000), null],
    ["a store that cannot be reached", problem("store-unavailable"), "store-unavailable"],
    ["no answer at all", { kind: "nothing" }, "store-unavailable"],
  ])("is given up when it is too old, after %s", (_what, fromShard, reason) => {
    const decision = decideDelivery(fromShard, OLD);
    expect(decision.kind === "dead" ? decision.reason : null).toBe(reason);
  });

  it("whose last attempt is unknown is left to the next one where that stores it with its record, or asks the origin", () => {
    const isDead = (delivery: Delivery): boolean => decideDelivery(answer(500, "ambiguous"), delivery).kind === "dead";
    expect(isDead({ ...OLD, unknown: "hold" })).toBe(false);
    expect(isDead({ ...OLD, unknown: "retry" })).toBe(true);
    expect(isDead({ ...OLD, attempts: 1 })).toBe(false);
    expect(isDead({ ...OLD, attempts: 2 })).toBe(true);
  });

  it("is not given up for a moment without its object, however late its queue has delivered it", () => {
    for (const attempts of [1, 7]) {
      expect(decideDelivery({ kind: "nothing" }, { ...OLD, attempts }).kind).toBe("retry");
    }
    expect(decideDelivery({ kind: "nothing" }, { ...OLD, attempts: 8 }).kind).toBe("dead");
  });

  it("is only acknowledged after a whole result that settles it", () => {
    const codes = fc.constantFrom<ClientProblemCode>(
      "in-flight",
      "outcome-unknown",
      "key-reused",
      "store-unavailable",
      "origin-dropped",
      "origin-timeout",
      "origin-unreachable",
    );
    const verdict = fc.constantFrom<Verdict>("result", "refused", "ambiguous");
    const answers = fc.oneof(
      fc.record({
        kind: fc.constant("answer" as const),
        status: fc.integer({ min: 200, max: 599 }),
        verdict,
        isWhole: fc.boolean(),
        retryAfterMs: fc.option(fc.nat()),
      }),
      fc.record({
        kind: fc.constant("problem" as const),
        code: codes,
        retryAfterMs: fc.option(fc.nat()),
        originalStatus: fc.constant(null),
      }),
    );
    fc.assert(
      fc.property(answers, fc.boolean(), (one, isOld) => {
        const decision: MessageDecision = decideDelivery(one, isOld ? OLD : YOUNG);
        const isSettled =
          one.kind === "answer" && one.verdict === "result" && one.isWhole && YOUNG.done.includes(one.status);
        expect(decision.kind === "ack").toBe(isSettled);
      }),
    );
  });
});

describe("the pauses", () => {
  it("double, and are at most a part of the time in which the message is tried", () => {
    const after = (attempts: number): number => deliveryPauseMs({ ...YOUNG, attempts });
    expect([1, 2, 3, 4].map(after)).toEqual([750, 1500, 3000, 6000]);
    expect(after(200)).toBe(0.75 * (24 / 32) * HOUR_MS);
    expect(deliveryPauseMs({ ...YOUNG, attempts: 10_000, giveUpAfterMs: 14 * 24 * HOUR_MS })).toBeLessThanOrEqual(
      12 * HOUR_MS,
    );
  });

  it("end before the platform's retries do, whatever the time", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 14 * 24 * HOUR_MS }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (giveUpAfterMs, jitter) => {
          let ageMs = 0;
          let attempts = 1;
          for (; ageMs < giveUpAfterMs; attempts += 1) {
            const decision = decideDelivery(problem("origin-unreachable"), {
              ...YOUNG,
              attempts,
              ageMs,
              jitter,
              giveUpAfterMs,
            });
            ageMs += decision.kind === "retry" ? decision.afterMs : giveUpAfterMs;
          }
          expect(attempts).toBeLessThanOrEqual(MIN_MAX_RETRIES);
        },
      ),
    );
  });
});

it("knows the codes of problems, and no others", () => {
  expect(isProblemCode("in-flight")).toBe(true);
  expect(isProblemCode("first")).toBe(false);
  expect(isProblemCode("constructor")).toBe(false);
});
