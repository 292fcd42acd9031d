// All records of one caller are forgotten, and nobody else's: through the API and the command line, in a gateway whose layout has
// changed, while requests go on.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandOutcome, runOnceway } from "../../../support/command-line.ts";
import { type Gateway, type GatewayVars, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { ADMIN_TOKEN, askGateway, BASE, type OperatorAnswer, READ_TOKEN } from "../../../support/e2e/operator-scene.ts";
import * as v from "valibot";
import { scopeErasedSchema } from "../../../../src/features/callers/operator/callers-schema.ts";
import { violationOf } from "../../../support/e2e/openapi.ts";
import { clientOf, removeGateway, until, untilPrinted } from "../../../support/e2e/scene.ts";

const EACH = 100;
const AT_ONCE = 40;
const [ANNA, BEN] = ["Bearer anna-5c1f", "Bearer ben-77aa"];
const PATH = "/scopes/forget";
const REASON = "She asked to be erased.";

const ROUTES = [{ path: "/pay" }, { path: "/hold", timeout: "2s", lock: "3s" }];
const OLDER = { shards: 2 };
const NEWER = { shards: 4, previous_shards: [2] };

let origin: TestOrigin;
let gateway: Gateway;
let url: string;

function varsOf(layout: Readonly<Record<string, number | number[]>>): GatewayVars {
  return { IDEMPOTENCY: { origin: origin.url, ...layout }, ROUTES, ADMIN_TOKEN, READ_TOKEN };
}

beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startWorkerd({ stateDir: await makeStateDir(), vars: varsOf(OLDER) });
  ({ url } = gateway);
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

function send(caller: string, key: string, path = "/pay", behave = {}): Promise<RawResponse> {
  return clientOf(url).send({ path, key, headers: [["Authorization", caller]], behave });
}

async function sendAll(caller: string, keys: readonly string[]): Promise<void> {
  const left = [...keys];
  const one = async (): Promise<void> => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      expect((await send(caller, key)).status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

async function isReplayed(caller: string, key: string): Promise<boolean> {
  return headerValue(await send(caller, key), "idempotent-replayed") === "true";
}

interface Erased {
  readonly forgotten: number;
  readonly inFlight: number;
  readonly unknown: number;
  readonly events: number;
}

async function ask(body: unknown, token: string | null = ADMIN_TOKEN): Promise<OperatorAnswer> {
  const reported = await askGateway(url + BASE + PATH, "POST", { body, token });
  expect(violationOf("POST", PATH, reported)).toBeNull();
  return reported;
}

/** Asks until there is no cursor, and adds up. */
async function erase(caller: string, how: Readonly<Record<string, boolean>>): Promise<Erased> {
  const sum = { forgotten: 0, inFlight: 0, unknown: 0, events: 0 };
  let cursor: string | null = null;
  do {
    const asked: Record<string, unknown> = { scope: { "Header:Authorization": caller }, reason: REASON, ...how };
    if (cursor !== null) asked["cursor"] = cursor;
    const { status, json, text } = await ask(asked);
    expect({ status, text }).toMatchObject({ status: 200 });
    expect(text).not.toContain(caller);
    expect(json).toMatchObject({ unreachable: [], notListed: [] });
    const part = v.parse(scopeErasedSchema, json);
    sum.forgotten += part.forgotten;
    sum.inFlight += part.inFlight;
    sum.unknown += part.unknown;
    sum.events += part.events;
    ({ cursor } = part);
  } while (cursor !== null);
  return sum;
}

/** With the caller's credential in stdin. */
function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  const env = { ONCEWAY_URL: url, ONCEWAY_TOKEN: ADMIN_TOKEN };
  return runOnceway(
    ["callers", "forget", "--scope", "header:authorization", "--reason", REASON, ...args],
    env,
    `${ANNA}\n`,
  );
}

// One story: each step goes on where the one before it ended.
describe("a caller who asks to be erased", { timeout: 300_000, shuffle: false }, () => {
  const keys = Array.from({ length: EACH }, freshKey);

  it("is counted, and the count says what will be left", async () => {
    // Both use the same keys. Half of them are in the older layout.
    const half = EACH / 2;
    for (const caller of [ANNA, BEN]) await sendAll(caller, keys.slice(0, half));
    await gateway.kill9();
    gateway = await gateway.restart({ vars: varsOf(NEWER) });
    for (const caller of [ANNA, BEN]) await sendAll(caller, keys.slice(half));
    for (const caller of [ANNA, BEN]) {
      expect(await erase(caller, { preview: true })).toEqual({ forgotten: EACH, inFlight: 0, unknown: 0, events: 0 });
    }
    expect(await isReplayed(ANNA, keys[0] ?? "")).toBe(true);
  });

  it("cannot be erased by those who may only read, or without saying which caller", async () => {
    const asked = { scope: { "header:authorization": ANNA }, reason: REASON, confirm: true };
    expect((await ask(asked, READ_TOKEN)).status).toBe(403);
    expect((await ask(asked, null)).status).toBe(401);
    for (const [change, reported] of [
      [{ confirm: false }, "All records of the caller would be forgotten."],
      [{ scope: { [ANNA]: ANNA } }, "one of: [header:authorization]"],
      [{ reason: " " }, "reason must not be empty"],
      [{ cursor: "00000000~0" }, "cursor must come from the call before"],
    ] as const) {
      const { status, text } = await ask({ ...asked, ...change });
      expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining(reported) });
      expect(text).not.toContain("anna");
    }
    expect(await erase(ANNA, { preview: true })).toMatchObject({ forgotten: EACH });
  });

  it("is forgotten while requests go on, except what is in flight or unknown, and nobody else is", async () => {
    const [running, lost] = [freshKey(), freshKey()];
    const held = send(ANNA, running, "/pay", { hold: true });
    await until(async () => ((await origin.effects(running)) === 1 ? true : null), "the origin is called");
    expect((await send(ANNA, lost, "/hold", { drop: "after-effect" })).status).toBe(502);
    await until(async () => {
      const found = await erase(ANNA, { preview: true });
      return found.unknown === 1 && found.inFlight === 1 ? true : null;
    }, "one is in flight, and one unknown");

    const counted = await onceway("--dry-run");
    expect({ code: counted.code, stdout: counted.stdout.split("\n").slice(0, 4) }).toEqual({
      code: 0,
      stdout: [
        `${EACH} records to forget`,
        "0 events to erase, dead letters included",
        "1 record in flight: left, repeat later",
        expect.stringContaining("1 record with an unknown outcome: left unless --include-unknown is given"),
      ],
    });
    const others = sendAll(BEN, Array.from({ length: 50 }, freshKey));
    const { code, stdout, stderr } = await onceway("--yes");
    await others;
    expect({ code, stdout }).toEqual({ code: 1, stdout: `forgotten: ${EACH} records and 0 events\n` });
    expect(stderr).toContain("1 record in flight: run it again later.");
    expect(stderr).toContain("1 record with an unknown outcome: settle them, or add --include-unknown.");
    expect(stderr).not.toContain("anna");
    expect(await erase(BEN, { preview: true })).toMatchObject({ forgotten: EACH + 50 });
    expect((await send(ANNA, lost, "/hold")).status).toBe(409);

    await origin.release();
    expect((await held).status).toBe(200);
    // What is unknown may still be running until its lock ends.
    await until(async () => {
      const again = await onceway("--yes", "--include-unknown");
      return again.code === 0 ? true : null;
    }, "the rest is forgotten");
    expect(await erase(ANNA, { preview: true })).toEqual({ forgotten: 0, inFlight: 0, unknown: 0, events: 0 });
    expect(await untilPrinted(gateway, "scope forgotten")).not.toContain("anna");
  });

  it("acts anew with the old keys, and the other caller gets the first answers", async () => {
    // A Worker may replay what it has replayed lately for 30 seconds: a new process remembers nothing.
    await gateway.kill9();
    gateway = await gateway.restart();
    for (const key of keys.filter((_, at) => at % 20 === 0)) {
      expect(await isReplayed(BEN, key)).toBe(true);
      expect(await origin.effects(key)).toBe(2);
      expect(await isReplayed(ANNA, key)).toBe(false);
      expect(await origin.effects(key)).toBe(3);
    }
  });
});
