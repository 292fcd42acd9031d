// @module-tag needs/chromium
// Accepted requests that wait for their next attempt, as operators see and handle them: in the API, in the console, on the command
// line. What was stored to be sent is shown nowhere, because it carries the caller's credential.

import type { Browser } from "playwright-core";
import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { recordPageSchema } from "../../../../src/operator/record-schema.ts";
import { launchChromium } from "../../../support/chromium.ts";
import { type CommandOutcome } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import type { Script } from "../../../support/origin.ts";
import { LATE, LATER, openConsole, signIn, startConsoleScene } from "../../../support/e2e/console.ts";
import { ADMIN_TOKEN, type OperatorScene } from "../../../support/e2e/operator-scene.ts";
import { until } from "../../../support/e2e/scene.ts";

const SECRET = "Bearer of-the-caller-alone";
const CREDENTIAL = [["Authorization", SECRET]] as const;

let browser: Browser;
let scene: OperatorScene;
beforeAll(async () => {
  [browser, scene] = await Promise.all([launchChromium(), startConsoleScene()]);
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(args, { ONCEWAY_URL: scene.gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN, NO_COLOR: "1" });
}

/** A request that has been accepted and refused by the origin, and waits. The origin takes its next attempt. */
async function makeWaiting(): Promise<{ readonly key: string; readonly id: string; readonly monitor: string }> {
  const key = freshKey();
  const behave: Script = { sequence: [LATE, { status: 201, body: "made" }] };
  const answer = await scene.send({ path: LATER, key, headers: CREDENTIAL, behave });
  expect(answer.status).toBe(202);
  const id = await until(async () => {
    const [record] = await listed(`key=${key}&state=waiting`);
    return record?.id ?? null;
  }, "a waiting record");
  return { key, id, monitor: headerValue(answer, "location") ?? "" };
}

async function listed(query: string): Promise<v.InferOutput<typeof recordPageSchema>["records"]> {
  const { json } = await scene.ask("GET", `/records?${query}`);
  return v.parse(recordPageSchema, json).records;
}

async function untilMade(key: string): Promise<void> {
  await until(async () => ((await listed(`key=${key}&state=completed`)).length === 1 ? true : null), "a result");
}

it("the API lists and counts it, says when it is tried next, and shows nothing that was stored to be sent", async () => {
  const { key, id, monitor } = await makeWaiting();
  const [record] = await listed("state=waiting");
  expect(record).toMatchObject({ id, key, attempt: 1, accepted: true, expiresAt: null });
  const pauseMs = Date.parse(record?.nextAttemptAt ?? "") - Date.now();
  expect(pauseMs).toBeGreaterThan(500_000);
  expect(pauseMs).toBeLessThanOrEqual(600_000);
  expect(await listed("state=started,failed,unknown")).toEqual([]);
  expect((await scene.ask("GET", "/drain")).json).toMatchObject({ waiting: 1, inFlight: 0, failed: 0, unknown: 0 });
  const shown = await scene.ask("GET", `/records/${id}`);
  expect(shown.json).toMatchObject({
    description: { changes: ["release", "resolve", "forget"] },
    policy: { schedule: { attempts: 20, firstPauseMs: 1000 } },
    lastAttempt: 20,
  });
  const { giveUpAt } = v.parse(v.object({ giveUpAt: v.string() }), shown.json);
  expect(Date.parse(giveUpAt) - Date.now()).toBeGreaterThan(23 * 3_600_000);
  for (const path of [`/records/${id}`, "/records", "/drain", "/layouts", "/metrics", "/recent"]) {
    expect((await scene.ask("GET", path)).text).not.toContain(SECRET);
  }
  expect((await scene.ask("GET", `/records/${id}/body`)).status).toBe(404);
  const forgotten = await scene.ask("POST", `/records/${id}/forget`, { body: { reason: "not wanted" } });
  expect(forgotten.json).toEqual({ forgotten: true });
  expect((await scene.send({ method: "GET", path: monitor, body: null, headers: CREDENTIAL })).status).toBe(404);
  expect(await scene.origin.effects(key)).toBe(0);
});

it("the console counts it, shows when it is tried next, and has it tried at once", async () => {
  const { key } = await makeWaiting();
  const { page, complaints, close } = await openConsole(browser, scene);
  await signIn(page);
  expect(await page.locator("#counts").textContent()).toContain("Waiting1for an attempt");
  await page.locator("#counts").getByRole("link", { name: "Waiting" }).click();
  const row = page.locator("#records tbody tr").filter({ hasText: key });
  expect(await row.locator("td[data-label='Next attempt']").textContent()).toMatch(/^in 9 min \d+ s /);
  await row.getByRole("link", { name: key }).click();
  await page.getByRole("heading", { name: key }).waitFor();
  expect(await page.locator("#meaning").textContent()).toBe(
    "Attempt 1 did not take effect: the origin answered 503. The gateway makes attempt 2 by itself. A retry gets 202 again, and the result once it is there.",
  );
  const facts = page.locator("#facts");
  expect(await facts.textContent()).toMatch(/Next attempt2, in 9 min \d+ s /);
  expect(await facts.textContent()).toContain("at most 20 attempts in 24 h, 1 s to 15 min between them");
  expect(await facts.textContent()).toMatch(/Given upafter attempt 20, or in (1 d|23 h \d+ min) /);
  // It counts down without a reload.
  const next = facts.locator("[data-rel=due]").first();
  const before = await next.textContent();
  await expect.poll(() => next.textContent()).not.toBe(before);
  expect(await page.content()).not.toContain(SECRET);
  expect(await page.locator("#forget-form").textContent()).toContain("Cancel the request.");
  const form = page.locator("#release-form");
  await form.locator("summary").click();
  await form.getByLabel("Reason").fill("the origin is back");
  await form.getByRole("checkbox").check();
  await form.getByRole("button", { name: "Release the request" }).click();
  await page.locator("#record-head .completed").waitFor();
  expect(await page.locator("#timeline").textContent()).toContain("Released by admin");
  expect(await scene.origin.effects(key)).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

it("the console says that one with an unknown outcome will be tried by the gateway", async () => {
  const key = freshKey();
  await scene.send({ path: "/held", key, behave: { drop: "after-read", effect: false } });
  const { page, close } = await openConsole(browser, scene);
  await signIn(page);
  await page.locator("#undecided").getByRole("link", { name: key }).click();
  await page.getByRole("heading", { name: key }).waitFor();
  expect(await page.locator("#decide").textContent()).toContain(
    "release it if it did not: the request will be tried by the gateway.",
  );
  expect(await page.locator("#release-form").textContent()).toContain("The gateway sends the stored request again");
  await close();
});

it("the command line lists and shows it, has it tried at once, and cancels it", async () => {
  const [tried, cancelled] = [await makeWaiting(), await makeWaiting()];
  const list = await onceway("records", "list", "--state", "waiting");
  expect(list.stdout.split("\n")[0]).toMatch(/KEY +NEXT/);
  expect(list.stdout).toMatch(new RegExp(`waiting +1 .*${tried.key} +in 9m`));
  const shown = await onceway("records", "show", tried.id);
  expect(shown.stdout).toMatch(/next attempt +\S+ \S+Z \(in 9m\)/);
  expect(shown.stdout).toMatch(/given up +after attempt 20, or \S+ \S+Z \(in (1d|24h|23h)\)/);
  expect(shown.stdout).toContain("at most 20 attempts in 24h, 1s to 15m between them");
  expect(shown.stdout).toContain(`to cancel it:                   npx onceway records forget ${tried.id}`);
  expect(shown.stdout).not.toContain(SECRET);
  const released = await onceway("records", "release", tried.id, "--reason", "the origin is back");
  expect(released.stdout).toContain(`released: ${tried.id}`);
  expect(released.stdout).toContain("The gateway makes attempt 2 by itself.");
  await untilMade(tried.key);
  expect(await scene.origin.effects(tried.key)).toBe(1);
  expect(await onceway("records", "forget", cancelled.id, "--reason", "not wanted")).toMatchObject({ code: 0 });
  expect(await listed(`key=${cancelled.key}`)).toEqual([]);
  expect(await scene.origin.effects(cancelled.key)).toBe(0);
});
