// `onceway verify` against an origin with state: what it would ask, and what the answer means.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CommandOutcome } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { type StandIn, startStandIn } from "../../support/stand-in.ts";

let standIn: StandIn;
let folder: string;
let file: string;
beforeAll(async () => {
  standIn = await startStandIn({ lagMs: 0, lateMs: 0 });
  folder = await mkdtemp(join(tmpdir(), "onceway-verify-"));
  file = join(folder, "wrangler.toml");
  await writeFile(
    file,
    `name = "api"
main = "src/index.ts"
compatibility_date = "2026-10-01"
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
[vars.IDEMPOTENCY]
origin = "${standIn.url}"
[[vars.ROUTES]]
path = "/checkout_sessions/:id/complete"
[vars.ROUTES.verify]
path = "/checkout_sessions/{path:id}"
happened = { "/status" = ["completed"] }
not_happened = { "/status" = ["ready_for_payment"] }
once = true
answer = "resource"
[[vars.ROUTES]]
path = "/orders"
[vars.ROUTES.verify]
path = "/orders?reference={json:/reference}"
list = ""
match = { "/reference" = ["{json:/reference}"] }
complete = { "header:link" = "absent" }
settle = "1m"
answer = { body = "item", status = 201, location = "/orders/{/id}" }
[[vars.ROUTES]]
path = "/by-key/*"
verify = "/checkout_sessions/{key}"
[[vars.ROUTES]]
path = "/held"
`,
  );
  await writeFile(join(folder, "headers.txt"), "Authorization: Bearer caller\n");
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await standIn.close();
});

function verify(path: string, ...args: readonly string[]): Promise<CommandOutcome> {
  const headers = ["--header", `@${join(folder, "headers.txt")}`];
  return callOnceway(["verify", path, "--key", "4711", ...headers, "--config", file, ...args]);
}

async function done(path: string, body: object): Promise<void> {
  await fetch(standIn.url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

it("says that an operation took effect, and what retries would get", async () => {
  await done("/checkout_sessions/cs_1/complete", {});
  const { code, stdout, stderr } = await verify("/checkout_sessions/cs_1/complete", "--data", "{}");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(
    stdout
      .replaceAll(standIn.url, "ORIGIN")
      .replace(/\d+ ms/, "N ms")
      .trimEnd()
      .split("\n"),
  ).toEqual([
    "GET ORIGIN/checkout_sessions/cs_1 (route /checkout_sessions/:id/complete)",
    "  200 OK, N ms",
    'The origin says that it took effect (/status: "completed").',
    "Retries get 200 with 62 bytes.",
  ]);
  const { reads } = await standIn.journal();
  expect(reads.at(-1)).toMatchObject({ path: "/checkout_sessions/cs_1", authorization: "Bearer caller" });
});

it("says that an operation did not take effect, and from when on that counts", async () => {
  const { code, stdout } = await verify("/checkout_sessions/cs_2/complete", "--data", "{}");
  expect(code).toBe(0);
  expect(stdout).toContain('The origin says that it did not take effect (/status: "ready_for_payment").');
  expect(stdout).toContain("if the API was asked at 10s after the end of the lock (40s), or later.");
});

it("tells it as JSON, with the element's status and location", async () => {
  await done("/orders", { reference: "r1" });
  const { code, stdout } = await verify("/orders", "--data", '{"reference":"r1"}', "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    route: "/orders",
    asked: `${standIn.url}/orders?reference=r1`,
    finding: "happened",
    settleMs: 60_000,
    response: { status: 201, location: expect.stringMatching(/^\/orders\/e\d+$/) },
  });
});

it("says that the outcome stays unknown where the answer does not tell", async () => {
  await done("/orders", { reference: "R2" });
  const { code, stdout } = await verify("/orders", "--data", '{"reference":"r2,R2"}');
  expect({ code, stdout: stdout.trim() }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^The API cannot be asked about this request/),
  });
  const missing = await verify("/by-key/x", "--origin", `${standIn.url}/nowhere`);
  expect(missing.code).toBe(0);
  expect(missing.stdout).toContain("did not take effect (status: 404)");
});

it.each([
  ["no path", ["checkout"], "write a path"],
  ["a path that no route protects", ["/other"], "no route protects POST /other"],
  ["a route that asks nothing", ["/held"], "does not ask the API"],
  ["no such environment", ["/orders", "--env", "staging"], "no usable settings"],
  ["nobody there", ["/by-key/x", "--origin", "http://127.0.0.1:1"], "no answer"],
])("ends with 2 for %s", async (_what, [path = "", ...args], text) => {
  const { code, stderr } = await verify(path, ...args);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(text) });
});
