// Makes the pictures of the console that the docs show: the gateway in front of the demo's API, some traffic of each kind, and
// overview and last day in Chromium. `npx node test/support/console-picture.ts` writes src/operator/console/overview.png and src/features/hours/day.png again.

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import * as v from "valibot";
import { demoConfiguration } from "../../src/demo/configuration.ts";
import { type DemoOrigin, startDemoOrigin } from "../../src/demo/origin.ts";
import { launchChromium } from "./chromium.ts";
import { countedFile, plantDay } from "./console-day.ts";
import { type Gateway, makeStateDir, type GatewayVars, startWorkerd } from "./gateway.ts";
import { freePort } from "./ports.ts";
import { projectDir } from "./wrangler.ts";

const OVERVIEW = join(projectDir, "src/operator/console/overview.png");
const DAY = join(projectDir, "src/features/hours/day.png");
const DAY_OF_ROUTES = [
  { route: "/v1/payments/*", busiest: 240, originMs: 90 },
  { route: "/v1/orders", busiest: 130, originMs: 40 },
];
const VIEWPORT = { width: 1120, height: 700 };
const MARGIN = 20;

type Setting = string | number | boolean | readonly Setting[] | { readonly [name: string]: Setting };
const setting: v.GenericSchema<Setting> = v.lazy(() =>
  v.union([v.string(), v.number(), v.boolean(), v.array(setting), v.record(v.string(), setting)]),
);
const settings = v.record(v.string(), setting);
const fileSchema = v.object({ vars: v.object({ IDEMPOTENCY: settings, ROUTES: v.array(settings) }) });

/** The demo's own routes, so that the picture shows what `npm start` shows. */
function demoVars(originUrl: string): GatewayVars {
  const { vars } = v.parse(fileSchema, parse(demoConfiguration({ projectDir, originUrl, routes: "demo" })));
  return { ...vars, OPERATOR_API: { environment: "staging" } };
}

async function sendTo({ url }: Gateway, path: string, key: string, body: string): Promise<void> {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
  const response = await fetch(url + path, { method: "POST", headers, body });
  await response.arrayBuffer();
}

function keyOf(kind: string, number: number): string {
  return `${kind}_01JD9ZK3M3V8Q1T9XB7C${7000 + number * 37}`;
}

/** First requests with replays and reused keys among them, a refusal, and answers that get lost. */
async function sendTraffic(gateway: Gateway): Promise<void> {
  for (let number = 0; number < 24; number += 1) {
    const pay = (amount: number): Promise<void> =>
      sendTo(gateway, "/v1/payments", keyOf("pay", number), JSON.stringify({ amount }));
    const order = (quantity: number): Promise<void> =>
      sendTo(gateway, "/v1/orders", keyOf("order", number), JSON.stringify({ sku: "A1", quantity }));
    await Promise.all([pay(4200), order(2)]);
    if (number % 4 === 0) await Promise.all([pay(4200), order(2)]);
    if (number % 9 === 0) await order(3);
  }
  await sendTo(gateway, "/v1/flaky", keyOf("refund", 1), "{}");
  for (const number of [1, 2]) await sendTo(gateway, "/v1/lost", keyOf("transfer", number), '{"amount":700}');
}

async function takePictures(gateway: Gateway, token: string): Promise<void> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: VIEWPORT, timezoneId: "Europe/Berlin" });
    await page.goto(`${gateway.url}/_onceway`);
    await page.getByLabel("Operator token").fill(token);
    // The demo's slow calls take three seconds: long enough to be seen in flight.
    const slow = [1, 2].map((number) => sendTo(gateway, "/v1/slow", keyOf("report", number), "{}"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#in-flight td").first().waitFor();
    // Down to the rates; the table of shards below adds nothing.
    const rates = await page.locator("#rates").boundingBox();
    const height = rates === null ? VIEWPORT.height : Math.ceil(rates.y + rates.height) + MARGIN;
    await page.screenshot({ path: OVERVIEW, fullPage: true, clip: { x: 0, y: 0, width: VIEWPORT.width, height } });
    await Promise.all(slow);
    await page.getByRole("link", { name: "Duplicates prevented" }).click();
    await page.getByRole("heading", { name: "By route" }).waitFor();
    await page.screenshot({ path: DAY, fullPage: true });
  } finally {
    await browser.close();
  }
}

async function makePictures(origin: DemoOrigin): Promise<void> {
  const stateDir = await makeStateDir();
  const token = randomBytes(32).toString("hex");
  const start = (): Promise<Gateway> =>
    startWorkerd({ stateDir, vars: demoVars(origin.url), bindings: { ADMIN_TOKEN: token } });
  try {
    const first = await start();
    // An object that has counted something has a table of hours, which it writes with a later record.
    for (let number = 1; countedFile(stateDir) === null; number += 1)
      await sendTo(first, "/v1/payments", keyOf("first", number), '{"amount":1}');
    await first.stop();
    plantDay(stateDir, DAY_OF_ROUTES, Date.now());
    const again = await start();
    try {
      await sendTraffic(again);
      await takePictures(again, token);
    } finally {
      await again.stop();
    }
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

const origin = await startDemoOrigin({ port: await freePort() });
try {
  await makePictures(origin);
  console.log(`wrote ${OVERVIEW} and ${DAY}`);
} finally {
  await origin.close();
}
