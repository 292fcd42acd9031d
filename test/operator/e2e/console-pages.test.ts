// @module-tag needs/chromium
// Every page of the console in a browser: accessible in light, in dark and on a phone, without browser errors, without requests
// to other hosts, up to date without a reload, and safe whatever keys and responses contain.

import type { Browser, Page } from "playwright-core";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../support/chromium.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { freshKey } from "../../support/http.ts";
import {
  HOLD,
  LATE,
  LATER,
  makeOpenRecords,
  makeUnknown,
  openConsole,
  signIn,
  startConsoleScene,
} from "../../support/e2e/console.ts";
import { faultsOf, LOOKS } from "../../support/e2e/console-looks.ts";
import { ADMIN_TOKEN, BASE, type OperatorScene, startOperatorScene } from "../../support/e2e/operator-scene.ts";
import { until } from "../../support/e2e/scene.ts";

const CONSOLE = `${BASE}/console`;

let browser: Browser;
let scene: OperatorScene;
const keys = {
  unknown: freshKey(),
  failed: freshKey(),
  completed: freshKey(),
  started: freshKey(),
  waiting: freshKey(),
};
beforeAll(async () => {
  [browser, scene] = await Promise.all([
    launchChromium(),
    startConsoleScene("10m", { previous_shards: ["2a"] }, { environment: "staging" }),
  ]);
  await makeOpenRecords(scene, keys);
  await scene.send({ path: HOLD, key: keys.completed });
  await scene.send({ path: HOLD, key: keys.completed });
  await scene.ask("POST", `/records/${await idOf(keys.unknown)}/note`, {
    body: { text: "Asked the bank, ticket 4711." },
  });
});
afterAll(async () => {
  await scene.origin.release();
  await browser.close();
  await scene.close();
});

async function idOf(key: string): Promise<string> {
  const { json } = await scene.ask("GET", `/records?key=${key}`);
  return v.parse(v.object({ records: v.tuple([v.object({ id: v.string() })]) }), json).records[0].id;
}

/** Signed in: every page, each in a state that shows all of its parts. */
async function forEachPage(page: Page, use: (name: string) => Promise<void>): Promise<void> {
  await page.goto(BASE);
  await use("sign in");
  await signIn(page);
  await use("overview");
  await page.goto(`${CONSOLE}/shards`);
  await use("shards");
  await page.goto(`${CONSOLE}/day`);
  await use("the last day");
  await page.goto(`${CONSOLE}/sessions`);
  await use("sessions");
  await page.goto(`${CONSOLE}/audit`);
  await use("audit");
  await page.goto(`${CONSOLE}/records?until=1ms`);
  await use("records");
  await page.goto(`${CONSOLE}/records?key=nobody-has-this-key`);
  await use("no record");
  for (const [state, key] of Object.entries(keys)) {
    await page.goto(`${CONSOLE}/records?key=${key}`);
    await page.getByRole("link", { name: key }).click();
    await page.getByRole("heading", { name: key }).waitFor();
    await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })");
    await use(`record, ${state}`);
  }
}

describe("what an operator sees of a record's duplicates", () => {
  it("is how often it was replayed", async () => {
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    await page.goto(`${CONSOLE}/records?key=${keys.completed}`);
    await page.getByRole("link", { name: keys.completed }).click();
    const facts = await page.locator("#facts").innerText();
    expect(facts).toContain("1 time in 24 hours");
    expect(facts).toContain(`POST ${HOLD}`);
    await close();
  });
});

