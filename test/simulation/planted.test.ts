// Does the simulation see anything? Each of these breaks one part of the gateway on purpose, and the rule that stands for it
// has to find that within so many interleavings.

import { afterEach, describe, it, vi } from "vitest";
import { expectFound, original, plantAnyStep, plantStep } from "./plant.ts";
import { MAX_PAUSE_MS } from "../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord } from "../../src/kernel/record/record.ts";
import { durationMs, epochMs, type EpochMs } from "../../src/kernel/record/units.ts";
import { BodyStore } from "../../src/kernel/store/bodies.ts";
import { ExchangeRunner } from "../../src/kernel/object/exchanges.ts";
import { Ledger } from "../../src/kernel/store/ledger.ts";
import { AttemptsInFlight } from "../../src/kernel/object/attempts-in-flight.ts";
import { OverflowBucket } from "../../src/kernel/overflow/overflow.ts";
import { VerificationQueue } from "../../src/kernel/verify/verifications.ts";
import { RecordSteps } from "../../src/kernel/object/record-steps.ts";
import { RecordRows } from "../../src/kernel/store/record-rows.ts";
import { RemoteBodies } from "../../src/kernel/overflow/remote-bodies.ts";
import { ObjectTimers } from "../../src/kernel/object/timers.ts";
import { LOCK_MS, RETENTION_MS, TIMEOUT_MS } from "./times.ts";

const planted = vi.hoisted(() => ({ hidesLength: false, isGullible: false }));

vi.mock(import("../../src/kernel/record/record-fault.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const isTime: typeof actual.isTime = (value): value is number => planted.isGullible || actual.isTime(value);
  return { ...actual, isTime, recordFault: (record) => (planted.isGullible ? null : actual.recordFault(record)) };
});

vi.mock(import("../../src/kernel/body/response-spool.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const spoolFor: typeof actual.spoolFor = (response, ...rest) =>
    actual.spoolFor(planted.hidesLength ? { ...response, length: null } : response, ...rest);
  return { ...actual, spoolFor };
});

afterEach(() => {
  planted.hidesLength = false;
  planted.isGullible = false;
});

/** Whatever state it is in, it is taken for unknown. */
function unknownOf(record: IdempotencyRecord, now: EpochMs): IdempotencyRecord {
  const { fingerprint, attempt, policy } = record;
  const expiresAt = epochMs(now + policy.retentionMs);
  return { state: "unknown", fingerprint, attempt, policy, verifyAt: null, verifications: 0, expiresAt };
}

describe("an operator's decision", () => {
  it("that lets the next attempt in before the lock's end breaks G1", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "release") return null;
      const taken = actual(record, event, record.policy, now);
      return taken.record?.state === "failed" ? { ...taken, record: { ...taken.record, retryFrom: now } } : taken;
    });
    await expectFound(/G1: .* before the end of its lock/, "operators");
  });

  it("beside an attempt in flight breaks G1", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "release" && record.state === "started"
        ? actual(unknownOf(record, now), event, record.policy, now)
        : null,
    );
    vi.spyOn(RecordSteps.prototype, "change").mockImplementation(function change(
      this: RecordSteps,
      id,
      event,
      response,
    ) {
      const now = epochMs(Date.now());
      const policy = {
        unknown: "hold",
        lockMs: durationMs(1),
        retentionMs: durationMs(1),
        unknownRetentionMs: durationMs(1),
      } as const;
      const { reply } = this.take(id, event, policy, now, { response });
      return reply.type === "unchangeable" ? reply.why : null;
    });
    await expectFound(/G1: an operator's release beside a\d+, which is in flight/, "operators");
  });

  it("that takes the place of an answer breaks G2", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "resolve" && record.state === "completed"
        ? actual(unknownOf(record, now), event, record.policy, now)
        : null,
    );
    await expectFound(/G2: r\d is resolved, after .* was told/, "operators");
  });

  it("that forgets an attempt which may be in flight breaks G1", async () => {
    plantStep((_actual, _record, { type }) =>
      type === "forget" ? { record: null, reply: { type: "changed" }, deadline: null } : null,
    );
    await expectFound(/G1: a\d+ is forgotten before the end of its lock/, "operators");
  });

  it("beside a question whose answer is on its way breaks G6", async () => {
    vi.spyOn(VerificationQueue.prototype, "isVerifying").mockReturnValue(false);
    await expectFound(/G6: an operator's (release|resolve|forget) of r\d beside a question/, "operators");
  });

  it("after which attempts are counted anew breaks G6", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "release") return null;
      const taken = actual(record, event, record.policy, now);
      if (taken.record === null || taken.reply.type !== "changed") return taken;
      return { ...taken, record: { ...taken.record, attempt: { ...record.attempt, number: 0 } } };
    });
    await expectFound(/G6: a\d+ has number 1, a\d+ had 1/, "operators");
  });

  it("whose answer is not kept breaks G2", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "resolve") return null;
      const taken = actual(record, event, record.policy, now);
      if (taken.record?.state !== "completed" || taken.reply.type !== "changed") return taken;
      return { ...taken, record: { ...taken.record, kept: false } };
    });
    await expectFound(/G2: r\d was resolved, and has no such answer/, "operators");
  });
});

