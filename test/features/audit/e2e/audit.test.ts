// @module-tag needs/chromium
// Operators by name, and the audit log: in the API, on the command line and in the console.

import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Browser } from "playwright-core";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditPageSchema } from "../../../../src/features/audit/operator/audit-schema.ts";
import { launchChromium } from "../../../support/chromium.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { freshKey } from "../../../support/http.ts";
import type { Behaviour } from "../../../support/origin-behaviour.ts";
import { HOLD, openConsole, signIn } from "../../../support/e2e/console.ts";
import {
  ADMIN_TOKEN,
  BASE,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../../support/e2e/operator-scene.ts";
import { shardFiles } from "../../../support/e2e/shard-database.ts";

const ANN_TOKEN = randomBytes(32).toString("hex");
const BOB_TOKEN = randomBytes(32).toString("hex");

let browser: Browser;
let scene: OperatorScene;
beforeAll(async () => {
  [browser, scene] = await Promise.all([
    launchChromium(),
    startOperatorScene(
      { shards: 2, scope: ["none"] },
      [{ path: HOLD, unknown: "hold", note: { label: "query:order" } }],
      { ADMIN_TOKEN, READ_TOKEN, ANN_TOKEN, BOB_TOKEN },
      {
        OPERATORS: [
          { name: "ann", role: "admin", token: "ANN_TOKEN" },
          { name: "bob", role: "reader", token: "BOB_TOKEN" },
        ],
      },
    ),
  ]);
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

/** The id of a new record, after a request to which the origin behaves like this. */
async function recordOf(behave: Behaviour, key = freshKey()): Promise<string> {
  await scene.send({ path: `${HOLD}?order=order-17`, key, behave });
  const { json } = await scene.ask("GET", `/records?key=${key}`);
  return v.parse(v.object({ records: v.array(v.object({ id: v.string() })) }), json).records[0]?.id ?? "";
}

const unknownRecord = (): Promise<string> => recordOf({ drop: "after-effect" });

async function entriesOf(query: string): Promise<v.InferOutput<typeof auditPageSchema>["entries"]> {
  const { status, json } = await scene.ask("GET", `/audit?${query}`, { token: BOB_TOKEN });
  expect(status).toBe(200);
  return v.parse(auditPageSchema, json).entries;
}

function onceway(...args: readonly string[]) {
  return callOnceway(args, { ONCEWAY_URL: scene.gateway.url, ONCEWAY_TOKEN: ANN_TOKEN, NO_COLOR: "1" });
}

describe("an operator with a name", () => {
  it("is named in the record's timeline and in the log, with the address, the reason and the outcome", async () => {
    const key = freshKey();
    const id = await recordOf({ drop: "after-effect" }, key);
    const body = { reason: "not in the ledger" };
    expect(
      (await scene.ask("POST", `/records/${id}/release`, { token: ANN_TOKEN, body, address: "203.0.113.9" })).status,
    ).toBe(200);
    const { json } = await scene.ask("GET", `/records/${id}`);
    expect(json).toMatchObject({ timeline: expect.arrayContaining([expect.objectContaining({ by: "ann" })]) });
    const [entry] = await entriesOf("by=ann&action=release");
    expect(entry).toMatchObject({ key, label: "order-17" });
    expect(scene.gateway.output()).not.toContain("order-17");
    expect(entry).toMatchObject({ target: id, role: "admin", via: "token", address: "203.0.113.9", outcome: "done" });
    expect(entry?.reason).toBe("not in the ledger");
  });

  it("may only read as a reader", async () => {
    const id = await unknownRecord();
    const refused = await scene.ask("POST", `/records/${id}/release`, { token: BOB_TOKEN, body: { reason: "x" } });
    expect(refused.status).toBe(403);
    expect((await scene.ask("GET", `/records/${id}/body`, { token: BOB_TOKEN })).status).toBe(403);
    expect(await entriesOf("by=bob")).toEqual([]);
  });

  it("has what is refused written down too", async () => {
    const id = await recordOf({});
    expect((await scene.ask("POST", `/records/${id}/release`, { body: { reason: "x" } })).status).toBe(409);
    expect((await scene.ask("GET", `/records/${id}/body`)).status).toBe(200);
    const entries = (await entriesOf("by=admin")).filter(({ target }) => target === id);
    expect(entries.map(({ action, outcome }) => [action, outcome])).toEqual([
      ["read-body", "done"],
      ["release", "refused: completed"],
    ]);
  });

  it.each(["by=", "action=Release", "since=yesterday", "limit=0", "cursor=x", "who=ann", "by=a&by=b"])(
    "the log is not asked with %s",
    async (query) => {
      expect((await scene.ask("GET", `/audit?${query}`)).status).toBe(400);
    },
  );

  it("the log cannot be changed or erased by any operation", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      for (const path of ["/audit", "/audit/1"]) {
        const url = `${scene.gateway.url}/_onceway${path}`;
        const { status } = await fetch(url, { method, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
        expect(status).toBe(404);
      }
    }
  });
});

/** The file of the operators' object, which has the log. */
function openLog(): DatabaseSync {
  const databases = shardFiles(scene.gateway).map((file) => new DatabaseSync(file, { timeout: 5_000 }));
  const hasLog = (one: DatabaseSync): boolean =>
    one.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'audit'").get() !== undefined;
  const found = databases.find(hasLog);
  for (const other of databases) if (other !== found) other.close();
  if (found === undefined) throw new Error("nothing has been written down yet");
  return found;
}

describe("what cannot be written down", () => {
  it("is not done: 503, in the API, on the command line and in the console, and done when the log can be written again", async () => {
    const id = await unknownRecord();
    const body = { reason: "not in the ledger" };
    const release = () => scene.ask("POST", `/records/${id}/release`, { token: ANN_TOKEN, body });
    // Makes the log.
    expect((await scene.ask("GET", `/records/${await recordOf({})}/body`)).status).toBe(200);
    const log = openLog();
    try {
      log.exec("CREATE TRIGGER no_room BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END");
      const notDone = {
        code: "audit-unavailable",
        detail: expect.stringMatching(/audit log cannot be written.*nothing was changed.*Repeat this/),
      };
      expect(await release()).toMatchObject({ status: 503, json: notDone });
      expect(await scene.ask("GET", `/records/${await recordOf({})}/body`)).toMatchObject({
        status: 503,
        json: notDone,
      });
      const { code, stderr } = await onceway("records", "release", id, "--reason", "not in the ledger");
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/^audit-unavailable: The audit log cannot be written, so nothing was changed/);
      expect(stderr).not.toContain("idempotency key");
      const { page, close } = await openConsole(browser, scene);
      await page.goto(BASE);
      await page.getByLabel("Operator token").fill(ANN_TOKEN);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Audit log unavailable" }).waitFor();
      await page.getByText("nothing was changed").waitFor();
      await close();
      expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "unknown" });
    } finally {
      log.exec("DROP TRIGGER no_room");
      log.close();
    }
    expect((await release()).status).toBe(200);
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "failed" });
    const entries = (await entriesOf("action=release")).filter(({ target }) => target === id);
    expect(entries.map(({ outcome }) => outcome)).toEqual(["done"]);
  });
});

