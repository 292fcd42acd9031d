// @module-tag needs/chromium
// The list of records over several shards, as operators read it: newest first, by time, forward and back, with totals, in the API, on
// the command line and in the console. And a list of so many records that it is read in parts.

import { rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import type { Browser, Page } from "playwright-core";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordPageSchema } from "../../../src/operator/record-schema.ts";
import { PATH } from "../../bench/records/post.ts";
import { loadAll, makeShards } from "../../bench/records/shard-files.ts";
import { launchChromium } from "../../support/chromium.ts";
import { type CommandOutcome } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../support/gateway.ts";
import { freshKey } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { openConsole, signIn } from "../../support/e2e/console.ts";
import {
  ADMIN_TOKEN,
  askGateway,
  BASE,
  type OperatorScene,
  startOperatorScene,
} from "../../support/e2e/operator-scene.ts";

const LIST = `${BASE}/console/records`;

type Listed = v.InferOutput<typeof recordPageSchema>;

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
});

async function pageOf(gateway: Gateway, query: string): Promise<Listed> {
  const { json } = await askGateway(`${gateway.url}${BASE}/records?${query}`, "GET", {});
  return v.parse(recordPageSchema, json);
}

/** All pages from a cursor on, by one of their links. */
async function walk(
  gateway: Gateway,
  query: string,
  by: "cursor" | "previous",
  begin = "",
): Promise<readonly Listed[]> {
  const pages: Listed[] = [];
  for (let at: string | null = begin; at !== null;) {
    const page: Listed = await pageOf(gateway, at === "" ? query : `${query}&cursor=${at}`);
    pages.push(page);
    at = page[by];
  }
  return pages;
}

function onceway(gateway: Gateway, ...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(["records", "list", ...args], { ONCEWAY_URL: gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN });
}

const keysOf = ({ records }: Listed): readonly string[] => records.map(({ key }) => key);

describe("a list over four shards", () => {
  let scene: OperatorScene;
  /** The last one first. */
  let keys: readonly string[];
  beforeAll(async () => {
    scene = await startOperatorScene({ shards: 4, scope: ["none"] }, [{ path: "/pay" }, { path: "/late" }]);
    const sent = Array.from({ length: 60 }, freshKey);
    let before = 0;
    for (const key of sent) {
      // Each in a millisecond of its own: those of one are in the order of their ids.
      while (Date.now() === before);
      before = Date.now();
      await scene.send({ path: "/pay", key });
    }
    keys = sent.toReversed();
  });
  afterAll(() => scene.close());

  it("has the newest first, once each, forward and back in pages of any size, and says how many there are", async () => {
    for (const limit of [7, 60, 61]) {
      const pages = await walk(scene.gateway, `limit=${limit}`, "cursor");
      expect(pages.flatMap(keysOf)).toEqual(keys);
      expect(pages).toHaveLength(Math.ceil(60 / limit));
      for (const { total, parts } of pages) {
        expect({ total, parts }).toEqual({
          total: { count: 60, isExact: true },
          parts: { first: 1, last: 1, count: 1 },
        });
      }
      const back = await walk(scene.gateway, `limit=${limit}`, "previous", pages.at(-1)?.previous ?? "");
      expect([...back.toReversed(), ...pages.slice(-1)].flatMap(keysOf).slice(-60)).toEqual(keys);
      const fromEnd = await walk(scene.gateway, `limit=${limit}`, "previous", "last");
      expect(fromEnd.toReversed().flatMap(keysOf)).toEqual(keys);
    }
  });

  it("is narrowed by time, both ends included, in the API and on the command line", async () => {
    const { records } = await pageOf(scene.gateway, "limit=60");
    const [newer, older] = [records[10]?.startedAt, records[20]?.startedAt];
    const between = await pageOf(scene.gateway, `since=${older}&until=${newer}`);
    expect(keysOf(between)).toEqual(keys.slice(10, 21));
    expect(between.total).toEqual({ count: 11, isExact: true });
    expect(keysOf(await pageOf(scene.gateway, "until=10m"))).toEqual([]);
    expect(keysOf(await pageOf(scene.gateway, "since=10m&limit=500"))).toEqual(keys);
    const listed = await onceway(scene.gateway, "--since", older ?? "", "--until", newer ?? "");
    expect(listed.stdout.trimEnd().split("\n")).toHaveLength(1 + 11);
    expect(listed.stderr).toBe("11 records, newest first.\n");
    const refused = await onceway(scene.gateway, "--since", "1h", "--until", "2h");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("since must not be after until");
    const some = await onceway(scene.gateway, "--limit", "5");
    expect(some.stderr).toBe("5 of 60 records, newest first.\nThere may be more: --limit 50, or --all.\n");
  });

  it("can be walked in the console, whose total and records stay up to date on every page", async () => {
    const { page, complaints, close } = await openConsole(browser, scene);
    await signIn(page);
    await page.goto(LIST);
    const shown = async (): Promise<readonly string[]> => page.locator("#records tbody th").allInnerTexts();
    const total = page.locator("#records-total");
    const follow = async (name: string): Promise<void> => {
      await page.getByRole("link", { name, exact: true }).click();
      await page.waitForLoadState();
    };
    expect(await total.innerText()).toBe("60 records");
    expect(await shown()).toEqual(keys.slice(0, 50));
    expect(await page.getByRole("link", { name: "Previous page" }).count()).toBe(0);
    await follow("Next page");
    expect(await shown()).toEqual(keys.slice(50));
    expect(await page.getByRole("link", { name: "Next page" }).count()).toBe(0);
    await follow("Previous page");
    expect(await shown()).toEqual(keys.slice(0, 50));
    await follow("Last page");
    expect(await shown()).toEqual(keys.slice(10));
    await page.getByRole("link", { name: "Last hour" }).click();
    await page.waitForURL(/since=1h/);
    expect(await page.getByLabel("Since").inputValue()).toBe("1h");
    expect(await shown()).toEqual(keys.slice(0, 50));
    await follow("Next page");
    // Another record comes, while the second page is open.
    await scene.send({ path: "/late", key: freshKey() });
    await page.locator("#records-total", { hasText: "61 records" }).waitFor();
    expect(await shown()).toEqual(keys.slice(50));
    await page.getByLabel("Since").fill("soon");
    await page.getByRole("button", { name: "Search" }).last().click();
    await page.getByText('since must be a time or a duration ago: write "2026-11-23T08:30:00Z"').waitFor();
    expect(complaints.filter((one) => !one.includes("400"))).toEqual([]);
    await close();
  });
});

