// Defects that shipped elsewhere and show only after a crash, or when an alarm fires late or never.
// The gateway is killed as a crash would kill it; what the alarm has done is read from the shard's own file.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { type Gateway } from "../../../support/gateway.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import { clientOf, type Message, removeGateway, startGateway, until } from "../../../support/e2e/scene.ts";
import { openShardDatabase } from "../../../support/e2e/shard-database.ts";

/** Longer than a restart takes on a busy machine. */
const LOCK_MS = 6_000;

let origin: TestOrigin;
let gateway: Gateway;
beforeEach(async () => {
  origin = await startOrigin();
  gateway = await startGateway(origin.url, { shards: 1, timeout: "2s", lock: `${LOCK_MS}ms` }, [
    { path: "/retry/*", unknown: "retry" },
    { path: "/hold/*", unknown: "hold" },
    { path: "/brief/*", lock: "2500ms", retention: "3s", unknown_retention: "3s" },
    { path: "/long/*", lock: "2100ms", unknown: "hold" },
  ]);
});
afterEach(async () => {
  await removeGateway(gateway);
  await origin.close();
});

type Sent = Message & { readonly key: string };

const send = (message: Message): Promise<RawResponse> => clientOf(gateway.url).send(message);

/** Kills the gateway while the origin works on the request, and starts it again. */
async function crashDuring(message: Sent): Promise<void> {
  const { response } = clientOf(gateway.url).open({ ...message, timeoutMs: 60_000 });
  response.catch(() => undefined);
  await origin.arrived(message.key);
  await gateway.kill9();
  gateway = await gateway.restart();
}

/** The first answer that is not in-flight. */
function untilSettled(message: Sent): Promise<RawResponse> {
  return until(async () => {
    const response = await send(message);
    return headerValue(response, "retry-after") === null ? response : null;
  }, "an answer that is not in-flight");
}

const inFlight = (key: string) => ({ code: "in-flight", status: 409, retryable: true, echo: key });

describe("a crash during an attempt", () => {
  it("does not block the key for the whole retention: the lock ends, and the operation runs again", async () => {
    const behave = { sequence: [{ hold: true }, { status: 201, body: "second" }] };
    const message = { path: `/retry/${freshKey()}`, key: freshKey(), behave };
    const sentAt = Date.now();
    await crashDuring(message);
    const early = await send(message);
    expectProblem(early, inFlight(message.key));
    expectRetryAfter(early, LOCK_MS / 1_000);
    const second = await untilSettled(message);
    expectFirstAnswer(second, 201);
    expectReplay(await send(message), second);
    const requests = await origin.requests(message.key);
    expect(requests.map(({ attempt }) => attempt)).toEqual(["1", "2"]);
    // The first may still be in flight, so attempts never overlap within the lock.
    expect(requests[1]?.arrivedAtMs).toBeGreaterThanOrEqual(sentAt + LOCK_MS);
  });

  it("never leads to a second run by guess where the route holds", async () => {
    const message = { path: "/hold/crash", key: freshKey(), behave: { status: 201, hold: true } };
    await crashDuring(message);
    expectProblem(await send(message), inFlight(message.key));
    const unknown = { code: "outcome-unknown", status: 409, retryable: false, echo: message.key };
    expectProblem(await untilSettled(message), unknown);
    await origin.release(message.key);
    expectProblem(await send(message), unknown);
    expect(await origin.effects(message.key)).toBe(1);
  });

  it("keeps what was answered before it, byte for byte", async () => {
    const message = { path: "/hold/before", key: freshKey(), behave: { status: 201, body: "before the crash" } };
    const first = await send(message);
    await gateway.kill9();
    gateway = await gateway.restart();
    expectReplay(await send(message), first);
    expect(await origin.effects(message.key)).toBe(1);
  });

  it("gives the record to the next attempt: the lost attempt's late answer changes nothing", async () => {
    const lost = { status: 200, hold: true, body: "lost" };
    const behave = { sequence: [lost, { status: 201, hold: true, body: "owner's" }] };
    const message = { path: `/retry/${freshKey()}`, key: freshKey(), behave };
    await crashDuring(message);
    const owner = untilSettled(message);
    await origin.arrived(message.key, 2);
    await origin.release(message.key);
    const first = await owner;
    expect([first.status, first.body.toString()]).toEqual([201, "owner's"]);
    expectReplay(await send(message), first);
    expect(await origin.requests(message.key)).toHaveLength(2);
  });
});

