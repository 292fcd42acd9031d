// @module-tag needs/chromium
// All records that a filter matches are changed in the console: previewed first, in a real browser without script, and closed to those
// who may only read.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../../support/chromium.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { openConsole, signIn } from "../../../support/e2e/console.ts";
import { faultsOf, LOOKS } from "../../../support/e2e/console-looks.ts";
import { BASE, type OperatorScene, READ_TOKEN, startOperatorScene } from "../../../support/e2e/operator-scene.ts";

const CHANGE_ALL = `${BASE}/console/records/change-all`;
const ROUTES = ["/pay", "/outage", "/give", "/looks", "/guarded"] as const;

let browser: Browser;
let scene: OperatorScene;
beforeAll(async () => {
  [browser, scene] = await Promise.all([
    launchChromium(),
    startOperatorScene(
      { shards: 4, scope: ["none"] },
      ROUTES.map((path) => ({ path, unknown: "hold" })),
    ),
  ]);
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

async function unknownKeys(path: (typeof ROUTES)[number], count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  for (const key of keys) await scene.send({ path, key, behave: { drop: "after-effect" } });
  return keys;
}

async function statesOf(path: string): Promise<string> {
  const { text } = await scene.ask("GET", `/records?route=${path}`);
  const states = [...text.matchAll(/"state":"([a-z]+)"/g)].map(([, state = ""]) => state);
  return states.toSorted((one, other) => one.localeCompare(other)).join(" ");
}

it("an administrator sees what would be changed, confirms it, and nothing that has begun since is changed", async () => {
  await unknownKeys("/pay", 12);
  await scene.send({ path: "/pay", key: freshKey() });
  const { page, complaints, close } = await openConsole(browser, scene, { javaScriptEnabled: false });
  await signIn(page);
  await page.getByRole("link", { name: "Records" }).click();
  expect(await page.getByRole("link", { name: "Change all that match" }).count()).toBe(0);
  await page.getByText("More conditions").click();
  await page.getByLabel("Route").selectOption("/pay");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("link", { name: "Change all that match" }).click();
  expect(await page.locator("#filter").innerText()).toBe("route=/pay");
  const result = page.locator("#result");
  // Nothing is chosen yet.
  expect(await result.innerText()).toBe("Choose what to do with them above. 13 match: 12 unknown, 1 completed.");
  expect(await page.locator("#change").count()).toBe(0);
  await page.getByRole("link", { name: "Release" }).click();
  expect(await result.innerText()).toContain("To be released: 12. 13 match: 12 unknown, 1 completed.");
  expect(await result.innerText()).toContain("Left: 1, completed, which can only be forgotten.");
  expect(await page.locator("#first tbody tr").count()).toBe(10);
  // Begun after the preview.
  await unknownKeys("/pay", 1);
  await page.getByLabel("Reason").fill("not in the ledger");
  await page.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Release them" }).click();
  expect(await result.innerText()).toContain("Now released: 12. 13 match: 12 unknown, 1 completed.");
  expect(await page.locator("#change").count()).toBe(0);
  expect(await statesOf("/pay")).toBe(`completed ${"failed ".repeat(12)}unknown`);
  await page.getByRole("link", { name: "Audit" }).click();
  expect(await page.locator("tbody tr").first().innerText()).toMatch(
    /release-all[^]*preview=\S+ route=\/pay[^]*12 of 13/,
  );

  await page.goto(`${CHANGE_ALL}?route=%2Fpay&change=forget`);
  expect(await result.innerText()).toContain("To be forgotten: 1");
  expect(complaints).toEqual([]);
  await close();
});

it("the overview says what happened in one line, which leads to a change of just these records", async () => {
  await unknownKeys("/outage", 3);
  const { page, complaints, close } = await openConsole(browser, scene, { javaScriptEnabled: false });
  await signIn(page);
  const line = page.locator(".outages li", { hasText: "/outage" });
  expect(await line.innerText()).toMatch(/^3 on \/outage, \d\d:\d\d:\d\d(?: to \d\d:\d\d:\d\d)? UTC, origin-dropped/);
  await line.getByRole("link", { name: "Change all 3 …" }).click();
  expect(await page.locator("#filter").innerText()).toMatch(/^route=\/outage since=\S+ until=\S+ state=unknown$/);
  expect(await page.locator("#result").innerText()).toContain("3 match: 3 unknown.");
  expect(complaints).toEqual([]);
  await close();
});

it("a response for all is shown before it is given", async () => {
  const keys = await unknownKeys("/give", 3);
  const { page, close } = await openConsole(browser, scene, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto(`${CHANGE_ALL}?route=%2Fgive&state=unknown`);
  await page.getByRole("link", { name: "Resolve" }).click();
  expect(await page.locator("#result").innerText()).toContain("To be resolved: 3.");
  await page.getByLabel("Status").fill("204");
  await page.getByLabel("Body").fill("paid");
  await page.getByLabel("Reason").fill("in the ledger");
  await page.getByRole("button", { name: "Preview" }).click();
  expect(await page.getByRole("alert").innerText()).toContain("A response with status 204 has no body");
  expect(await page.getByLabel("Reason").inputValue()).toBe("in the ledger");
  await page.getByLabel("Status").fill("202");
  await page.getByLabel("Headers").fill("content-type: text/plain");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("Every retry gets this, marked as a replay:").waitFor();
  expect(await page.getByLabel("Body").innerText()).toBe("paid");
  await page.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Resolve them" }).click();
  expect(await page.locator("#result").innerText()).toContain("Now resolved: 3.");
  for (const key of keys) {
    const retry = await scene.send({ path: "/give", key });
    expect([retry.status, retry.body.toString()]).toEqual([202, "paid"]);
    expect(headerValue(retry, "idempotent-replayed")).toBe("true");
  }
  await close();
});

/** A form as a script of the console could send it: the page's token in a header as well. */
function sendByScript(
  page: Page,
  path: string,
  pageToken: string,
  fields: Readonly<Record<string, string>>,
): Promise<number> {
  return page.evaluate(
    ([to, token, form]) =>
      fetch(to, { method: "POST", headers: { "Onceway-Page": token }, body: new URLSearchParams(form) }).then(
        ({ status }) => status,
      ),
    [path, pageToken, fields] as const,
  );
}

it("needs a condition, the confirmation, and an administrator's own form", async () => {
  await unknownKeys("/guarded", 2);
  const { page, close } = await openConsole(browser, scene);
  await signIn(page);
  for (const address of [CHANGE_ALL, `${CHANGE_ALL}?state=unknow`]) {
    expect((await page.goto(address))?.status()).toBe(400);
    expect(await page.locator("#change").count()).toBe(0);
  }
  await page.goto(`${CHANGE_ALL}?route=%2Fguarded&change=release`);
  await page.getByLabel("Reason").fill("not in the ledger");
  await page.locator("#confirmed").evaluate((box) => box.removeAttribute("required"));
  await page.getByRole("button", { name: "Release them" }).click();
  expect(await page.getByRole("alert").innerText()).toContain("Confirm it");
  const token = (await page.locator("#change input[name=token]").getAttribute("value")) ?? "";
  const send = (fields: Readonly<Record<string, string>>): Promise<number> =>
    sendByScript(page, `${CHANGE_ALL}?route=%2Fguarded&change=release`, token, fields);
  const fields = { reason: "forged", confirmed: "yes", step: "change", until: new Date().toISOString() };
  expect(await send({ ...fields, token: "0".repeat(64) })).toBe(403);
  const { until: _, ...withoutTime } = fields;
  expect(await send({ ...withoutTime, token })).toBe(400);
  await close();

  const reader = await openConsole(browser, scene);
  await signIn(reader.page, READ_TOKEN);
  await reader.page.goto(`${BASE}/console/records?route=%2Fguarded`);
  expect(await reader.page.getByRole("link", { name: "Change all that match" }).count()).toBe(0);
  await reader.page.goto(`${CHANGE_ALL}?route=%2Fguarded`);
  await reader.page.getByText("You may read only.").waitFor();
  const own = (await reader.page.locator("input[name=token]").first().getAttribute("value")) ?? "";
  const forged = await sendByScript(reader.page, `${CHANGE_ALL}?route=%2Fguarded`, own, { ...fields, token: own });
  expect(forged).toBe(403);
  await reader.close();
  expect(await statesOf("/guarded")).toBe("unknown unknown");
});

describe.each(Object.entries(LOOKS))("%s", (_name, look) => {
  it("the page is accessible, without browser errors, and fits the screen", async () => {
    await unknownKeys("/looks", 1);
    const { page, complaints, close } = await openConsole(browser, scene, look);
    await signIn(page);
    for (const change of ["release", "resolve", "forget"]) {
      await page.goto(`${CHANGE_ALL}?route=%2Flooks&change=${change}`);
      expect(await faultsOf(page, look)).toEqual([]);
    }
    await page.goto(`${BASE}/console/records?route=%2Flooks`);
    expect(await faultsOf(page, look)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
