// @module-tag needs/chromium
// The demo's page in a real browser: each button sends real requests through a real gateway, and the API that two of them kill is a
// real process. What the page says is compared with what the API has counted.

import { request } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../support/chromium.ts";
import { faultsOf } from "../../support/e2e/console-looks.ts";
import { type DemoScene, startDemoScene } from "../../support/e2e/demo.ts";

const PHONE = { width: 360, height: 740 };

let browser: Browser;
let scene: DemoScene;
beforeAll(async () => {
  browser = await launchChromium();
  scene = await startDemoScene("curl -i <gateway>");
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

interface Opened {
  readonly page: Page;
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
}

async function openPage(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Opened> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("request", (one) => {
    if (!one.url().startsWith(`${scene.url}/`) && !one.url().startsWith("data:"))
      complaints.push(`asked for ${one.url()}`);
  });
  await page.goto(scene.url);
  await page.getByText("runs as process").waitFor();
  return { page, complaints, close: () => context.close() };
}

async function numbers(page: Page): Promise<readonly number[]> {
  return (await page.locator(".numbers dd").allTextContents()).map(Number);
}

/** Presses a button, waits until all is over, and returns how the numbers have grown, and the newest lines. */
async function press(page: Page, name: string | RegExp, lines: number): Promise<{ grown: number[]; rows: string[][] }> {
  const before = await numbers(page);
  const count = await page.locator("#steps tr:has(code)").count();
  await page.getByRole("button", { name }).click();
  await page
    .locator("#steps tr:has(code)")
    .nth(count + lines - 1)
    .waitFor();
  await page.getByRole("button", { name: "Send a payment", disabled: false }).waitFor();
  const rows = await page
    .locator("#steps tr")
    .evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.innerText.trim().replaceAll(/\s+/g, " "))),
    );
  const after = await numbers(page);
  return { grown: after.map((number, at) => number - (before[at] ?? 0)), rows: rows.slice(0, lines).toReversed() };
}

describe("the demo's page", () => {
  it("sends a payment, and its retry gets the same answer without a call", async () => {
    const { page, complaints, close } = await openPage();
    const first = await press(page, "Send a payment", 1);
    expect(first).toEqual({
      grown: [1, 1, 1],
      rows: [[expect.stringContaining("A payment"), "201, from the API", "The payment was made."]],
    });
    const again = await press(page, "Send the last one again", 1);
    expect(again.grown).toEqual([1, 0, 0]);
    expect(again.rows[0]?.[1]).toBe("201, replayed");
    const other = await press(page, "Send its key with another amount", 1);
    expect(other.grown).toEqual([1, 0, 0]);
    expect(other.rows[0]?.[1]).toBe("422 key-reused");
    expect(complaints).toEqual([]);
    await close();
  });

  it("sends 50 duplicates, and one of them reaches the API", async () => {
    const { page, close } = await openPage();
    const { grown, rows } = await press(page, "Send 50 duplicates at once", 1);
    expect(grown).toEqual([50, 1, 1]);
    expect(rows[0]?.[1]).toBe("1 × 201, from the API 49 × 201, replayed");
    await close();
  });

  it.each([
    ["a person decides", "409 outcome-unknown", "It may have taken effect, so the gateway does not try again"],
    ["the gateway asks", "200, replayed", "The gateway asked the API what became of it"],
  ])("kills the API in the middle of a call, and nothing takes effect twice: %s", async (rule, answer, meaning) => {
    const { page, close } = await openPage();
    const pid = await page.locator("#origin").textContent();
    const { grown, rows } = await press(page, new RegExp(rule), 2);
    expect(grown.slice(1)).toEqual([1, 1]);
    expect(rows[0]?.slice(1)).toEqual(["502 origin-dropped", expect.stringContaining("nobody knows yet")]);
    expect(rows[1]?.[1]).toContain(answer);
    expect(rows[1]?.[2]).toContain(meaning);
    // It is another process now.
    const next = await page.locator("#origin").textContent();
    expect(next).toMatch(/^runs as process \d+, killed /);
    expect(next?.split(",")[0]).not.toBe(pid?.split(",")[0]);
    await close();
  });

  it("opens the console at the record of a request, signed in", async () => {
    const { page, close } = await openPage();
    await press(page, "Send a payment", 1);
    const key = (await page.locator("#steps code").first().textContent())?.split(" ")[1] ?? "";
    const opened = page.waitForEvent("popup");
    await page.getByRole("link", { name: "its record" }).first().click();
    const record = await opened;
    await record.getByText("The origin answered 201: the operation took effect.").waitFor();
    expect(await record.locator("main").textContent()).toContain(key);
    expect(new URL(record.url()).origin).toBe(scene.gatewayUrl);
    await close();
  });

  it("shows the printed commands, and the calls that they make", async () => {
    const { page, close } = await openPage();
    await page.getByText("Commands to paste").click();
    expect(await page.locator("#commands").textContent()).toBe("curl -i <gateway>");
    const body = { method: "POST", headers: { "Idempotency-Key": "from-a-shell" }, body: "{}" };
    expect((await fetch(`${scene.gatewayUrl}/v1/orders`, body)).status).toBe(201);
    await page.getByText("All calls of the API").click();
    await page.getByRole("cell", { name: "from-a-shell" }).waitFor();
    await close();
  });

  it.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["on a phone", { viewport: PHONE }],
  ] as const)("has no flaw that axe finds, and needs no scrolling sideways: %s", async (_name, options) => {
    const { page, close } = await openPage({ ...options, bypassCSP: true });
    await press(page, "Send a payment", 1);
    for (const summary of await page.locator("summary").all()) await summary.click();
    expect(await faultsOf(page, options)).toEqual([]);
    await close();
  });
});

