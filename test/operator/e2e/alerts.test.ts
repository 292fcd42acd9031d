// Operators are told, at a real receiver in another process, of a shard that does not answer: once when it begins and once when it is over,
// also when the gateway is killed in between. The passes are those of the Worker's own handler of cron triggers.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { workerBeside } from "../../support/beside.ts";
import { type Gateway, startWorkerd } from "../../support/gateway.ts";
import { freshKey } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { freePort } from "../../support/ports.ts";
import { send } from "../../support/e2e/guarantees-client.ts";
import { ADMIN_TOKEN, askGateway, BASE } from "../../support/e2e/operator-scene.ts";
import { SECRETS } from "../../support/e2e/outbox-scene.ts";
import { expectAlert, type Receiver, startReceiver, untilEventsLeft } from "../../support/e2e/receiver.ts";
import { type SilentShard, silenceShard } from "../../support/e2e/silent-shard.ts";

const SHARDS = 3;

let folder: string;
let origin: TestOrigin;
let receiver: Receiver;
let gateway: Gateway;
let ticks: string;
/** A key in each shard, by the shard's name. */
let keys: ReadonlyMap<string, string>;
let faults: SilentShard[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-silent-"));
  [origin, receiver] = await Promise.all([startOrigin(), startReceiver(folder)]);
  const port = await freePort();
  ticks = `http://127.0.0.1:${port}/`;
  gateway = await startWorkerd({
    stateDir: join(folder, "state"),
    bindings: { ...SECRETS, ADMIN_TOKEN },
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: SHARDS, scope: ["none"] },
      ROUTES: [{ path: "/orders" }],
      DESTINATIONS: [receiver.destination(["silent-shard"])],
    },
    ...(await workerBeside("ticker", port)),
  });
  faults = [];
  keys = await keysByShard();
});
afterEach(async () => {
  for (const { heal } of faults) heal();
  await Promise.all([origin.close(), receiver.kill(), gateway.stop()]);
  await rm(folder, { recursive: true, force: true });
});

async function keysByShard(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  while (found.size < SHARDS) {
    const key = freshKey();
    await send(gateway.url, { path: "/orders", key });
    const { text } = await askGateway(`${gateway.url}${BASE}/records?key=${key}`, "GET", {});
    found.set(/"shard":"([^"]+)"/.exec(text)?.[1] ?? "", key);
  }
  return found;
}

function silence(shard: string): SilentShard {
  const fault = silenceShard(gateway, keys.get(shard) ?? "");
  faults.push(fault);
  return { heal: () => void (fault.heal(), (faults = faults.filter((one) => one !== fault))) };
}

/** Passes of the cron trigger; what they tell has been stored when this resolves. */
async function pass(times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) expect(await (await fetch(ticks)).text()).toBe("ok");
}

/** Everything that is to be told has been told: how much that was. */
async function alertsInAll(): Promise<number> {
  await untilEventsLeft(gateway.stateDir, 0);
  return (await receiver.taken(0)).length;
}

function expected(shard: string, teller: string, phase: "begun" | "ended"): Parameters<typeof expectAlert>[2] {
  const summary = `${shard} ${phase === "begun" ? "does not answer" : "answers again"}.`;
  return { subject: shard, shard: teller, page: "/console/shards", data: { summary, phase, shards: [shard] } };
}

it.each([
  ["shard-2-of-3", "shard-0-of-3"],
  ["shard-0-of-3", "shard-1-of-3"],
])("tells of %s by %s, once when it falls silent and once when it answers again", async (shard, teller) => {
  await pass(1);
  const { heal } = silence(shard);
  await pass(1);
  expect(await alertsInAll()).toBe(0);
  await pass(1);
  const [begun] = await receiver.taken(1);
  expectAlert(begun, "silent-shard", expected(shard, teller, "begun"));
  await pass(2);
  expect(await alertsInAll()).toBe(1);
  heal();
  await pass(1);
  const [, ended] = await receiver.taken(2);
  expectAlert(ended, "silent-shard", expected(shard, teller, "ended"));
  await pass(2);
  expect(await alertsInAll()).toBe(2);
});

it("tells of nothing if a shard answers again before the second pass", async () => {
  const { heal } = silence("shard-1-of-3");
  await pass(1);
  heal();
  await pass(2);
  expect(await alertsInAll()).toBe(0);
});

it("tells once of a silence during which the gateway is killed, also if nobody could be told before", async () => {
  const [shard, teller] = ["shard-2-of-3", "shard-0-of-3"];
  await receiver.kill();
  const { heal } = silence(shard);
  await pass(1);
  await gateway.kill9();
  gateway = await gateway.restart();
  await pass(1);
  await untilEventsLeft(gateway.stateDir, 1);
  await gateway.kill9();
  await receiver.startAgain();
  gateway = await gateway.restart();
  const [begun] = await receiver.taken(1);
  expectAlert(begun, "silent-shard", expected(shard, teller, "begun"));
  await pass(2);
  expect(await alertsInAll()).toBe(1);
  await receiver.kill();
  heal();
  await pass(1);
  await untilEventsLeft(gateway.stateDir, 1);
  await gateway.kill9();
  await receiver.startAgain();
  gateway = await gateway.restart();
  await pass(1);
  const [, ended] = await receiver.taken(2);
  expectAlert(ended, "silent-shard", expected(shard, teller, "ended"));
  expect(await alertsInAll()).toBe(2);
});
