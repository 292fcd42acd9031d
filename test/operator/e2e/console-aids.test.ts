// @module-tag needs/chromium
// What makes the console quick to use: tiles that lead to what they count, text that a button copies, times in the operator's zone,
// and a day in charts.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../support/chromium.ts";
import { freshKey } from "../../support/http.ts";
import { HOLD, makeOpenRecords, openConsole, signIn, startConsoleScene } from "../../support/e2e/console.ts";
import { faultsOf, LOOKS } from "../../support/e2e/console-looks.ts";
import { BASE, type OperatorScene } from "../../support/e2e/operator-scene.ts";

const CONSOLE = `${BASE}/console`;

let browser: Browser;
let scene: OperatorScene;
const keys = { unknown: freshKey(), failed: freshKey(), started: freshKey(), waiting: freshKey() };
beforeAll(async () => {
  [browser, scene] = await Promise.all([launchChromium(), startConsoleScene()]);
  await makeOpenRecords(scene, keys);
  await scene.send({ path: HOLD, key: keys.unknown });
});
afterAll(async () => {
  await scene.origin.release();
  await browser.close();
  await scene.close();
});

describe("a tile of the overview", () => {
  it.each([
    ["In flight", keys.started],
    ["Unknown", keys.unknown],
    ["Waiting", keys.waiting],
    ["Not done", keys.failed],
  ])("%s leads to the records that it counts, and to no others", async (name, key) => {
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    // Anywhere on the tile, not only on its name.
    await page
      .locator("#counts > div", { has: page.getByRole("link", { name }) })
      .locator(".n")
      .click({ force: true });
    await page.waitForURL(/\/console\/records\?state=/);
    expect(await page.locator("#records tbody th").allTextContents()).toEqual([key]);
    await close();
  });

  it("says how many duplicates were prevented, and leads to the day", async () => {
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    const tile = page.locator("#counts > div").first();
    expect(await tile.innerText()).toBe("Duplicates prevented\n1\nin 24 hours");
    await page.getByRole("link", { name: "Duplicates prevented" }).click();
    await page.getByRole("heading", { name: "The last 24 hours" }).waitFor();
    const requests = page.getByRole("img", { name: /^Requests by hour: \d+, at most \d+ at / });
    expect(await requests.locator("rect.part").count()).toBeGreaterThanOrEqual(1);
    await close();
  });
});