describe("a list of more records than a shard sorts at once", () => {
  const SHARDS = 2;
  const EACH = 9000;
  let origin: TestOrigin;
  let gateway: Gateway;
  beforeAll(async () => {
    origin = await startOrigin();
    await Promise.all(
      // Those by which the shards are made.
      Array.from({ length: 100 }, (_, number) => origin.behave({ key: `shard-maker-${number}` }, { status: 200 })),
    );
    const vars = { IDEMPOTENCY: { origin: origin.url, shards: SHARDS, scope: ["none"] }, ROUTES: [{ path: PATH }] };
    const stateDir = await makeStateDir();
    const start = (): Promise<Gateway> => startWorkerd({ stateDir, vars, bindings: { ADMIN_TOKEN } });
    const shards = await makeShards(start, SHARDS);
    const jobs = shards.map(({ file, shard, template }) => ({ file, template, seed: shard, to: EACH - 1, ageMs: 0 }));
    await loadAll(jobs, () => undefined);
    for (const { file } of shards) {
      const database = new DatabaseSync(file);
      // Within a day, so that many have the same millisecond.
      database.exec("UPDATE records SET started_at = started_at - abs(random() % 20000)");
      database.close();
    }
    gateway = await start();
  });
  afterAll(async () => {
    await gateway.stop();
    await origin.close();
    await rm(gateway.stateDir, { recursive: true, force: true });
  });

  const key = ({ startedAt, id }: Listed["records"][number]): string => `${startedAt} ${id}`;

  it("is read in parts, each with its newest first, forward and back, and its total is an estimate", async () => {
    const pages = await walk(gateway, "limit=500", "cursor");
    const all = pages.flatMap(({ records }) => records).map(key);
    expect(new Set(all).size).toBe(SHARDS * EACH);
    expect(all).toHaveLength(SHARDS * EACH);
    const ascents = all.filter((one, at) => at > 0 && one > (all[at - 1] ?? ""));
    const [first] = pages;
    expect(first?.parts).toEqual({ first: 1, last: 1, count: 4 });
    expect(ascents).toHaveLength(3);
    for (const { total } of pages) {
      expect(total.isExact).toBe(false);
      expect(Math.abs(total.count / (SHARDS * EACH) - 1)).toBeLessThan(0.1);
    }
    const back = await walk(gateway, "limit=500", "previous", "last");
    expect(
      back
        .toReversed()
        .flatMap(({ records }) => records)
        .map(key),
    ).toEqual(all);
    const [middle] = pages.slice(9);
    const before = await pageOf(gateway, `limit=500&cursor=${middle?.previous}`);
    expect(before.records.map(key)).toEqual(all.slice(9 * 500 - 500, 9 * 500));
    // What is open has a place of its own, however many others there are.
    expect(await pageOf(gateway, "state=unknown,failed")).toMatchObject({
      records: [],
      total: { count: 0, isExact: true },
      parts: { count: 1 },
    });
  });

  it("is streamed by the command line, which says what its order means", async () => {
    const { stdout, stderr } = await onceway(gateway, "--all", "--json");
    expect(stdout.trimEnd().split("\n")).toHaveLength(SHARDS * EACH);
    expect(stderr).toBe("");
    const some = await onceway(gateway, "--limit", "20");
    expect(some.stderr).toMatch(/^20 of about 1\d,\d00 records, in 4 parts, each with its newest first\.\n/);
  });

  it("says in the console which part a page is of", async () => {
    const context = await browser.newContext({ baseURL: gateway.url });
    const page: Page = await context.newPage();
    await signIn(page);
    await page.goto(LIST);
    expect(await page.locator("#records-total").innerText()).toMatch(/^about 1\d,\d00 records$/);
    await page.getByText("Part 1 of 4: so many records are listed in parts, each with its newest first.").waitFor();
    await page.getByRole("link", { name: "Last page" }).click();
    await page.getByText("Part 4 of 4:").waitFor();
    await context.close();
  });
});
