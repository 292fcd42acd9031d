// @module-tag needs/chromium
// Which gateway the console shows: host and environment are on every page and beside every button that changes a record.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { Browser } from "playwright-core";
import { launchChromium } from "../../support/chromium.ts";
import { freshKey } from "../../support/http.ts";
import { HOLD, openConsole, signIn, startConsoleScene } from "../../support/e2e/console.ts";
import { BASE } from "../../support/e2e/operator-scene.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

it.each([
  [{ environment: "staging" }, (host: string) => `staging, ${host}`],
  [{}, (host: string) => host],
])("host and environment are on every page and beside what changes a record: %o", async (settings, nameOf) => {
  const scene = await startConsoleScene("10m", {}, settings);
  const { host } = new URL(scene.gateway.url);
  const key = freshKey();
  await scene.send({ path: HOLD, key, behave: { drop: "after-effect" } });
  const { page, close } = await openConsole(browser, scene);
  const shown = [...Object.values(settings), host].join(" ");
  const site = async (within: string) => {
    const text = await page.locator(`${within} .site`).first().innerText();
    return text.replaceAll(/\s+/g, " ");
  };

  await page.goto(BASE);
  expect(await page.title()).toBe(`Sign in · ${nameOf(host)} · Onceway`);
  expect(await site("main")).toBe(shown);
  await signIn(page);
  for (const path of ["", "/console/day", "/console/records", "/console/events", "/console/shards", "/console/audit"]) {
    await page.goto(BASE + path);
    expect([path, await page.title()]).toEqual([path, expect.stringContaining(` · ${nameOf(host)} · Onceway`)]);
    expect([path, await site("header")]).toEqual([path, shown]);
  }
  await page.goto(`${BASE}/console/no-such-page`);
  expect(await page.title()).toBe(`Not found · ${nameOf(host)} · Onceway`);
  await page.goto(BASE);
  await page.locator("#undecided").getByRole("link", { name: key }).click();
  await page.getByRole("heading", { name: key }).waitFor();
  for (const form of ["resolve", "release"]) {
    await page.evaluate(`document.getElementById("${form}-form").open = true`);
    expect([form, await site(`#${form}-form`)]).toEqual([form, shown]);
  }
  await close();
  await scene.close();
});
