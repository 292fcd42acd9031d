// @module-tag needs/chromium
// An operator when one shard of four fails: API, console and command line show everything that the others hold, and name the
// failing shard wherever its data is missing.

import type { Browser } from "playwright-core";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../support/chromium.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { freshKey } from "../../support/http.ts";
import { HOLD, openConsole, signIn, startConsoleScene } from "../../support/e2e/console.ts";
import { ADMIN_TOKEN, BASE, type OperatorScene, startOperatorScene } from "../../support/e2e/operator-scene.ts";
import { type SilentShard, silenceShard } from "../../support/e2e/silent-shard.ts";

const summarySchema = v.object({ key: v.string(), shard: v.string() });
const pageSchema = v.object({
  records: v.array(summarySchema),
  cursor: v.nullable(v.string()),
  unreachable: v.array(v.string()),
});
const drainSchema = v.object({
  unknown: v.number(),
  unreachable: v.array(v.string()),
  shards: v.array(v.object({ shard: v.string(), unknown: v.number() })),
});

let browser: Browser;
let scene: OperatorScene;
/** An unknown record in each shard: its key by the shard's name. */
const keys = new Map<string, string>();
let unreachable: readonly [shard: string, key: string];
let fault: SilentShard;
beforeAll(async () => {
  [browser, scene] = await Promise.all([launchChromium(), startConsoleScene()]);
  while (keys.size < 4) {
    const key = freshKey();
    await scene.send({ path: HOLD, key, behave: { drop: "after-effect" } });
    const [record] = v.parse(pageSchema, (await scene.ask("GET", `/records?key=${key}`)).json).records;
    if (record === undefined) throw new Error(`no record of ${key}`);
    if (keys.has(record.shard)) await forget(key);
    else keys.set(record.shard, key);
  }
  const key = keys.get("shard-2-of-4") ?? "";
  unreachable = ["shard-2-of-4", key];
  fault = silenceShard(scene.gateway, key);
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

async function forget(key: string): Promise<void> {
  const { json } = await scene.ask("GET", `/records?key=${key}`);
  const { records } = v.parse(v.object({ records: v.array(v.object({ id: v.string() })) }), json);
  // Its lock is long, so the record stays, resolved.
  const body = { confirm: true, reason: "one is enough", response: { status: 201 } };
  await scene.ask("POST", `/records/${records[0]?.id}/resolve`, { body });
}

const others = (): readonly string[] => [...keys].filter(([shard]) => shard !== unreachable[0]).map(([, key]) => key);

describe("while one shard fails", () => {
  it("/drain counts the other shards, and names the failing one", async () => {
    const { status, json } = await scene.ask("GET", "/drain");
    expect(status).toBe(200);
    const { unknown, unreachable: named, shards } = v.parse(drainSchema, json);
    expect({ unknown, named }).toEqual({ unknown: 3, named: [unreachable[0]] });
    expect(shards.map(({ shard }) => shard)).toEqual(["shard-0-of-4", "shard-1-of-4", "shard-3-of-4"]);
  });

  it("/records lists the other shards in pages of any size, and names the failing one", async () => {
    for (const limit of [1, 2, 500]) {
      const found: string[] = [];
      const named = new Set<string>();
      for (let cursor: string | null = ""; cursor !== null;) {
        const from: string = cursor === "" ? "" : `&cursor=${cursor}`;
        const { json } = await scene.ask("GET", `/records?state=unknown&limit=${limit}${from}`);
        const page = v.parse(pageSchema, json);
        found.push(...page.records.map(({ key }) => key));
        for (const shard of page.unreachable) named.add(shard);
        ({ cursor } = page);
      }
      expect(found.toSorted()).toEqual(others().toSorted());
      expect([...named]).toEqual([unreachable[0]]);
    }
  });

  it("a key of the failing shard is not reported as missing, and a key of another shard is found", async () => {
    const asked = await scene.ask("GET", `/records?key=${unreachable[1]}`);
    expect(asked).toMatchObject({ status: 503, json: { code: "store-unavailable" } });
    const [other = ""] = others();
    const { json } = await scene.ask("GET", `/records?key=${other}`);
    expect(json).toMatchObject({ records: [{ key: other }], unreachable: [] });
  });

  it("the command line lists the other shards, and warns", async () => {
    const env = { ONCEWAY_URL: scene.gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN };
    const { code, stdout, stderr } = await callOnceway(["records", "list", "--state", "unknown", "--json"], env);
    expect(code).toBe(0);
    const listed = stdout
      .trim()
      .split("\n")
      .map((line) => v.parse(summarySchema, JSON.parse(line)).key);
    expect(listed.toSorted()).toEqual(others().toSorted());
    expect(stderr).toBe("A shard does not answer, and records there are not listed: shard-2-of-4. Try again later.\n");
  });

  it("the console shows the other shards and a notice, which disappears when the shard is back", async () => {
    const { page, complaints, close } = await openConsole(browser, scene);
    const notice = page.locator("#unreachable");
    await signIn(page);
    expect(await notice.textContent()).toContain("A shard does not answer.");
    expect(await notice.textContent()).toContain("shard-2-of-4");
    expect(await page.locator("#counts").textContent()).toContain("in 3 of 4 shards");
    for (const key of others()) await page.locator("#undecided").getByRole("link", { name: key }).waitFor();
    await page.goto(`${BASE}/console/records?state=unknown`);
    expect(await notice.textContent()).toContain("shard-2-of-4");
    expect(await page.locator("#records tbody tr").count()).toBe(3);
    await page.goto(`${BASE}/console/shards`);
    expect(await notice.textContent()).toContain("shard-2-of-4");
    expect(await page.locator("#shards tbody tr").count()).toBe(3);

    fault.heal();
    await notice.locator("p").waitFor({ state: "detached" });
    await page.locator("#shards").getByRole("rowheader", { name: "shard-2-of-4" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
    expect((await scene.ask("GET", "/drain")).json).toMatchObject({ unknown: 4, unreachable: [] });
  });
});

it("when no shard answers, nothing is shown as empty", async () => {
  const own = await startOperatorScene({ shards: 1, scope: ["none"] }, [{ path: "/act" }]);
  const key = freshKey();
  await own.send({ path: "/act", key });
  const { heal } = silenceShard(own.gateway, key);
  try {
    for (const path of ["/drain", "/records"]) {
      expect(await own.ask("GET", path)).toMatchObject({ status: 503, json: { code: "store-unavailable" } });
    }
    const env = { ONCEWAY_URL: own.gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN };
    const { code, stdout, stderr } = await callOnceway(["records", "list"], env);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("store-unavailable");
    const { page, close } = await openConsole(browser, own);
    await signIn(page);
    expect(await page.locator("#unreachable").textContent()).toContain("shard-0-of-1");
    expect(await page.locator("#counts").textContent()).toContain("in 0 of 1 shards");
    await close();
  } finally {
    heal();
    await own.close();
  }
});