describe.each(Object.entries(LOOKS))("every page %s", (_name, options) => {
  it("is accessible, fits the screen, and causes no browser errors", async () => {
    const { page, complaints, close } = await openConsole(browser, scene, options);
    const found: unknown[] = [];
    await forEachPage(page, async (name) => {
      const faults = await faultsOf(page, options);
      if (faults.length > 0) found.push({ name, faults });
    });
    expect(found).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});

it("shows the layout of each record, and how far the change is, while a previous layout is listed", async () => {
  const { page, close } = await openConsole(browser, scene);
  await signIn(page);
  await page.goto(`${CONSOLE}/shards`);
  expect(await page.locator("#layouts").textContent()).toMatch(
    /^Layout 2a, followed by 4: closed 0 of 2, empty 0 of 2, last record expires .+\. Still needed\. /,
  );
  await page.goto(`${CONSOLE}/records?key=${keys.completed}`);
  expect(await page.locator("#records td[data-label=Layout]").textContent()).toBe("2a");
  await page.getByRole("link", { name: keys.completed }).click();
  expect(await page.locator("#facts").textContent()).toContain("Layout2a");
  await close();
});

describe("a page that is open", () => {
  it("shows and announces a new unknown record without a reload, and keeps the focus", async () => {
    const own = await startConsoleScene();
    const { page, complaints, close } = await openConsole(browser, own);
    await signIn(page);
    await page.evaluate("globalThis.isTheSame = true");
    const first = freshKey();
    await own.send({ path: HOLD, key: first, behave: { drop: "after-effect" } });
    const link = page.locator("#undecided").getByRole("link", { name: first });
    await link.focus();
    const key = await makeUnknown(own);
    await page.locator("#undecided").getByRole("link", { name: key }).waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toBe(first);
    expect(await page.locator("#counts .alert .n").textContent()).toBe("2");
    expect(await page.locator("#news").textContent()).toBe("2 records need a decision");
    expect(await page.title()).toBe(`(2) Overview · ${new URL(own.gateway.url).host} · Onceway`);
    expect(await page.evaluate("globalThis.isTheSame")).toBe(true);
    expect(complaints).toEqual([]);
    await close();
    await own.close();
  });

  it("keeps counting while a call is in flight, also without a connection", async () => {
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    await page.context().setOffline(true);
    const running = page.locator("#in-flight time span").first();
    const before = await running.textContent();
    await expect.poll(() => running.textContent()).not.toBe(before);
    await close();
  });

  it("sends no requests while it is paused, and shows when the connection is lost and restored", async () => {
    const own = await startConsoleScene();
    const { page, close } = await openConsole(browser, own);
    await signIn(page);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused").waitFor();
    await own.gateway.stop();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText(/^Connection lost at .* UTC\. Retrying …$/).waitFor();
    const again = await own.gateway.restart();
    await page.locator("#live-state[data-kind=live]").waitFor();
    expect(await page.getByRole("status").first().textContent()).toBe("Live");
    await close();
    await again.stop();
    await own.close();
  });

  /** The page of a record whose outcome is unknown. */
  async function openUnknownRecord() {
    const opened = await openConsole(browser, scene);
    const { page } = opened;
    await signIn(page);
    const key = freshKey();
    await scene.send({ path: HOLD, key, behave: { drop: "after-effect" } });
    await page.goto(`${CONSOLE}/records?key=${key}`);
    await page.getByRole("link", { name: key }).click();
    return opened;
  }

  it("says that another operator was quicker, although the form is gone", async () => {
    const { page, close } = await openUnknownRecord();
    const form = page.locator("#resolve-form");
    await form.getByLabel("Body").fill("{}");
    await form.getByLabel("Reason").fill("Too late");
    const id = page.url().split("/").at(-1) ?? "";
    await form.getByRole("button", { name: "Preview" }).click();
    await page.locator("#preview").getByRole("checkbox").check();
    const body = { reason: "Meanwhile, by the API", response: { status: 201 }, confirm: true };
    expect((await scene.ask("POST", `/records/${id}/resolve`, { body })).status).toBe(200);
    await page.getByRole("button", { name: "Resolve with this response" }).click();
    await page.getByRole("alert").getByText("The record was completed meanwhile, and its response is final.").waitFor();
    expect(await page.locator("#resolve-form").count()).toBe(0);
    await close();
  });

  it("does not overwrite what the operator is typing", async () => {
    const { page, close } = await openUnknownRecord();
    const reason = page.locator("#resolve-form").getByLabel("Reason");
    await reason.fill("Half a sen");
    const id = page.url().split("/").at(-1) ?? "";
    // It would take the form away.
    const body = { confirm: true, reason: "Meanwhile, by the API", response: { status: 201 } };
    expect((await scene.ask("POST", `/records/${id}/resolve`, { body })).status).toBe(200);
    await page.getByText("Meanwhile, by the API").waitFor();
    expect(await reason.inputValue()).toBe("Half a sen");
    await reason.fill("");
    await page.locator("h1").click();
    await page.locator("#resolve-form").waitFor({ state: "detached" });
    await close();
  });
});

describe("what a page says of a record", () => {
  async function said(page: Page, key: string): Promise<string | null> {
    await page.goto(`${CONSOLE}/records?key=${key}`);
    await page.getByRole("link", { name: key }).click();
    await page.getByRole("heading", { name: key }).waitFor();
    return page.locator("#meaning").textContent();
  }

  it("follows from its answer, and is the same in the API and the command line", async () => {
    const key = freshKey();
    await scene.send({ path: HOLD, key, behave: { status: 402 } });
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    const shown = await said(page, key);
    const headline = "The origin answered 402: it rejected the request.";
    const retry = "Every retry gets this response from now on.";
    expect(shown).toBe(`${headline} ${retry}`);
    expect(await page.locator("#meaning").getAttribute("class")).toBe("note");
    expect(await page.locator("#decide").textContent()).not.toContain("first answer");
    const id = page.url().split("/").at(-1) ?? "";
    const { json } = await scene.ask("GET", `/records/${id}`);
    expect(json).toMatchObject({ description: { headline, retry, changes: ["forget"] } });
    const args = ["records", "show", id, "--url", scene.gateway.url];
    const { stdout } = await callOnceway(args, { ONCEWAY_TOKEN: ADMIN_TOKEN });
    expect(stdout).toContain(`\n${shown}\n`);
    expect(await said(page, keys.completed)).toContain("The origin answered 201: the operation took effect.");
    expect(await page.locator("#meaning").getAttribute("class")).toBe("note completed");
    await close();
  });

  it("has the request of a record with an unknown outcome, although the gateway was killed as soon as it had answered", async () => {
    const own = await startConsoleScene();
    await own.send({ path: HOLD, key: freshKey(), behave: { drop: "after-effect" } });
    await own.gateway.kill9();
    const again = await own.gateway.restart();
    const { page, close } = await openConsole(browser, own);
    await signIn(page);
    expect(await page.locator("#counts .alert .n").textContent()).toBe("1");
    expect(await page.locator("#rates tbody th").allTextContents()).toEqual([HOLD]);
    expect(await page.locator("#rates tbody .num").textContent()).toBe("1");
    await close();
    await again.stop();
    await own.close();
  });

  it("does not report zero requests beside the record of one that was never answered", async () => {
    const own = await startConsoleScene();
    const key = freshKey();
    const lost = own.send({ path: HOLD, key, behave: { hold: true } }).catch(() => null);
    await until(async () => ((await own.origin.effects()) === 1 ? true : null), "the origin has the request");
    await own.gateway.kill9();
    await lost;
    const again = await own.gateway.restart();
    const { page, close } = await openConsole(browser, own);
    await signIn(page);
    expect(await page.locator("#rates .empty").textContent()).toMatch(
      /^No protected requests were counted in the last 24 hours\. A request is counted when it is answered: one that was not/,
    );
    await close();
    await own.origin.release();
    await again.stop();
    await own.close();
  });
});

describe("a record that has been erased", () => {
  it("is reported as erased on its open page and at its address", async () => {
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    const key = freshKey();
    await scene.send({ path: HOLD, key });
    await page.goto(`${CONSOLE}/records?key=${key}`);
    await page.getByRole("link", { name: key }).click();
    await page.getByRole("heading", { name: key }).waitFor();
    const id = page.url().split("/").at(-1) ?? "";
    expect((await scene.ask("POST", `/records/${id}/forget`, { body: { reason: "A test" } })).status).toBe(200);
    await page.getByText("This record no longer exists: it expired or was forgotten.").waitFor();
    expect((await page.reload())?.status()).toBe(404);
    await page.getByRole("heading", { name: "Not found" }).waitFor();
    await close();
  });
});

describe("with an object for each key", () => {
  it("the overview says that nothing can be listed, and a key is still found", async () => {
    const own = await startOperatorScene({ shards: "per-key", scope: ["none"] }, [{ path: HOLD, unknown: "hold" }]);
    const key = freshKey();
    await own.send({ path: HOLD, key, behave: { drop: "after-effect" } });
    const { page, complaints, close } = await openConsole(browser, own);
    await signIn(page);
    await page.getByText("those cannot be listed. Search for a record by its key.").waitFor();
    expect(await page.locator("#counts").count()).toBe(0);
    await page.getByRole("searchbox").fill(key);
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator("#records").getByRole("link", { name: key }).click();
    await page.getByRole("heading", { name: key }).waitFor();
    expect(complaints).toEqual([]);
    await close();
    await own.close();
  });
});

describe("text from clients and origins", () => {
  it("is escaped: keys, headers, reasons", async () => {
    const evil = `<script>document.title='owned'</script><img/src=x>'"&amp;`;
    const { page, complaints, close } = await openConsole(browser, scene);
    await signIn(page);
    await scene.send({ path: HOLD, key: evil, behave: { drop: "after-effect" } });
    await page.locator("#undecided").getByRole("link", { name: evil }).click();
    await page.getByRole("heading", { name: evil }).waitFor();
    const form = page.locator("#resolve-form");
    await form.getByLabel("Headers").fill(`x-evil: ${evil}`);
    await form.getByLabel("Reason").fill(evil);
    await form.getByRole("button", { name: "Preview" }).click();
    expect(await page.locator("#preview dl").textContent()).toContain(evil);
    await form.getByRole("checkbox").check();
    await form.getByRole("button", { name: "Resolve with this response" }).click();
    await page.locator("#record-head .completed").waitFor();
    expect(await page.locator("#timeline .said").textContent()).toBe(evil);
    expect(await page.locator("#response").textContent()).toContain(evil);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.title()).toBe(`${evil}: completed · staging, ${new URL(scene.gateway.url).host} · Onceway`);
    expect(complaints).toEqual([]);
    await close();
  });
});

describe("the overview", () => {
  it("takes less than 40 kB with its style sheet and script, whatever it shows", async () => {
    const own = await startConsoleScene();
    const many = Array.from({ length: 12 }, freshKey);
    await Promise.all(many.map((key) => own.send({ path: HOLD, key, behave: { drop: "after-effect" } })));
    await Promise.all(many.map((key) => own.send({ path: LATER, key: `3-${key}`, behave: LATE })));
    await Promise.all(
      many.map(async (key) => {
        own.open({ path: "/retry", key: `2-${key}`, behave: { hold: true } });
        await own.origin.arrived(`2-${key}`);
      }),
    );
    const { page, close } = await openConsole(browser, own);
    await signIn(page);
    expect(await page.locator("#undecided tbody tr").count()).toBe(5);
    expect(await page.locator("#in-flight tbody tr").count()).toBe(5);
    expect(await page.locator("#counts").textContent()).toContain("Waiting12for an attempt");
    const addresses = await page.evaluate<string[]>(
      "[location.href, ...[...document.querySelectorAll('link[rel=stylesheet], script')].map((one) => one.href ?? one.src)]",
    );
    expect(addresses).toHaveLength(3);
    const responses = await Promise.all(addresses.map((address) => page.context().request.get(address)));
    const bodies = await Promise.all(responses.map((response) => response.body()));
    expect(bodies.reduce((sum, body) => sum + body.byteLength, 0)).toBeLessThan(40_000);
    await close();
    await own.close();
  });

  it("allows nothing but its own style sheet, script and forms", async () => {
    const { page, close } = await openConsole(browser, scene);
    const response = await page.goto(BASE);
    const headers = response?.headers() ?? {};
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; base-uri 'none'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; img-src data:; script-src 'self'; style-src 'self'",
    );
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cross-origin-opener-policy": "same-origin",
    });
    expect(headers).not.toHaveProperty("strict-transport-security");
    await close();
  });
});