describe("other sites", () => {
  function ask(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const call = request(scene.url + path, { method, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      call.on("error", reject);
      call.end();
    });
  }

  it("cannot press its buttons, and cannot read it under a name of their own", async () => {
    const { host } = new URL(scene.url);
    expect(await ask("POST", "/runs/pay", { Origin: "https://evil.example" })).toBe(403);
    expect(await ask("POST", "/runs/pay", { Origin: "null" })).toBe(403);
    expect(await ask("GET", "/events", { Host: `evil.example:${new URL(scene.url).port}` })).toBe(403);
    expect(await ask("GET", "/", { Host: host })).toBe(200);
    expect(await ask("POST", "/runs/nonsense", { Origin: scene.url })).toBe(409);
    expect(await ask("GET", "/../origin.ts", {})).toBe(404);
    // What is no path, from anybody.
    expect(await ask("GET", "//", { Host: "evil.example" })).toBe(403);
    expect(await ask("GET", "//", {})).toBe(400);
    // A link of another site, or a window that it opens, begins no session.
    const link = await consoleLink();
    for (const site of ["cross-site", "same-site", "none"]) {
      expect(await ask("GET", link, { "Sec-Fetch-Site": site })).toBe(403);
    }
    expect(await ask("GET", link, { "Sec-Fetch-Site": "same-origin" })).toBe(303);
  });

  it("gets a link to the console that works once, and only from the page", async () => {
    const own = { "Sec-Fetch-Site": "same-origin" };
    const link = await consoleLink();
    expect(await ask("GET", "/console", own)).toBe(403);
    expect(await ask("GET", link, own)).toBe(303);
    expect(await ask("GET", link, own)).toBe(403);
    expect(await ask("GET", await consoleLink(), own)).toBe(303);
  });

  /** The link as the page has it. */
  async function consoleLink(): Promise<string> {
    const { page, close } = await openPage();
    const link = await page.locator("#console[href]").getAttribute("href");
    await close();
    return link ?? "";
  }
});
