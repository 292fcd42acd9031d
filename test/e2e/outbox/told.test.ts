// Operators are told, at a real receiver in another process, of an operation in doubt and of an event that is given up; also when the
// gateway is killed before it could tell.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Gateway, startWorkerd } from "../../support/gateway.ts";
import { type Hook, type HookLine, startHook } from "../../support/hook.ts";
import { freshKey } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { freePort } from "../../support/ports.ts";
import { until } from "../support/guarantees-client.ts";
import { SECRETS } from "../support/outbox-scene.ts";

const ARRIVED_MS = 45_000;

let folder: string;
let origin: TestOrigin;
let hook: Hook;
let gateway: Gateway;
let startAgain: () => Promise<Hook>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-told-"));
  origin = await startOrigin();
  const options = { port: await freePort(), journal: join(folder, "hook.journal"), secrets: [SECRETS.NEW] };
  startAgain = () => startHook(options);
  hook = await startAgain();
  gateway = await startWorkerd({
    stateDir: join(folder, "state"),
    bindings: { ...SECRETS },
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1, timeout: "2s", lock: "2500ms", scope: ["none"], unknown: "hold" },
      ROUTES: [{ path: "/orders", publish: [{ to: "broken", type: "order.created" }] }],
      DESTINATIONS: [
        {
          name: "ops",
          url: `${hook.url}/taken`,
          secret: ["NEW"],
          alerts: ["in-doubt", "dead-event"],
          console: "https://ops.example/_onceway",
        },
        { name: "broken", url: `${hook.url}/refuses`, secret: ["NEW"], give_up: { after: "1s" } },
      ],
    },
  });
});
afterEach(async () => {
  await Promise.all([origin.close(), hook.close(), gateway.stop()]);
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

function told(count: number): Promise<readonly HookLine[]> {
  return until(
    async () => (await hook.readJournal()).filter(({ path }) => path === "/taken"),
    (lines) => lines.length >= count,
    ARRIVED_MS,
  );
}

it("tells once of an operation in doubt, signed, with its record and without its key", async () => {
  const key = freshKey();
  expect(await order(key, { drop: "after-effect" })).toBeGreaterThanOrEqual(500);
  const [line] = await told(1);
  expect(line).toMatchObject({
    type: "dev.onceway.alert.in-doubt",
    verified: [true],
    data: { route: "/orders", recordId: line?.subject, attempt: 1, more: 0 },
  });
  expect(line?.data).toHaveProperty("link", `https://ops.example/_onceway/console/records/${line?.subject}`);
  expect(JSON.stringify(line)).not.toContain(key);
  // Another one in the same quarter of an hour is told with the others.
  await order(freshKey(), { drop: "after-effect" });
  expect(await order(key)).toBe(409);
  expect(await told(1)).toHaveLength(1);
});

it("tells of it after the gateway was killed before the receiver could take it", async () => {
  await hook.close();
  await order(freshKey(), { drop: "after-effect" });
  await gateway.kill9();
  hook = await startAgain();
  gateway = await gateway.restart();
  expect((await told(1)).map(({ type }) => type)).toEqual(["dev.onceway.alert.in-doubt"]);
});

it("tells of an event that another destination has not taken until it was given up", async () => {
  expect(await order(freshKey())).toBeLessThan(300);
  const [line] = await told(1);
  expect(line).toMatchObject({
    type: "dev.onceway.alert.dead-event",
    subject: "broken",
    data: { destination: "broken", count: 1, reason: "status 500" },
  });
});
