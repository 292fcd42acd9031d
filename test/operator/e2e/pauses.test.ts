// @module-tag needs/chromium
// Objects leave memory after ten idle seconds, and their counts do not: bursts with pauses of 13 seconds between them, and kills. What the
// API, the console and the metrics say is compared with what the clients have sent and what the origin has written into its journal.

import { setTimeout as pause } from "node:timers/promises";
import type { Browser } from "playwright-core";
import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchChromium } from "../../support/chromium.ts";
import { parseExposition, sumOf } from "../../support/exposition.ts";
import { freshKey } from "../../support/http.ts";
import { openConsole, signIn } from "../../support/e2e/console.ts";
import { askGateway, BASE, type OperatorScene, startOperatorScene } from "../../support/e2e/operator-scene.ts";
import { type Client, clientOf, until } from "../../support/e2e/scene.ts";

const ROUTE = "/pay/*";
const TOKENS = "/tokens";

/** Longer than an idle object stays in memory. */
const PAUSE_MS = 13_000;

/** Longer than anything that is counted stays unwritten: ten seconds in an isolate, and five in an object. */
const WRITTEN_MS = 16_000;

let scene: OperatorScene;
let browser: Browser;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 4, log: "none" }, [
    { path: ROUTE, scope: ["none"] },
    { path: TOKENS, scope: ["header:authorization"] },
  ]);
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

interface Numbers {
  readonly requests: number;
  readonly first: number;
  readonly prevented: number;
}

/** 10 keys, each sent three times and once with another body, and 5 requests without a key. */
const BURST: Numbers = { requests: 45, first: 10, prevented: 20 };

async function burst(client: Client): Promise<void> {
  const keys = Array.from({ length: 10 }, freshKey);
  for (let time = 0; time < 3; time += 1) {
    const answers = await Promise.all(keys.map((key) => client.send({ path: "/pay/1", key })));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
  }
  await Promise.all(keys.map((key) => client.send({ path: "/pay/1", key, body: "another" })));
  await Promise.all(keys.slice(0, 5).map(() => client.send({ path: "/pay/1" })));
}

const hoursOf = v.object({
  hours: v.array(
    v.object({
      routes: v.array(
        v.looseObject({
          route: v.string(),
          requests: v.number(),
          prevented: v.number(),
          outcomes: v.array(v.object({ outcome: v.string(), count: v.number() })),
        }),
      ),
    }),
  ),
});

async function numbersOfApi(url: string): Promise<Numbers> {
  const { json } = await askGateway(`${url}${BASE}/hours`, "GET", {});
  const routes = v.parse(hoursOf, json).hours.flatMap((hour) => hour.routes.filter(({ route }) => route === ROUTE));
  const sum = (of: (route: (typeof routes)[number]) => number): number => routes.reduce((all, one) => all + of(one), 0);
  return {
    requests: sum(({ requests }) => requests),
    first: sum(({ outcomes }) => outcomes.find(({ outcome }) => outcome === "first")?.count ?? 0),
    prevented: sum(({ prevented }) => prevented),
  };
}

async function numbersOfMetrics(url: string): Promise<Omit<Numbers, "prevented">> {
  const { text } = await askGateway(`${url}${BASE}/metrics`, "GET", {});
  const metrics = parseExposition(text);
  return {
    requests: sumOf(metrics, "onceway_requests_total", { route: ROUTE }),
    first: sumOf(metrics, "onceway_requests_total", { route: ROUTE, outcome: "first" }),
  };
}

function times({ requests, first, prevented }: Numbers, bursts: number): Numbers {
  return { requests: bursts * requests, first: bursts * first, prevented: bursts * prevented };
}

async function expectAll(url: string, bursts: number): Promise<void> {
  const { prevented, ...all } = times(BURST, bursts);
  expect(await numbersOfApi(url)).toEqual({ ...all, prevented });
  expect(await numbersOfMetrics(url)).toEqual(all);
  // And the one with a token.
  expect(await scene.origin.effects()).toBe(all.first + 1);
}

it("API, console and metrics are exact whatever the pauses, also after a kill, and never fall", async () => {
  const { gateway } = scene;
  const exp = Math.floor(Date.now() / 1000) + 300;
  const claims = Buffer.from(JSON.stringify({ sub: "alice", exp })).toString("base64url");
  await scene.send({ path: TOKENS, key: freshKey(), headers: [["Authorization", `Bearer e30.${claims}.c2ln`]] });
  for (let bursts = 1; bursts <= 3; bursts += 1) {
    await burst(scene);
    await pause(PAUSE_MS);
  }
  await expectAll(gateway.url, 3);
  await pause(PAUSE_MS);

  const { page, close } = await openConsole(browser, scene);
  await signIn(page);
  expect(await page.locator("#counts").innerText()).toContain("Duplicates prevented\n60\nin 24 hours");
  expect(await page.locator("#rates").innerText()).toMatch(/\/pay\/\*\s+135\s/);
  expect(await page.locator("#warnings").textContent()).toContain(`${TOKENS}: Callers' tokens expire`);
  await close();

  // After a pause a kill takes nothing.
  await burst(scene);
  await pause(WRITTEN_MS);
  await gateway.kill9();
  const again = await gateway.restart();
  try {
    await expectAll(again.url, 4);
    // In a burst it takes what was counted in the last seconds, and nothing that was shown.
    await burst(clientOf(again.url));
    const shown = await numbersOfMetrics(again.url);
    await burst(clientOf(again.url));
    await again.kill9();
    const last = await again.restart();
    try {
      const left = await numbersOfMetrics(last.url);
      expect(shown).toEqual({ requests: 225, first: 50 });
      expect(left.requests).toBeGreaterThanOrEqual(shown.requests);
      expect(left.requests).toBeLessThanOrEqual(270);
      expect(left.first).toBeGreaterThanOrEqual(shown.first);
      await burst(clientOf(last.url));
      await until(async () => {
        const now = await numbersOfMetrics(last.url);
        return now.requests === left.requests + BURST.requests && now.first === left.first + BURST.first ? true : null;
      }, "the next burst is counted on top");
    } finally {
      await last.stop();
    }
  } finally {
    await again.stop();
  }
});
