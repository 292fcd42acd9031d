// Operators are told, at a real receiver in another process, of operations with an unknown outcome, of outcomes that have been unknown for a day, and of an event that
// is given up; also when the gateway is killed before it could tell. Dead letters: queues/alerts.test.ts; shards that do not answer:
// operators/alerts.test.ts.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { STILL_UNKNOWN_MS } from "../../../../src/kernel/record/alerts.ts";
import { type Gateway, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { SECRETS } from "../../../support/e2e/outbox-scene.ts";
import { expectAlert, type Receiver, startReceiver, untilEventsLeft } from "../../../support/e2e/receiver.ts";
import { passTime } from "../../../support/e2e/passed-time.ts";

const SHARD = "shard-0-of-1";

let folder: string;
let origin: TestOrigin;
let receiver: Receiver;
let gateway: Gateway;

async function startTelling(alerts: Parameters<Receiver["destination"]>[0]): Promise<void> {
  gateway = await startWorkerd({
    stateDir: join(folder, "state"),
    bindings: { ...SECRETS },
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1, timeout: "2s", lock: "2500ms", scope: ["none"], unknown: "hold" },
      ROUTES: [{ path: "/orders", publish: [{ to: "broken", type: "order.created" }] }],
      DESTINATIONS: [
        receiver.destination(alerts),
        { name: "broken", url: `${receiver.url}/refuses`, secret: ["NEW"], give_up: { after: "1s" } },
      ],
    },
  });
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-told-"));
  origin = await startOrigin();
  receiver = await startReceiver(folder);
});
afterEach(async () => {
  await Promise.all([origin.close(), receiver.kill(), gateway.stop()]);
  await rm(folder, { recursive: true, force: true });
});

async function order(key: string, behave?: object): Promise<number> {
  const headers = {
    "idempotency-key": key,
    "content-type": "application/json",
    ...(behave === undefined ? {} : { "x-behave": JSON.stringify(behave) }),
  };
  return (await fetch(`${gateway.url}/orders`, { method: "POST", headers, body: "{}" })).status;
}

/** An operation whose outcome nobody knows. */
async function loseOutcome(key = freshKey()): Promise<void> {
  expect(await order(key, { drop: "after-effect" })).toBe(502);
}

describe("an operation with an unknown outcome", () => {
  beforeEach(() => startTelling(["outcome-unknown"]));

  it("is told once, with its record and without its key", async () => {
    const key = freshKey();
    await loseOutcome(key);
    const [line] = await receiver.taken(1);
    const id = line?.subject ?? "";
    const data = {
      summary: "Attempt 1 of an operation at /orders may or may not have taken effect.",
      route: "/orders",
      recordId: id,
      keyHash: id.slice(0, 32),
      attempt: 1,
      expiresAt: expect.any(String),
      more: 0,
    };
    expectAlert(line, "outcome-unknown", { subject: id, shard: SHARD, page: `/console/records/${id}`, data });
    expect(JSON.stringify(line)).not.toContain(key);
    // Another one in the same quarter of an hour is told with the others.
    await loseOutcome();
    expect(await order(key)).toBe(409);
    await untilEventsLeft(gateway.stateDir, 0);
    expect(await receiver.taken(1)).toHaveLength(1);
  });

  it("is told after the gateway was killed before the receiver could take it", async () => {
    await receiver.kill();
    await loseOutcome();
    await gateway.kill9();
    await receiver.startAgain();
    gateway = await gateway.restart();
    expect((await receiver.taken(1)).map(({ type }) => type)).toEqual(["dev.onceway.alert.outcome-unknown"]);
  });
});

describe("outcomes that have been unknown for a day", () => {
  beforeEach(() => startTelling(["outcome-still-unknown"]));

  /** A day later the gateway starts again. No request comes. */
  async function sleepForADay(): Promise<void> {
    await gateway.kill9();
    passTime(gateway, STILL_UNKNOWN_MS);
    gateway = await gateway.restart();
  }

  const OLD = {
    subject: SHARD,
    shard: SHARD,
    page: "/console/records?state=unknown&until=24h",
    data: { summary: "2 operations have been undecided for a day or longer.", count: 2 },
  };

  it("are told together and once, although no request comes and the gateway is killed again", async () => {
    await loseOutcome();
    await loseOutcome();
    expect(await receiver.taken(0)).toEqual([]);
    await sleepForADay();
    const [line] = await receiver.taken(1);
    expectAlert(line, "outcome-still-unknown", OLD);
    await untilEventsLeft(gateway.stateDir, 0);
    await gateway.kill9();
    gateway = await gateway.restart();
    await loseOutcome();
    await sleepForADay();
    // The old ones are told again after a week; the new one, which is a day old now, with them.
    const [, second] = await receiver.taken(2);
    expectAlert(second, "outcome-still-unknown", {
      ...OLD,
      data: { summary: "3 operations have been undecided for a day or longer.", count: 3 },
    });
    await untilEventsLeft(gateway.stateDir, 0);
    expect(await receiver.taken(2)).toHaveLength(2);
  });

  it("are told when the receiver is back, once, by a gateway that was killed after it had noticed", async () => {
    await loseOutcome();
    await loseOutcome();
    await receiver.kill();
    await sleepForADay();
    await untilEventsLeft(gateway.stateDir, 1);
    await gateway.kill9();
    await receiver.startAgain();
    gateway = await gateway.restart();
    const [line] = await receiver.taken(1);
    expectAlert(line, "outcome-still-unknown", OLD);
    await untilEventsLeft(gateway.stateDir, 0);
    expect(await receiver.taken(1)).toHaveLength(1);
  });
});

describe("an event that another destination has not taken until it was given up", () => {
  beforeEach(() => startTelling(["dead-event"]));

  it("is told", async () => {
    expect(await order(freshKey())).toBeLessThan(300);
    const [line] = await receiver.taken(1);
    expect(line).toMatchObject({
      type: "dev.onceway.alert.dead-event",
      subject: "broken",
      verified: [true],
      alert: { data: { destination: "broken", count: 1, reason: "status 500" } },
    });
  });
});
