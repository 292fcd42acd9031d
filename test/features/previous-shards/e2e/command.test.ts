// A gateway whose number of shards is changed on live data, as an operator follows it with the API and the command line until the
// older number may go.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layoutSchema, layoutsSchema } from "../../../../src/operator/gateway-schema.ts";
import { type CommandOutcome } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import type { Gateway, GatewayVars } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { gatewayMain, writeWranglerToml } from "../../../support/wrangler.ts";
import { violationOf } from "../../../support/e2e/openapi.ts";
import {
  ADMIN_TOKEN,
  askGateway,
  BASE,
  type OperatorAnswer,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../../support/e2e/operator-scene.ts";
import { until } from "../../../support/e2e/scene.ts";

const ROUTE = { path: "/pay", timeout: "2s", lock: "3s", retention: "4s" };
const keys = Array.from({ length: 6 }, freshKey);

let scene: OperatorScene;
/** The gateway after the change from 3 to 5. */
let gateway: Gateway;
let folder = "";
/** What the check says before the change, of two configurations. */
let forgetting: CommandOutcome;
let listing: CommandOutcome;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-layouts-"));
  scene = await startOperatorScene({ shards: 3 }, [ROUTE]);
  for (const key of keys) await scene.send({ path: "/pay", key });
  forgetting = await check({ shards: 5 }, scene.gateway);
  listing = await check({ shards: 5, previous_shards: [3] }, scene.gateway);
  await scene.gateway.stop();
  gateway = await scene.gateway.restart({
    vars: {
      IDEMPOTENCY: { origin: scene.origin.url, shards: 5, previous_shards: [3] },
      ROUTES: [ROUTE],
      ADMIN_TOKEN,
      READ_TOKEN,
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await scene.origin.close();
  await rm(gateway.stateDir, { recursive: true, force: true });
  await rm(folder, { recursive: true });
});

/** `onceway check --against` with these settings. */
async function check(settings: GatewayVars["IDEMPOTENCY"], { url }: Gateway): Promise<CommandOutcome> {
  const vars = { IDEMPOTENCY: { origin: "https://origin.example", ...settings }, ROUTES: [{ path: "/pay" }] };
  const file = await writeWranglerToml(folder, { main: gatewayMain, vars });
  return callOnceway(["check", file, "--against", url], { ONCEWAY_TOKEN: READ_TOKEN });
}

async function ask(method: string, path: string, token = ADMIN_TOKEN, body?: unknown): Promise<OperatorAnswer> {
  const reported = await askGateway(`${gateway.url}${BASE}${path}`, method, { token, body });
  expect(violationOf(method, path, reported)).toBeNull();
  return reported;
}

function close(layout: string, token = ADMIN_TOKEN): Promise<OperatorAnswer> {
  return ask("POST", "/layouts/close", token, { layout });
}

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(args, { ONCEWAY_URL: gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN });
}

// One story: the layout is open, is closed, and stays closed.
describe("a change from 3 shards to 5", { shuffle: false }, () => {
  it("a configuration that forgets the layout in force is refused, and one that lists it is fine", () => {
    expect(forgetting.code).toBe(1);
    expect(forgetting.stderr).toContain(
      "error[records-forgotten]: ROUTES[0].previous_shards: forgets layout 3, which is in force\n",
    );
    expect(forgetting.stderr).toContain("\nhelp: write previous_shards = [3]\n");
    expect(listing.code).toBe(0);
  });

  it("a previous layout is shown, closed and counted until it may go", async () => {
    // Read by anyone with a token.
    const { layouts, routes } = v.parse(layoutsSchema, (await ask("GET", "/layouts", READ_TOKEN)).json);
    expect(routes).toMatchObject([{ path: "/pay", encryptResponses: false, async: "never" }]);
    expect(layouts).toMatchObject([
      { layout: "5", next: null, objects: 5, open: 5, mayGo: false, routes: ["POST PATCH /pay"] },
      { layout: "3", next: "5", objects: 3, mayGo: false },
    ]);
    expect((await close("3", READ_TOKEN)).status).toBe(403);
    for (const refused of ["5", "64", "per-key"]) {
      const reported = await close(refused);
      expect(reported).toMatchObject({ status: 400, json: { code: "operator-request-invalid" } });
    }

    for (const wrong of ["", "../../records", "3/4"]) {
      const { code, stderr } = await onceway("layouts", "close", wrong);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("Write a previous layout as") });
    }
    const dry = await onceway("layouts", "close", "3", "--dry-run", "--json");
    expect(v.parse(layoutSchema, JSON.parse(dry.stdout))).toMatchObject({ layout: "3", closedFor: [] });
    const none = await onceway("layouts", "close", "7", "--dry-run");
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no layout 7") });
    const closed = await onceway("layouts", "close", "3", "--json");
    expect(closed).toMatchObject({ code: 0, stderr: "" });
    expect(v.parse(layoutSchema, JSON.parse(closed.stdout))).toMatchObject({ open: 0, closedFor: ["5"] });
    const shown = await onceway("layouts", "list");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    const [headings = "", inForce = "", older = ""] = shown.stdout.split("\n");
    expect(headings).toMatch(
      /^LAYOUT +OBJECTS +OPEN +CLOSED +EMPTY +IN FLIGHT +WAITING +FAILED +UNKNOWN +LAST EXPIRES$/,
    );
    expect(inForce).toMatch(/^5 +5 +5 +0 +0 +0 +0 +0 +0/);
    expect(older).toMatch(/^3 +3 +0 +\d +\d +0 +0 +0 +0/);
    expect(shown.stdout).toContain("\n5: In force.\n3: ");

    // The same gateway by two names stands for two processes.
    const other = gateway.url.replace("127.0.0.1", "localhost");
    const both = await onceway("layouts", "list", "--url", gateway.url, "--url", other);
    expect(both).toMatchObject({ code: 0, stderr: "" });
    expect(both.stdout.split("\n").filter((line) => line.startsWith("http://"))).toHaveLength(2);
    const lines = (await onceway("layouts", "list", "--url", gateway.url, "--url", other, "--json")).stdout
      .trimEnd()
      .split("\n");
    const one = v.object({ gateway: v.string(), layouts: v.array(layoutSchema) });
    expect(lines.map((line) => v.parse(one, JSON.parse(line)).layouts.map(({ layout }) => layout))).toEqual([
      ["5", "3"],
      ["5", "3"],
    ]);
    const twice = await onceway("layouts", "list", "--url", gateway.url, "--url", gateway.url);
    expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining("It is named twice") });
    const refused = await onceway("layouts", "close", "64", "--url", gateway.url, "--url", other);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(gateway.url) });

    // Nothing is asked for, and still it ends.
    const empty = await until(async () => {
      const { json } = await ask("GET", "/layouts");
      return v.parse(layoutsSchema, json).layouts.find(({ mayGo }) => mayGo) ?? null;
    }, "the older layout may go");
    expect(empty).toMatchObject({ layout: "3", closed: 0, empty: 3, lastExpiresAt: null });
    expect((await onceway("layouts", "list")).stdout).toContain("3: Closed and empty: take it out of previous_shards.");
  });

  it("a configuration that enters the closed number again is refused, and says what to write", async () => {
    await close("3");
    const { code, stderr } = await check({ shards: 3, previous_shards: [5] }, gateway);
    expect(code).toBe(1);
    expect(stderr).toContain("ROUTES[0].shards: enters layout 3, whose objects are closed for 5");
    expect(stderr).toContain('write shards = "3b"');
  });
});
