// Whatever `onceway init` is told, it writes a file that the check accepts, in both languages, and both say the same.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it, onTestFinished } from "vitest";
import { wranglerToml } from "../../../src/cli/init-file.ts";
import { emptyJson, withGateway } from "../../../src/cli/init-json.ts";
import { type CallerIdentity, type GatewayPlan, readPlanOptions, USUAL } from "../../../src/cli/init-plan.ts";
import { checkWranglerConfig } from "../../../src/cli/check/file.ts";
import { callOnceway } from "../../support/command-line-here.ts";

const PATHS = { main: "src/index.ts", schema: "./schema.json", settings: "README.md" };

const CALLERS: readonly CallerIdentity[] = [
  { kind: "header", name: "x-api-key" },
  { kind: "token", issuer: "https://login.acme.com/", audience: "https://api.acme.com" },
  { kind: "cookie", name: "session" },
  { kind: "nobody" },
];

const RULES: readonly Pick<GatewayPlan, "unknown" | "verify">[] = [
  { unknown: "hold", verify: null },
  { unknown: "verify", verify: "/v1/orders/by-key/{key}" },
  { unknown: "retry", verify: null },
];

describe("each answer", () => {
  const plans: GatewayPlan[] = [];
  for (const caller of CALLERS) {
    for (const rule of RULES) {
      for (const origin of ["https://api.acme.com", null]) {
        const plan = { ...USUAL, ...rule, caller, origin, name: "pay", routes: ["/v1/orders"], paths: PATHS };
        plans.push(plan, { ...plan, near: "weur", label: "json:/order_id" });
      }
    }
  }

  it.each(plans.map((plan) => [JSON.stringify(plan), plan] as const))("makes a file that passes: %s", (_name, plan) => {
    const [toml] = checkWranglerConfig(parseToml(wranglerToml(plan)));
    const [json] = checkWranglerConfig(parseJson(withGateway(emptyJson("wrangler.jsonc", plan), plan).text));
    expect([toml?.problems, json?.problems]).toEqual([[], []]);
    expect(toml?.config).not.toBeNull();
    expect(json?.config).toEqual(toml?.config);
    const [route] = toml?.config?.routes ?? [];
    expect(route?.rules.policy.unknown).toBe(plan.unknown);
    expect(route?.scope.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(
        plan.caller.kind === "token" ? ["identity"] : plan.caller.kind === "nobody" ? [] : [plan.caller.kind],
      ),
    );
  });
});

describe("options", () => {
  it("say the same as answers", () => {
    const given = readPlanOptions({
      caller: "token",
      issuer: "https://login.acme.com",
      audience: "api",
      verify: "/k/{key}",
    });
    expect(given).toEqual({
      caller: { kind: "token", issuer: "https://login.acme.com", audience: "api" },
      unknown: "verify",
      verify: "/k/{key}",
    });
    expect(readPlanOptions({ caller: "header:X-Api-Key" })).toEqual({ caller: { kind: "header", name: "x-api-key" } });
    expect(readPlanOptions({ hono: true, caller: "nobody" })).toEqual({ origin: null, caller: { kind: "nobody" } });
  });

  it.each([
    [["--caller", "token"], "--caller token needs --issuer and --audience"],
    [["--caller", "ip"], "--caller must be header:NAME, token, cookie:NAME or nobody"],
    [["--caller", "token", "--issuer", "acme", "--audience", "a"], "--issuer must be the URL in the tokens' iss"],
    [["--issuer", "https://login.acme.com"], "--issuer and --audience belong to --caller token"],
    [["--unknown", "verify"], "--unknown verify needs --verify /v1/payments/by-key/{key}"],
    [["--unknown", "hold", "--verify", "/k/{key}"], "--verify belongs to --unknown verify"],
    [["--verify", "/k?key={key}"], "--verify must be a path with {key}"],
    [["--near", "moon"], "Allowed choices are enam, wnam"],
    [["--hono", "--origin", "https://api.acme.com"], "cannot be used with option '--hono'"],
  ])("%j are refused, and nothing is written", async (args, message) => {
    const { code, stdout, stderr } = await callOnceway([
      "init",
      "no-such-folder/wrangler.toml",
      "--route",
      "/a",
      ...args,
    ]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });
});

it("shows what a wrangler.toml lacks that is there already, and leaves it alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "onceway-init-plan-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "wrangler.toml");
  const own = 'name = "shop" # mine\nmain = "src/shop.ts"\ncompatibility_date = "2026-11-01"\n';
  writeFileSync(file, own);
  const { code, stderr } = await callOnceway(["init", folder, "--hono", "--route", "/v1/orders", "--yes"]);
  expect(code).toBe(1);
  const [said = "", ...added] = stderr.split("\n");
  expect(said).toContain("already exists and was not changed: --force overwrites it. To keep it, add what it lacks");
  expect(readFileSync(file, "utf8")).toBe(own);
  // Added as it says, the file passes.
  const lines = added.join("\n");
  const at = lines.indexOf("[");
  const head = lines.slice(0, lines.lastIndexOf("\n", lines.search(/^\[/m)));
  expect(at).toBeGreaterThan(0);
  const [checked] = checkWranglerConfig(parseToml(`${head}\n${own}${lines.slice(head.length)}`));
  expect(checked?.problems).toEqual([]);
});
