// @module-tag needs/chromium
// Events and claims in the console, in a real browser in front of a real gateway: what is left is shown, counted, sent again and
// dropped, by administrators alone; every page is accessible.

import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../../support/chromium.ts";
import { freshKey } from "../../../support/http.ts";
import { openConsole, signIn } from "../../../support/e2e/console.ts";
import { faultsOf, LOOKS } from "../../../support/e2e/console-looks.ts";
import {
  ADMIN_TOKEN,
  BASE,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../../support/e2e/operator-scene.ts";

const EVENTS = `${BASE}/console/events`;
const CLAIMS = `${BASE}/console/claims`;
const MAIL_TOKEN = "m".repeat(32);
const EVENTS_LEFT = 3;
/** The longest lock that a group grants if its settings say nothing. */
const MAX_LOCK_MS = 15 * 60_000;

let browser: Browser;
let scene: OperatorScene;
let receiver: Server;
let status = 500;
/** The ids of the events that billing got. */
const received: string[] = [];
beforeAll(async () => {
  receiver = createServer((request, response) => {
    const isBilling = request.url === "/billing";
    if (isBilling) received.push(String(request.headers["webhook-id"]));
    // The others never take anything, however often the gateway tries during the test.
    request.resume().on("end", () => response.writeHead(isBilling ? status : 500).end());
  });
  await new Promise<void>((resolve) => void receiver.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${portOf(receiver)}`;
  [browser, scene] = await Promise.all([
    launchChromium(),
    startOperatorScene(
      { shards: 2, scope: ["none"] },
      [{ path: "/pay", publish: ["billing", "audit"].map((to) => ({ to, type: "paid" })) }],
      { ADMIN_TOKEN, READ_TOKEN },
      {
        DESTINATIONS: ["billing", "audit", "idle"].map((name) => ({ name, url: `${url}/${name}`, secret: "HOOK" })),
        HOOK: `whsec_${"A".repeat(32)}`,
        CONSUMERS: [{ name: "mail", token: "MAIL_TOKEN" }],
        MAIL_TOKEN,
      },
    ),
  ]);
  for (let sent = 0; sent < EVENTS_LEFT; sent += 1) await scene.send({ path: "/pay", key: freshKey() });
  for (const [offset, isCompleted] of [
    [7, true],
    [8, false],
  ] as const) {
    const position = { stream: "letters", partition: 3, offset };
    const owner = { key: freshKey(), attemptId: randomUUID(), position };
    // Longer than all tests of this file take on a loaded machine: the open claim is shown as started.
    await claim("", { ...owner, payloadHash: "h", lockMs: MAX_LOCK_MS });
    if (isCompleted) await claim("/complete", owner);
  }
});
afterAll(async () => {
  await browser.close();
  await scene.close();
  receiver.closeAllConnections();
  receiver.close();
});

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function claim(operation: string, entry: object): Promise<void> {
  const response = await fetch(`${scene.gateway.url}/_claims/mail${operation}`, {
    method: "POST",
    headers: { authorization: `Bearer ${MAIL_TOKEN}` },
    body: JSON.stringify({ claims: [entry] }),
  });
  expect(response.status).toBe(200);
}

function rows(page: Page, table: string): Promise<readonly string[]> {
  return page.locator(`#${table} tbody tr`).allInnerTexts();
}

describe.each(Object.entries(LOOKS))("the pages of events and claims %s", (_name, options) => {
  it("are accessible, fit the screen, and cause no browser errors", async () => {
    const { page, complaints, close } = await openConsole(browser, scene, options);
    await signIn(page);
    const found: unknown[] = [];
    for (const path of [EVENTS, `${EVENTS}?destination=billing`, CLAIMS]) {
      await page.goto(path);
      await page.locator("tbody tr").first().waitFor();
      found.push(...(await faultsOf(page, options)));
    }
    await page.goto(`${EVENTS}?destination=billing`);
    await page.locator("#events tbody a").first().click();
    await page.getByRole("heading", { name: "One event" }).waitFor();
    found.push(...(await faultsOf(page, options)));
    expect(found).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});

it("shows positions, and leads from a group to its open claims", async () => {
  const { page, close } = await openConsole(browser, scene);
  await signIn(page);
  await page.getByRole("link", { name: "Claims" }).click();
  expect(await rows(page, "positions")).toEqual([expect.stringMatching(/^letters\s+mail\s+3\s+8\s+1\s/)]);
  expect(await rows(page, "groups")).toEqual([expect.stringMatching(/^mail\s+1\s+0\s+0\s+1\s/)]);
  await page.locator("#groups tbody a").first().click();
  await page.getByRole("heading", { name: "Records" }).waitFor();
  expect(await rows(page, "records")).toEqual([expect.stringContaining("claims:mail")]);
  await close();
});

it("an administrator counts a destination's events, sends them again, and drops them, each with a confirmation", async () => {
  const { page, complaints, close } = await openConsole(browser, scene);
  await signIn(page);
  await page.getByRole("link", { name: "Events" }).click();
  expect(await rows(page, "destinations")).toEqual([
    expect.stringMatching(/^billing .*\s3\s+0\s[^]*status 500/),
    expect.stringMatching(/^audit .*\s3\s+0\s[^]*status 500/),
    expect.stringMatching(/^idle .*\s0\s+0\s/),
  ]);
  expect(await page.getByRole("button", { name: "Drop" }).count()).toBe(0);
  await page.getByRole("link", { name: /^billing/ }).click();
  expect(await rows(page, "events")).toHaveLength(EVENTS_LEFT);
  const fill = (reason: string): Promise<void> => page.getByLabel("Reason").fill(reason);
  await fill("looking");
  await page.getByRole("button", { name: "Count" }).click();
  await page.getByText("To change: 3.").waitFor();
  expect(await rows(page, "events")).toHaveLength(EVENTS_LEFT);
  await page.getByRole("button", { name: "Drop" }).click();
  await page.getByRole("alert").getByText("Confirm it").waitFor();
  expect(await rows(page, "events")).toHaveLength(EVENTS_LEFT);

  await page.locator("#events tbody a").first().click();
  const id = (await page.locator("#change p .mono").textContent())?.trim() ?? "";
  await fill("not wanted");
  await page.getByLabel("Sent again, they arrive").check();
  await page.getByRole("button", { name: "Drop" }).click();
  await page.getByText("Dropped: 1.").waitFor();
  expect((await rows(page, "events")).join()).not.toContain(id);

  // It is not there any more.
  await page.goBack();
  await page.reload();
  expect(page.url()).toContain(encodeURIComponent(id));
  await fill("again");
  await page.getByLabel("Sent again, they arrive").check();
  await page.getByRole("button", { name: "Drop" }).click();
  await page.getByText("Dropped: 0. A try moves an event").waitFor();

  status = 204;
  const before = received.length;
  await page.goto(`${EVENTS}?destination=billing`);
  await fill("it works again");
  await page.getByLabel("Sent again, they arrive").check();
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText(/^Sent again/).waitFor();
  // The page refreshes by itself.
  await page.getByText("Nothing is left").waitFor();
  const later = received.slice(before);
  expect(new Set(later).size).toBe(EVENTS_LEFT - 1);
  expect(later).not.toContain(id);
  // Of the form that was not confirmed.
  expect(complaints).toEqual([expect.stringContaining("400")]);
  await close();
});

it("a reader sees what is left, and changes nothing", async () => {
  const { page, close } = await openConsole(browser, scene);
  await signIn(page, READ_TOKEN);
  await page.goto(`${EVENTS}?destination=audit`);
  expect((await rows(page, "events")).length).toBeGreaterThan(0);
  expect(await page.getByRole("button", { name: "Drop" }).count()).toBe(0);
  const forged = await page.evaluate(
    (path) =>
      fetch(path, {
        method: "POST",
        body: new URLSearchParams({ destination: "audit", reason: "forged", confirmed: "yes", step: "drop" }),
      }).then((response) => response.status),
    EVENTS,
  );
  expect(forged).toBe(403);
  await page.reload();
  expect((await rows(page, "events")).length).toBeGreaterThan(0);
  await close();
});

it.each(["?state=lost", "?cursor=x", "?limit=0", "?destination=%2F"])("takes no nonsense: %s", async (query) => {
  const { page, close } = await openConsole(browser, scene);
  await signIn(page);
  const answer = await page.goto(EVENTS + query);
  // A cursor of a list that is gone leads to its beginning.
  expect(answer?.status()).toBe(query === "?cursor=x" ? 200 : 404);
  await close();
});