it("a lock never ends under an attempt in flight, however long the answer's body takes", async () => {
  const chunks = Array.from({ length: 8 }, (_, index) => ({ text: `${index} `, pauseMs: 700 }));
  const message = { path: "/long/stream", key: freshKey() };
  await origin.behave({ key: message.key }, { status: 200, chunks });
  const owner = send(message);
  await origin.arrived(message.key);
  let duplicates = 0;
  const replay = await until(async () => {
    const response = await send(message);
    if (response.status === 200) return response;
    expectProblem(response, inFlight(message.key));
    duplicates += 1;
    return null;
  }, "the end of the stream");
  expect(duplicates).toBeGreaterThan(10);
  const first = await owner;
  expect(first.body.toString()).toBe("0 1 2 3 4 5 6 7 ");
  expectReplay(replay, first);
  expect(await origin.effects(message.key)).toBe(1);
});

it("a lock that was renewed outlives a crash: no second attempt while the first may still be in flight", async () => {
  const behave = { status: 200, chunks: ["one, ", "two"], holdBody: 1 };
  const message = { path: "/retry/stream", key: freshKey(), behave };
  const { response } = clientOf(gateway.url).open({ ...message, timeoutMs: 60_000 });
  response.catch(() => undefined);
  await origin.arrived(message.key);
  const database = openShardDatabase(gateway);
  const firstEnd = database.lastLockEnd();
  try {
    await until(async () => (Date.now() > firstEnd && database.lastLockEnd() > firstEnd ? true : null), "the renewals");
  } finally {
    database.close();
  }
  await gateway.kill9();
  gateway = await gateway.restart();
  expectProblem(await send(message), inFlight(message.key));
  expect(await origin.requests(message.key)).toHaveLength(1);
});

describe("an alarm", () => {
  it("is always set: expired records are erased although no further request comes", async () => {
    await send({ path: "/brief/alone", key: freshKey() });
    const database = openShardDatabase(gateway);
    try {
      expect(database.countRecords()).toBe(1);
      expect(await until(async () => (database.countRecords() === 0 ? "erased" : null), "the erasure")).toBe("erased");
    } finally {
      database.close();
    }
  });

  it("survives a crash: a lost attempt's record is erased though its key never comes back", async () => {
    await crashDuring({ path: "/brief/lost", key: freshKey(), behave: { hold: true } });
    const database = openShardDatabase(gateway);
    try {
      expect(await until(async () => (database.countRecords() === 0 ? "erased" : null), "the erasure")).toBe("erased");
    } finally {
      database.close();
    }
  });

  it("that comes late does not erase the claim that has replaced an expired record", async () => {
    const key = freshKey();
    const path = `/brief/${freshKey()}`;
    const behave = {
      sequence: [
        { status: 201, body: "old" },
        { status: 201, body: "new", chunks: ["n", "ew"], holdBody: 1 },
      ],
    };
    const message = { path, key, behave };
    await send({ path: "/brief/witness", key: freshKey() });
    expectFirstAnswer(await send(message), 201);
    const renewed = until(async () => {
      const response = await send(message);
      return headerValue(response, "idempotent-replayed") === null ? response : null;
    }, "the expiry");
    await origin.arrived(key, 2);
    const database = openShardDatabase(gateway);
    try {
      // Only the new claim is left once the alarm has erased the witness.
      expect(await until(async () => (database.countRecords() === 1 ? "erased" : null), "the alarm")).toBe("erased");
    } finally {
      database.close();
    }
    expectProblem(await send(message), inFlight(key));
    await origin.release(key);
    const first = await renewed;
    expectFirstAnswer(first, 201);
    expect(first.body.toString()).toBe("new");
    expect(await origin.effects(key)).toBe(2);
  });
});
// "A failed completion write that leads to a second run": problems-of-the-gateway.test.ts, where the write fails.
// "Completion or unlock without an owner" by an attempt that runs: an attempt in flight is never superseded in one
// process, so no request can bring it about; the life cycle's own tests cover it.
