// `onceway tail` against a real gateway: it shows exchanges while it runs, waits for an unreachable gateway, and ends cleanly
// on Ctrl-C.

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchangeSchema } from "../../../src/operator/gateway-schema.ts";
import { type RunningCommand, startOnceway } from "../../support/command-line.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../support/gateway.ts";
import { freshKey } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { clientOf } from "../../support/e2e/scene.ts";

const TOKEN = randomBytes(24).toString("hex");

let origin: TestOrigin;
let gateway: Gateway;
beforeAll(async () => {
  origin = await startOrigin();
  const vars = { IDEMPOTENCY: { origin: origin.url, shards: 2 }, ROUTES: [{ path: "/pay/*" }] };
  gateway = await startWorkerd({ stateDir: await makeStateDir(), vars, bindings: { ADMIN_TOKEN: TOKEN } });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  await rm(gateway.stateDir, { recursive: true, force: true });
});

function tail(...args: readonly string[]): RunningCommand {
  return startOnceway(["tail", ...args], { ONCEWAY_URL: gateway.url, ONCEWAY_TOKEN: TOKEN });
}

async function pay(): Promise<void> {
  const key = freshKey();
  await clientOf(gateway.url).send({ path: `/pay/${key}`, key });
}

describe("tail", () => {
  it("follows exchanges, one JSON object per line, until Ctrl-C", async () => {
    await pay();
    const following = tail("--json");
    await following.printed("\n");
    await pay();
    await following.printed("\n{");
    following.interrupt();
    const { code, stdout, stderr } = await following.outcome;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const exchanges = stdout
      .trimEnd()
      .split("\n")
      .map((line) => v.parse(exchangeSchema, JSON.parse(line)));
    expect(exchanges.map(({ route, outcome }) => [route, outcome])).toEqual([
      ["/pay/*", "first"],
      ["/pay/*", "first"],
    ]);
    expect(new Set(exchanges.map(({ recordId }) => recordId)).size).toBe(2);
  });

  it("waits for a gateway that is unreachable, and says so once", async () => {
    await pay();
    const following = tail();
    await following.printed("first");
    await gateway.kill9();
    await following.complained("Retrying");
    gateway = await gateway.restart();
    following.interrupt();
    const { code, stderr } = await following.outcome;
    expect(code).toBe(0);
    expect(stderr.match(/Retrying/g)).toHaveLength(1);
  });
});
