// @module-tag needs/chromium
// Many records are decided about in the console, each as a line of an uploaded or pasted file says: previewed first, in a real browser without
// script, and closed to those who may only read.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../../support/chromium.ts";
import { openConsole, signIn } from "../../../support/e2e/console.ts";
import { faultsOf, LOOKS } from "../../../support/e2e/console-looks.ts";
import { BASE, type OperatorScene, READ_TOKEN, startOperatorScene } from "../../../support/e2e/operator-scene.ts";
import { freshKey, headerValue } from "../../../support/http.ts";

const DECIDE = `${BASE}/console/records/decide`;

let browser: Browser;
let scene: OperatorScene;
beforeAll(async () => {
  [browser, scene] = await Promise.all([
    launchChromium(),
    startOperatorScene({ shards: 4, scope: ["none"] }, [{ path: "/pay", unknown: "hold" }]),
  ]);
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

async function unknownKeys(count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  for (const key of keys) await scene.send({ path: "/pay", key, behave: { drop: "after-effect" } });
  return keys;
}

async function stateOf(key: string | undefined): Promise<string> {
  const { text } = await scene.ask("GET", `/records?key=${key}`);
  return /"state":"([a-z]+)"/.exec(text)?.[1] ?? "none";
}

const paid = (key: string | undefined): object => ({
  key,
  decision: "resolve",
  status: 201,
  body: `paid ${key} für 5 €`,
});
const linesOf = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

it("an administrator uploads a file, sees what would become of each line, and carries it out", async () => {
  const keys = await unknownKeys(13);
  const lines = keys.map((key, at) => (at < 12 ? paid(key) : { key, decision: "release" }));
  const { page, complaints, close } = await openConsole(browser, scene, { javaScriptEnabled: false });
  await signIn(page);
  await page.getByRole("link", { name: "Records" }).click();
  await page.getByRole("link", { name: "Decide about many" }).click();
  const buffer = Buffer.from(linesOf([...lines, { key: "nobody's", decision: "forget" }]));
  await page.getByLabel("File").setInputFiles({ name: "decisions.jsonl", mimeType: "application/jsonl", buffer });
  await page.getByLabel("Reason").fill("reconciled");
  await page.getByRole("button", { name: "Preview" }).click();
  expect(await page.locator("#would-change h2").innerText()).toBe("13 to do");
  expect(await page.locator("#would-change tbody tr").count()).toBe(10);
  expect(await page.locator("#would-change tbody tr").first().innerText()).toMatch(
    new RegExp(`1\\s+resolve\\s+unknown\\s+${keys[0]}\\s+A body without a content-type header`),
  );
  expect(await page.locator("#not-found tbody tr").innerText()).toMatch(/14\s+forget/);
  expect(await stateOf(keys[0])).toBe("unknown");

  // Somebody is faster.
  const until = new Date().toISOString();
  const faster = { decisions: [{ ...paid(keys[12]), reason: "seen" }], confirm: true, until };
  await scene.ask("POST", "/records/decide", { body: faster });
  await page.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Carry them out" }).click();
  expect(await page.locator("#changed h2").innerText()).toBe("12 done");
  expect(await page.locator("#decided-since tbody tr").innerText()).toMatch(/13\s+release\s+completed/);
  expect(await page.locator("#change").count()).toBe(0);
  const retry = await scene.send({ path: "/pay", key: keys[11] ?? "" });
  expect([retry.status, retry.body.toString()]).toEqual([201, `paid ${keys[11]} für 5 €`]);
  expect(headerValue(retry, "idempotent-replayed")).toBe("true");
  // feature: audit begins
  await page.getByRole("link", { name: "Audit" }).click();
  const entry = page.locator("tbody tr", { hasText: keys[3] ?? "" });
  expect(await entry.innerText()).toMatch(/resolve[^]*done\s+reconciled/);
  // feature: audit ends
  expect(complaints).toEqual([]);
  await close();
});

it("what is pasted is checked line by line, and stays in the form", async () => {
  const [key] = await unknownKeys(1);
  const { page, close } = await openConsole(browser, scene, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto(DECIDE);
  await page.getByLabel("Decisions").fill(
    linesOf([
      { key, decision: "release" },
      { key, decision: "retry" },
    ]),
  );
  await page.getByRole("button", { name: "Preview" }).click();
  const alert = await page.getByRole("alert").innerText();
  expect(alert).toContain("Line 1: reason is missing");
  expect(alert).toContain("Line 2: decision must be one of");
  await page.getByLabel("Decisions").fill(linesOf([{ key, decision: "release" }]));
  await page.getByLabel("Reason").fill("not in the ledger");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Carry them out" }).click();
  expect(await page.locator("#changed h2").innerText()).toBe("1 done");
  expect(await stateOf(key)).toBe("failed");
  const bad = Buffer.from(linesOf([paid(key)]), "latin1");
  await page.goto(DECIDE);
  await page.getByLabel("File").setInputFiles({ name: "latin1.jsonl", mimeType: "text/plain", buffer: bad });
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("This form cannot be read.").waitFor();
  await page.goto(DECIDE);
  const large = Buffer.from("\n".repeat((1 << 20) + 1));
  await page.getByLabel("File").setInputFiles({ name: "large.jsonl", mimeType: "text/plain", buffer: large });
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("This form may have at most 1024 KiB.").waitFor();
  await close();
});

it("needs the confirmation, the preview's time, and an administrator's own form", async () => {
  const [key] = await unknownKeys(1);
  const { page, close } = await openConsole(browser, scene);
  await signIn(page);
  await page.goto(DECIDE);
  const token = (await page.locator("main input[name=token]").getAttribute("value")) ?? "";
  const fields = {
    lines: JSON.stringify({ key, decision: "release" }),
    reason: "forged",
    confirmed: "yes",
    step: "decide",
    until: new Date().toISOString(),
  };
  const send = (form: Readonly<Record<string, string>>, pageToken = token): Promise<number> =>
    page.evaluate(
      ([to, own, all]) => {
        const body = new FormData();
        for (const [name, value] of Object.entries(all)) body.set(name, value);
        return fetch(to, { method: "POST", headers: { "Onceway-Page": own }, body }).then(({ status }) => status);
      },
      [DECIDE, pageToken, form] as const,
    );
  expect(await send({ ...fields, token: "0".repeat(64) })).toBe(403);
  const { until: _, ...withoutTime } = fields;
  expect(await send({ ...withoutTime, token })).toBe(400);
  const { confirmed: __, ...unconfirmed } = fields;
  expect(await send({ ...unconfirmed, token })).toBe(400);
  expect(await stateOf(key)).toBe("unknown");
  await close();

  const reader = await openConsole(browser, scene);
  await signIn(reader.page, READ_TOKEN);
  await reader.page.goto(DECIDE);
  await reader.page.getByText("You may read only.").waitFor();
  expect(await reader.page.locator("main form").count()).toBe(0);
  await reader.close();
});

describe.each(Object.entries(LOOKS))("%s", (_name, look) => {
  it("the page is accessible, without browser errors, and fits the screen", async () => {
    const keys = await unknownKeys(2);
    const { page, complaints, close } = await openConsole(browser, scene, look);
    await signIn(page);
    await page.goto(DECIDE);
    expect(await faultsOf(page, look)).toEqual([]);
    await page.getByLabel("Decisions").fill(linesOf([paid(keys[0]), { key: "nobody's", decision: "forget" }]));
    await page.getByLabel("Reason").fill("reconciled");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.locator("#would-change").waitFor();
    expect(await faultsOf(page, look)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