describe("a copy button", () => {
  const openRecord = async (options = {}) => {
    const opened = await openConsole(browser, scene, options);
    await signIn(opened.page);
    await opened.page.locator("#undecided").getByRole("link", { name: keys.unknown }).click();
    await opened.page.getByRole("heading", { name: keys.unknown }).waitFor();
    return opened;
  };

  /** Collects what is announced, which stands for two seconds. */
  const listen = (page: Page): Promise<unknown> =>
    page.evaluate(
      "globalThis.heard = [], new MutationObserver(([{ target }]) => heard.push(target.textContent)).observe(document.getElementById('news'), { childList: true })",
    );
  const heard = (page: Page, what: string): Promise<unknown> =>
    page.evaluate(`heard.filter((one) => one === "${what}").length`);

  it("copies the key, the id, the hash of the logs and the command", async () => {
    const { page, complaints, close } = await openRecord({ permissions: ["clipboard-read", "clipboard-write"] });
    await listen(page);
    const id = page.url().split("/").at(-1) ?? "";
    for (const [at, [what, text]] of (
      [
        ["the key", keys.unknown],
        ["the record's id", id],
        ["the key's hash in logs", id.slice(0, 32)],
        ["the command", `npx onceway records show ${id.slice(0, 32)}`],
      ] as const
    ).entries()) {
      await page.getByRole("button", { name: `Copy ${what}`, exact: true }).click();
      await expect.poll(() => heard(page, "Copied")).toBe(at + 1);
      await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(text);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it("is announced for two seconds, also if another one was copied just before", async () => {
    const { page, close } = await openRecord({ permissions: ["clipboard-read", "clipboard-write"] });
    await page.clock.install();
    await page.reload();
    // From here on time passes only when the test says so.
    await page.clock.pauseAt(Date.now() + 60_000);
    const news = page.locator("#news");
    const copy = async (what: string): Promise<void> => {
      await page.getByRole("button", { name: `Copy ${what}`, exact: true }).click();
      await expect.poll(() => news.textContent()).toBe("Copied");
    };
    await copy("the key");
    await page.clock.runFor(1500);
    await copy("the record's id");
    await page.clock.runFor(1500);
    expect(await news.textContent()).toBe("Copied");
    await page.clock.runFor(1500);
    expect(await news.textContent()).toBe("");
    await close();
  });

  it("selects the text where there is no access to the clipboard", async () => {
    const { page, close } = await openRecord();
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await listen(page);
    await page.getByRole("button", { name: "Copy the key", exact: true }).click();
    await expect.poll(() => heard(page, "Selected")).toBe(1);
    expect(await page.evaluate("getSelection().toString()")).toBe(keys.unknown);
    await close();
  });

  it("does not show without the script", async () => {
    const { page, close } = await openRecord({ javaScriptEnabled: false });
    expect(await page.locator("button.copy").count()).toBeGreaterThan(3);
    expect(await page.locator("button.copy:visible").count()).toBe(0);
    await close();
  });
});

describe("a time", () => {
  const UTC = /\d\d:\d\d:\d\d UTC/;

  it.each([
    ["Asia/Kolkata", 330, / GMT\+5:30$/],
    ["America/Phoenix", -420, / (?:MST|GMT-7)$/],
  ])("is shown in UTC and in the operator's zone, %s", async (timezoneId, aheadMinutes, zone) => {
    const { page, close } = await openConsole(browser, scene, { timezoneId });
    await signIn(page);
    const time = page.locator("#undecided time").first();
    // The page's script writes it, and may run after the page is there.
    await expect.poll(() => time.locator("[data-rel=local]").innerText()).toMatch(zone);
    const local = await time.locator("[data-rel=local]").innerText();
    const at = Date.parse((await time.getAttribute("datetime")) ?? "");
    expect(await time.innerText()).toMatch(UTC);
    expect(local).toContain(new Date(at + aheadMinutes * 60_000).toISOString().slice(11, 19));
    await close();
  });

  it.each([
    ["in UTC itself", { timezoneId: "UTC" }],
    ["without the script", { timezoneId: "Asia/Kolkata", javaScriptEnabled: false }],
  ])("is shown in UTC alone %s", async (_name, options) => {
    const { page, close } = await openConsole(browser, scene, options);
    await signIn(page);
    const time = page.locator("#undecided time").first();
    expect(await time.innerText()).toMatch(UTC);
    expect(await time.locator("[data-rel=local]").innerText()).toBe("");
    await close();
  });
});

describe("the last day", () => {
  it.each(Object.entries(LOOKS))("has charts of all routes and of each, accessible %s", async (_name, options) => {
    const { page, complaints, close } = await openConsole(browser, scene, options);
    await signIn(page);
    await page.goto(`${CONSOLE}/day`);
    const charts = async () => (await page.locator(".chart figcaption").allTextContents()).map((text) => text.trim());
    expect(await charts()).toEqual([
      expect.stringMatching(/^Requests \d+$/),
      expect.stringMatching(/^Replays \d+$/),
      expect.stringMatching(/^Conflicts \d+$/),
      expect.stringMatching(/^Errors \d+$/),
      expect.stringMatching(/^Origin, 95%, slowest route [\d\s]+ ms$/),
      expect.stringMatching(/^Gateway, 95%, slowest route [\d\s]+ ms$/),
    ]);
    expect(await faultsOf(page, options)).toEqual([]);
    await page.locator("#routes").getByRole("link", { name: HOLD }).click();
    await page.getByRole("heading", { name: `The last 24 hours of ${HOLD}` }).waitFor();
    // One answer was lost, and its retry refused.
    expect((await charts()).slice(0, 4)).toEqual(["Requests 2", "Replays 0", "Conflicts 1", "Errors 1"]);
    await page.getByText("As a table").click();
    const row = await page.locator("details tbody td").allTextContents();
    expect(row.slice(0, 5)).toEqual(["2", "1", "0", "1", "1"]);
    expect(await faultsOf(page, options)).toEqual([]);
    await page.getByRole("link", { name: "Its records" }).click();
    await page.locator("#records").getByRole("link", { name: keys.unknown }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it("of a route without requests says so", async () => {
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    await page.goto(`${CONSOLE}/day?route=/nobody`);
    await page.getByText("No requests were counted.").waitFor();
    expect(await page.locator(".chart").count()).toBe(0);
    await close();
  });
});
