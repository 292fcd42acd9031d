// @module-tag needs/chromium
// Forgetting a caller in the console: counted first, in a real browser, and closed to those who may only read.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchChromium } from "../../../support/chromium.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { openConsole, signIn } from "../../../support/e2e/console.ts";
import { BASE, type OperatorScene, READ_TOKEN, startOperatorScene } from "../../../support/e2e/operator-scene.ts";

const FORM = `${BASE}/console/records/forget-scope`;

let browser: Browser;
let scene: OperatorScene;
beforeAll(async () => {
  [browser, scene] = await Promise.all([launchChromium(), startOperatorScene({ shards: 4 }, [{ path: "/pay" }])]);
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

async function isReplayed(caller: string, key: string): Promise<boolean> {
  const answer = await scene.send({ path: "/pay", key, headers: [["Authorization", caller]] });
  return headerValue(answer, "idempotent-replayed") === "true";
}

it("an administrator counts a caller's records, then forgets them, and no page shows the credential", async () => {
  const [anna, ben] = [`Bearer ${freshKey()}`, `Bearer ${freshKey()}`];
  const keys = Array.from({ length: 5 }, freshKey);
  for (const key of keys) for (const caller of [anna, ben]) expect(await isReplayed(caller, key)).toBe(false);
  const { page, complaints, close } = await openConsole(browser, scene);
  await signIn(page);
  await page.getByRole("link", { name: "Records" }).click();
  await page.getByRole("link", { name: "Forget a caller" }).click();
  const fill = async (): Promise<void> => {
    await page.getByLabel("Caller").fill(`header:authorization=${anna}`);
    await page.getByLabel("Reason").fill("asked to be erased");
  };
  await fill();
  await page.getByRole("button", { name: "Count" }).click();
  const counted = (await page.locator("#result").textContent()) ?? "";
  expect(counted).toContain("To forget: 5. In flight, left for later: 0.");
  expect(counted).toContain("Events and dead letters to erase: 0.");
  expect(await page.content()).not.toContain(anna);
  expect(await page.getByLabel("Caller").inputValue()).toBe("");
  await fill();
  await page.getByLabel("All these records are erased").check();
  await page.getByRole("button", { name: "Forget the caller" }).click();
  await page.getByText("Forgotten: 5.").waitFor();
  expect(await page.content()).not.toContain(anna);
  expect(complaints).toEqual([]);
  for (const key of keys) {
    expect(await isReplayed(anna, key)).toBe(false);
    expect(await isReplayed(ben, key)).toBe(true);
  }
  await close();
});

it("needs the confirmation, a scope that there is, and an administrator's form", async () => {
  const caller = `Bearer ${freshKey()}`;
  const key = freshKey();
  await isReplayed(caller, key);
  const { page, close } = await openConsole(browser, scene);
  await signIn(page);
  const submit = async (scope: string): Promise<string> => {
    await page.goto(FORM);
    await page.getByLabel("Caller").fill(scope);
    await page.getByLabel("Reason").fill("asked to be erased");
    await page.getByRole("button", { name: "Forget the caller" }).click();
    return (await page.getByRole("alert").textContent()) ?? "";
  };
  expect(await submit(`header:authorization=${caller}`)).toContain("Confirm it");
  await page.getByLabel("Caller").fill(`cookie:session=${caller}`);
  await page.getByRole("button", { name: "Count" }).click();
  await page.getByText("one of: [header:authorization]").waitFor();
  expect(await page.content()).not.toContain(caller);
  await close();

  const reader = await openConsole(browser, scene);
  await signIn(reader.page, READ_TOKEN);
  await reader.page.goto(FORM);
  expect(await reader.page.getByRole("button", { name: "Count" }).count()).toBe(0);
  const forged = await reader.page.evaluate(
    ([path, scope]) =>
      fetch(path ?? "", {
        method: "POST",
        body: new URLSearchParams({ scope: scope ?? "", reason: "forged", confirmed: "yes", step: "forget" }),
      }).then(({ status }) => status),
    [FORM, `header:authorization=${caller}`],
  );
  expect(forged).toBe(403);
  await reader.close();
  expect(await isReplayed(caller, key)).toBe(true);
});
