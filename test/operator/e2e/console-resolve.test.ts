// @module-tag needs/chromium
// The form for a response is filled in from a success on the same route: status and type at once, another request's body only when
// somebody asks, marked, confirmed and audited; and nothing from or for an encrypted record.

import { randomBytes } from "node:crypto";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchChromium } from "../../support/chromium.ts";
import { freshKey } from "../../support/http.ts";
import { HOLD, openConsole, signIn, startConsoleScene } from "../../support/e2e/console.ts";
import { faultsOf, LOOKS } from "../../support/e2e/console-looks.ts";
import {
  ADMIN_TOKEN,
  BASE,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../support/e2e/operator-scene.ts";

const EXAMPLE = { id: "pay_of_another_caller", amount: 4200 };
const SUCCESS = {
  status: 202,
  headers: [
    ["Content-Type", "application/vnd.bank+json; charset=utf-8; caller=alice"],
    ["Location", "/v1/payments/pay_of_another_caller"],
  ] as [string, string][],
  body: JSON.stringify(EXAMPLE),
};

let browser: Browser;
let scene: OperatorScene;
beforeAll(async () => {
  [browser, scene] = await Promise.all([launchChromium(), startConsoleScene("10m", {}, { environment: "staging" })]);
  await scene.send({ path: HOLD, key: freshKey(), behave: SUCCESS });
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

interface Opened {
  readonly page: Page;
  readonly key: string;
  /** How often a body has been read since. */
  readonly bodiesRead: () => Promise<number>;
}

/** The page of a record with an unknown outcome, on a route with a success. */
async function withUnknown(use: (opened: Opened) => Promise<void>, options: BrowserContextOptions = {}): Promise<void> {
  const key = freshKey();
  await scene.send({ path: HOLD, key, behave: { drop: "after-effect" } });
  const { page, complaints, close } = await openConsole(browser, scene, options);
  await signIn(page);
  await page.goto(`${BASE}/console/records?key=${key}`);
  await page.locator("#records").getByRole("link", { name: key }).click();
  await page.locator("#resolve-form").waitFor();
  const before = await allBodiesRead();
  await use({ page, key, bodiesRead: async () => (await allBodiesRead()) - before });
  expect(complaints.filter((text) => !text.includes("400 (Bad Request)"))).toEqual([]);
  await close();
}

const SHOW = "Show another response's body as an example";

async function allBodiesRead(): Promise<number> {
  const { text } = await scene.ask("GET", "/audit?action=read-body");
  return text.split('"read-body"').length - 1;
}

it("status and type of a success are filled in, and nothing that is another caller's", () =>
  withUnknown(async ({ page, bodiesRead }) => {
    const form = page.locator("#resolve-form");
    expect(await form.getByLabel("Status").inputValue()).toBe("202");
    expect(await form.getByLabel("Headers").inputValue()).toBe(
      "content-type: application/vnd.bank+json; charset=utf-8",
    );
    expect(await form.getByLabel("Body").inputValue()).toBe("");
    expect(await page.content()).not.toMatch(/pay_of_another_caller|alice/);
    expect(await bodiesRead()).toBe(0);
    await page.locator("#filled-in").getByRole("link").click();
    await page.locator("#record-head .completed").waitFor();
  }));

it("an example's body is shown when asked for, audited, and refused until it is confirmed", () =>
  withUnknown(async ({ page, key, bodiesRead }) => {
    const form = page.locator("#resolve-form");
    await form.getByLabel("Reason").fill("Seen at the bank");
    await form.getByRole("button", { name: SHOW }).click();
    await page.locator("#example").waitFor();
    expect(await form.getByLabel("Body").inputValue()).toBe(JSON.stringify(EXAMPLE));
    expect(await form.getByLabel("Reason").inputValue()).toBe("Seen at the bank");
    expect(await bodiesRead()).toBe(1);
    // Past the browser's own check, the server says it too, and what was typed stays, also when the page refreshes.
    await page.evaluate("document.querySelector('#resolve-form form').noValidate = true");
    await form.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("alert").getByText("nothing of the other request is left").waitFor();
    for (let refresh = 0; refresh < 2; refresh += 1) {
      await page.waitForResponse((response) => response.request().resourceType() === "fetch");
    }
    expect(await form.getByLabel("Body").inputValue()).toBe(JSON.stringify(EXAMPLE));
    await form.getByLabel("Body").fill('{"id":"pay_own"}');
    await page.locator("#example").getByRole("checkbox").check();
    await form.getByRole("button", { name: "Preview" }).click();
    await page.locator("#preview").getByText("Its body began as an example").waitFor();
    await page.locator("#preview").getByRole("checkbox").check();
    await page.getByRole("button", { name: "Resolve with this response" }).click();
    await page.getByText("Resolved. Every retry gets this response from now on.").waitFor();
    const retry = await scene.send({ path: HOLD, key });
    expect([retry.status, retry.body.toString()]).toEqual([202, '{"id":"pay_own"}']);
    expect(await bodiesRead()).toBe(1);
  }));

it("the Enter key asks for a preview, not for another caller's body", () =>
  withUnknown(async ({ page, bodiesRead }) => {
    const form = page.locator("#resolve-form");
    await form.getByLabel("Body").fill("{}");
    await form.getByLabel("Reason").fill("Seen at the bank");
    await page.keyboard.press("Enter");
    await page.locator("#preview").waitFor();
    expect(await bodiesRead()).toBe(0);
  }));

it.each(Object.entries(LOOKS))("a form with an example is accessible %s", (_name, options) =>
  withUnknown(async ({ page }) => {
    await page.getByRole("button", { name: SHOW }).click();
    await page.locator("#example").waitFor();
    expect(await faultsOf(page, options)).toEqual([]);
  }, options),
);

it("an encrypted record neither gives an example nor gets one", async () => {
  const own = await startOperatorScene(
    { shards: 2, scope: ["header:authorization"], timeout: "9m", lock: "10m" },
    [{ path: HOLD, unknown: "hold", encrypt_responses: true }],
    { ADMIN_TOKEN, READ_TOKEN, ENCRYPTION_SECRET: randomBytes(32).toString("hex") },
  );
  const headers = [["Authorization", "Bearer of-a-caller"]] as [string, string][];
  await own.send({ path: HOLD, key: freshKey(), behave: SUCCESS, headers });
  await own.send({ path: HOLD, key: freshKey(), behave: { drop: "after-effect" }, headers });
  const { page, close } = await openConsole(browser, own);
  await signIn(page);
  await page.locator("#undecided").getByRole("link").first().click();
  const form = page.locator("#resolve-form");
  expect(await form.getByLabel("Status").inputValue()).toBe("201");
  expect(await page.locator("#filled-in").count()).toBe(0);
  expect(await form.getByRole("button", { name: SHOW }).count()).toBe(0);
  await close();
  await own.close();
});

it("whoever may only read sees no form, and is refused the example's body", () =>
  withUnknown(async ({ page, bodiesRead }) => {
    const { pathname } = new URL(page.url());
    const reader = await openConsole(browser, scene);
    await signIn(reader.page, READ_TOKEN);
    await reader.page.goto(pathname);
    await reader.page.locator("#decide").waitFor();
    expect(await reader.page.locator("#resolve-form").count()).toBe(0);
    const answer = await reader.page.evaluate(
      `fetch("${pathname}/resolve", {
        method: "POST",
        headers: { "Onceway-Page": document.querySelector("input[name=token]").value },
        body: new URLSearchParams({ step: "example" }),
      }).then(
        async (response) => [response.status, await response.text()],
      )`,
    );
    expect(answer).toEqual([403, expect.stringContaining("Read only")]);
    expect(await bodiesRead()).toBe(0);
    await reader.close();
  }));