describe("onceway audit", () => {
  it("prints entries, as a table and as JSON, and writes all of them to a file", async () => {
    const id = await recordOf({});
    await scene.ask("POST", `/records/${id}/forget`, { token: ANN_TOKEN, body: { reason: "never used" } });
    const table = await onceway("audit", "list", "--by", "ann", "--since", "1h");
    expect(table.code).toBe(0);
    expect(table.stdout).toMatch(/^AT .*BY .*ACTION .*OUTCOME/);
    expect(table.stdout).toMatch(/ ann .*forget .*done .*never used/);
    const json = await onceway("audit", "list", "--json", "--action", "forget", "--limit", "1");
    expect(JSON.parse(json.stdout)).toMatchObject({ by: "ann", target: id });
    const folder = await mkdtemp(join(tmpdir(), "onceway-audit-"));
    try {
      const file = join(folder, "audit.ndjson");
      const exported = await onceway("audit", "export", file);
      expect(exported.code).toBe(0);
      const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
      const numbers = lines.map((line) => v.parse(v.object({ number: v.number() }), JSON.parse(line)).number);
      expect(numbers).toEqual(Array.from(numbers, (_, at) => numbers.length - at));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("the console", () => {
  it("shows who is signed in, and what was done, the sign-in too", async () => {
    const { page, complaints, close } = await openConsole(browser, scene);
    await signIn(page, ANN_TOKEN);
    await page.getByText("ann", { exact: true }).waitFor();
    const id = await unknownRecord();
    await page.goto(`/_onceway/console/records/${id}`);
    await page.locator("#release-form summary").click();
    await page.locator("#release-reason").fill("by hand");
    await page.locator("#release-form").getByRole("checkbox").check();
    await page.locator("#release-form").getByRole("button").click();
    await page.waitForURL(/\/records\/[0-9a-f]{64}$/);
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByRole("heading", { name: "Audit log", level: 1 }).waitFor();
    const rows = page.locator("tbody tr");
    expect(await rows.nth(0).innerText()).toMatch(/ann[^]*release[^]*done[^]*by hand/);
    expect(await page.locator("tbody").innerText()).toMatch(/ann[^]*sign-in[^]*done/);
    expect(complaints).toEqual([]);
    await close();
  });
});