describe("the key at the origin", () => {
  it("that follows the settings instead of the record's first attempt breaks G6", async () => {
    const save = original(Ledger.prototype, "save");
    vi.spyOn(Ledger.prototype, "save").mockImplementation(function forgetful(this: Ledger, id, entry, record, more) {
      save.call(this, id, entry, record, { ...more, keyForm: null });
    });
    await expectFound(/G6: a\d+ has the key as .*, a\d+ had /);
  });
});

describe("a question", () => {
  it("with another's credential, believed like the claim's own, breaks G6", async () => {
    const verification = original(Ledger.prototype, "verification");
    vi.spyOn(Ledger.prototype, "verification").mockImplementation(function confused(this: Ledger, id, entry) {
      const text = verification.call(this, id, entry);
      return (
        text?.replaceAll(/client [01]/g, (client: string) => (client === "client 0" ? "client 1" : "client 0")) ?? null
      );
    });
    await expectFound(/G6: .* is a second effect after/, "foreign");
  });

  it("that nothing ends breaks G8", async () => {
    const set = original(ObjectTimers.prototype, "set");
    vi.spyOn(ObjectTimers.prototype, "set").mockImplementation(function endless(this: ObjectTimers, afterMs, run) {
      return set.call(this, afterMs, afterMs === TIMEOUT_MS ? () => undefined : run);
    });
    await expectFound(/G8: (a question about r\d goes on|it never comes to rest)/, "trickles");
  });
});

describe("who leaves, waits, or stands still", () => {
  it("and leaves a timer behind breaks G8", async () => {
    const run = original(ExchangeRunner.prototype, "run");
    vi.spyOn(ExchangeRunner.prototype, "run").mockImplementation(function wasteful(this: ExchangeRunner, ...request) {
      setTimeout(() => undefined, 1_000);
      return run.apply(this, request);
    });
    await expectFound(/G8: \d+ timers, and only \d+ requests wait/, "leavers");
  });

  it("and calls again although the origin has refused breaks G8", async () => {
    const settled = original(AttemptsInFlight.prototype, "settled");
    vi.spyOn(AttemptsInFlight.prototype, "settled").mockImplementation(function unshared(
      this: AttemptsInFlight,
      id,
      one,
    ) {
      settled.call(this, id, one, null);
    });
    await expectFound(/G8: a\d+ starts, and its client has waited for a\d+, which was refused/);
  });

  it("and holds what has expired breaks G8", async () => {
    vi.spyOn(BodyStore.prototype, "release").mockImplementation(() => undefined);
    await expectFound(/G8: chunks left for ever/);
  });
});

describe("a remembered key", () => {
  it("that is erased with its record breaks G2", async () => {
    plantStep((actual, record, event, now) => {
      const taken = actual(record, event, record.policy, now);
      const isMoved = event.type === "tick" && taken.record?.state === "remembered";
      return isMoved ? { record: null, reply: { type: "nothing-due" }, deadline: null } : null;
    });
    await expectFound(/G2: a\d+ starts after a\d+, whose result is durable/, "remembered");
  });

  it("of which the next request starts an attempt breaks G2", async () => {
    plantAnyStep((actual, record, event, policy, now) => {
      const taken = actual(record, event, policy, now);
      return taken.reply.type === "key-expired" ? actual(null, event, policy, now) : taken;
    });
    await expectFound(/G2: a\d+ starts after a\d+, whose result is durable/, "remembered");
  });

  it("that is told before the record has expired breaks G2", async () => {
    plantAnyStep((actual, record, event, policy, now) => {
      const taken = actual(record, event, policy, now);
      return taken.reply.type === "replay" && policy.rememberMs !== undefined
        ? actual(record, event, policy, epochMs(now + RETENTION_MS))
        : taken;
    });
    await expectFound(/G2: request a\d+ hears key-expired, but a\d+ started only/, "remembered");
  });
});

