// @module-tag needs/chromium
// A new operator's way through the console: the origin is killed during a call, its key is shown as unknown, the operator
// decides, and the retry gets the result. With a mouse, with the keyboard alone, and without the script.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../support/chromium.ts";
import { freshKey, headerValue } from "../../support/http.ts";
import { HOLD, makeUnknown, openConsole, signIn, startConsoleScene } from "../../support/e2e/console.ts";
import { until } from "../../support/e2e/scene.ts";
import { ADMIN_TOKEN, BASE, type OperatorScene } from "../../support/e2e/operator-scene.ts";

const BODY = '{\n  "id": "pay_1"\n}';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

/** Each kills its origin. */
async function withScene(use: (scene: OperatorScene) => Promise<void>): Promise<void> {
  const scene = await startConsoleScene();
  try {
    await use(scene);
  } finally {
    await scene.close();
  }
}

async function fillResolution(page: Page): Promise<void> {
  const form = page.locator("#resolve-form");
  await form.getByLabel("Status").fill("202");
  await form.getByLabel("Headers").fill("content-type: application/json\nx-settled-by: the bank's ledger");
  await form.getByLabel("Body").fill(BODY);
  await form.getByLabel("Reason").fill("Found in the bank's ledger");
}

async function expectResolution(scene: OperatorScene, key: string): Promise<void> {
  const retry = await scene.send({ path: HOLD, key });
  expect(retry.status).toBe(202);
  expect(retry.body.toString()).toBe(BODY);
  expect(headerValue(retry, "x-settled-by")).toBe("the bank's ledger");
  expect(headerValue(retry, "idempotent-replayed")).toBe("true");
}

describe("a key with an unknown outcome", () => {
  it.each([true, false])("is shown, resolved, and answers the retry (with the script: %s)", (javaScriptEnabled) =>
    withScene(async (scene) => {
      const key = await makeUnknown(scene);
      const { page, complaints, close } = await openConsole(browser, scene, { javaScriptEnabled });
      await signIn(page);

      await page.locator("#undecided").getByRole("link", { name: key }).click();
      await page.getByRole("heading", { name: key }).waitFor();
      expect(await page.locator("#meaning").textContent()).toContain("attempt 1 may have succeeded");
      expect(await page.locator("#timeline li").allTextContents()).toEqual([
        expect.stringMatching(/^Attempt 1 may have taken effect: the connection broke/),
      ]);
      await fillResolution(page);
      await page.getByRole("button", { name: "Preview" }).click();
      // What retries will get, and a way back to what was typed.
      expect(await page.locator("#preview pre").textContent()).toBe(BODY);
      expect(await page.locator("#preview dl").textContent()).toContain("x-settled-by");
      await page.getByRole("button", { name: "Edit" }).click();
      expect(await page.locator("#resolve-form").getByLabel("Status").inputValue()).toBe("202");
      expect(await page.locator("#resolve-form").getByLabel("Body").inputValue()).toBe(BODY);
      await page.getByRole("button", { name: "Preview" }).click();
      expect(await page.locator("#record-head .state").textContent()).toBe("unknown");
      await page.locator("#preview").getByRole("checkbox").check();
      await page.getByRole("button", { name: "Resolve with this response" }).click();

      await page.getByText("Resolved. Every retry gets this response from now on.").waitFor();
      expect(await page.locator("#record-head .state").textContent()).toBe("completed");
      expect(await page.locator("#timeline .change").textContent()).toMatch(
        /^Resolved by adminFound in the bank's ledger/,
      );
      expect(await page.locator("#response").textContent()).toContain("x-settled-by");
      await expectResolution(scene, key);

      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Operator token").waitFor();
      expect(complaints).toEqual([]);
      await close();
    }),
  );

  it("is resolved with the keyboard alone", () =>
    withScene(async (scene) => {
      const key = await makeUnknown(scene);
      const { page, complaints, close } = await openConsole(browser, scene);
      await page.goto(BASE);
      // A field that takes the token without a click; the browser may focus it a moment after the page is there.
      await page.locator("#operator-token:focus").waitFor();
      await page.keyboard.type(ADMIN_TOKEN);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
      await page.keyboard.press("Tab");
      expect(await focused(page)).toBe("Skip to content");
      await page.keyboard.press("Enter");
      await tabTo(page, key);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: key }).waitFor();
      await tabTo(page, "resolve-status");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.type(BODY);
      await page.keyboard.press("Tab");
      await page.keyboard.type("Found in the bank's ledger");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.locator("#preview").waitFor();
      await tabTo(page, "resolve-confirmed");
      await page.keyboard.press("Space");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByText("Resolved. Every retry gets this response from now on.").waitFor();
      const retry = await scene.send({ path: HOLD, key });
      expect([retry.status, retry.body.toString()]).toEqual([201, BODY]);
      expect(complaints).toEqual([]);
      await close();
    }));

  it("is released, and the retry reaches the origin again", async () => {
    const scene = await startConsoleScene("6s");
    const key = freshKey();
    const lost = await scene.send({ path: HOLD, key, behave: { drop: "after-effect" } });
    expect(lost.status).toBe(502);
    const { page, complaints, close } = await openConsole(browser, scene);
    await signIn(page);
    await page.getByRole("searchbox", { name: "Idempotency key" }).fill(key);
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator("#records").getByRole("link", { name: key }).click();
    await page.locator("#release-form summary").click();
    const form = page.locator("#release-form");
    // The browser itself asks for a reason and a yes; whoever goes past it is told by the server, and loses nothing typed.
    await page.evaluate('document.querySelector("#release-form form").noValidate = true');
    await form.getByLabel("Reason").fill("No such payment at the bank");
    await form.getByRole("button", { name: "Release the key" }).click();
    await page.getByRole("alert").getByText("Confirm the change").waitFor();
    expect(await form.getByLabel("Reason").inputValue()).toBe("No such payment at the bank");
    expect(complaints).toEqual([expect.stringContaining("400 (Bad Request)")]);
    await form.getByRole("checkbox").check();
    await form.getByRole("button", { name: "Release the key" }).click();
    // One banner, in which its history speaks; and what would change nothing is not offered again.
    await page.getByText("Released. The next request with this key starts attempt 2").waitFor();
    expect(await page.locator(".note").count()).toBe(1);
    expect(await page.locator(".note").getAttribute("class")).toBe("note");
    expect(await page.locator("#release-form").count()).toBe(0);
    expect(await page.locator("#resolve-form").count()).toBe(1);
    expect(complaints).toHaveLength(1);
    expect(await scene.origin.effects(key)).toBe(1);
    // The first attempt may be in flight until its lock ends; then the retry may go out.
    const retry = await until(async () => {
      const response = await scene.send({ path: HOLD, key });
      return response.status === 409 ? null : response;
    }, "a second attempt");
    expect(retry.status).toBe(201);
    expect(await scene.origin.effects(key)).toBe(2);
    await close();
    await scene.close();
  });
});

const FOCUSED = "document.activeElement.id || document.activeElement.textContent.trim()";

async function focused(page: Page): Promise<unknown> {
  return page.evaluate(FOCUSED);
}

async function tabTo(page: Page, what: string): Promise<void> {
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press("Tab");
    if ((await focused(page)) === what) return;
  }
  throw new Error(`40 presses of the tab key do not lead to ${what}`);
}