describe("a row that cannot be read", () => {
  it("whose times count as 1970 lets an attempt start, which breaks G6", async () => {
    planted.isGullible = true;
    await expectFound(/G6: a\d+ starts, and its record cannot be read/, "unreadable");
  });

  it("and is erased with those that have expired breaks G6", async () => {
    vi.spyOn(RecordRows.prototype, "setAside").mockImplementation(() => undefined);
    await expectFound(/G6: the record of r\d cannot be read, and is gone/, "unreadable");
  });
});

describe("a clock that was ahead", () => {
  it("and whose lock is believed for as long as any lock lasts breaks G1", async () => {
    plantAnyStep((actual, record, event, policy, now) => {
      if (record?.state !== "started" || record.attempt.lockedUntil <= now + LOCK_MS)
        return actual(record, event, policy, now);
      return actual({ ...record, attempt: { ...record.attempt, lockedUntil: now } }, event, policy, now);
    });
    await expectFound(/G1: \w+ starts after a\d+, (before the end of its lock|which is still in flight)/, "jumps");
  });

  it("before its record's answer came, and after which that expires early, breaks G2", async () => {
    plantAnyStep((actual, record, event, policy, now) => {
      const taken = actual(record, event, policy, now);
      if (taken.record?.state !== "completed" || record?.state !== "started") return taken;
      const early = epochMs(taken.record.expiresAt - Math.max(0, record.attempt.lockedUntil - now - LOCK_MS));
      return { ...taken, record: { ...taken.record, expiresAt: epochMs(Math.max(early, 1)) } };
    });
    await expectFound(/G2: (a\d+ starts after a\d+, whose result is durable|.*expected a replay)/, "jumps");
  });
});

describe("what a clock that was ahead has put off", () => {
  it("is a question to the origin, and breaks G8", async () => {
    plantAnyStep((actual, ...given) => {
      const taken = actual(...given);
      const { record } = taken;
      if (record?.state !== "unknown" || record.verifyAt === null) return taken;
      return { ...taken, record: { ...record, verifyAt: epochMs(record.verifyAt + 2 * MAX_PAUSE_MS) } };
    });
    await expectFound(/G8: the origin is asked about r\d in \d+ ms, which a clock that was ahead/, "jumps");
  });
});

describe("a bucket", () => {
  it("in which bodies stay breaks G8", async () => {
    vi.spyOn(RemoteBodies.prototype, "discard").mockImplementation(() => undefined);
    await expectFound(/G8: (bodies\/a\d+|remote) left for ever/, "bucket");
  });

  it("that is believed before it has said that it has the body breaks G4", async () => {
    vi.spyOn(OverflowBucket.prototype, "complete").mockImplementation(() => Promise.resolve());
    await expectFound(/G4: .* hears response-not-kept/, "bucket");
  });
});

describe("a body of known length", () => {
  it("of which the last byte is shown before the record is durable breaks G4", async () => {
    planted.hidesLength = true;
    await expectFound(/G4: request a\d+ hears .*, and no record of that is durable/, "lengths", "bucket");
  });
});

describe("another request with the key", () => {
  it("that is taken although an attempt may have acted breaks G6", async () => {
    plantAnyStep((actual, record, event, policy, now) =>
      event.type === "request" && record?.state === "failed"
        ? actual({ ...record, attempt: { ...record.attempt, mayHaveActed: false } }, event, policy, now)
        : actual(record, event, policy, now),
    );
    await expectFound(/G6: a\d+ starts after a\d+, which may have acted for another request/, "corrected");
  });

  it("that is taken where only the same may follow breaks G6", async () => {
    plantAnyStep((actual, record, event, policy, now) =>
      actual(record, event, event.type === "request" ? { ...policy, afterRefusal: "any" } : policy, now),
    );
    await expectFound(/G6: a\d+ starts after a\d+, which may have acted for another request/);
  });
});

describe("a body that flows through", () => {
  it("and breaks off, taken for a refusal, breaks G6", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "ambiguous" ? actual(record, { ...event, type: "refused" }, record.policy, now) : null,
    );
    await expectFound(/G6: /, "cuts");
  });
});
