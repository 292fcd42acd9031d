// Makes the picture of the demo's page that its README shows, after each button was pressed once. `npx node test/support/demo-picture.ts`
// writes src/demo/page.png again; with `--all DIR` it also writes what a dark screen and a phone show into DIR.

import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { startDemoScene } from "./e2e/demo.ts";
import { launchChromium } from "./chromium.ts";
import { projectDir } from "./wrangler.ts";

const VIEWPORT = { width: 880, height: 700 };
const PHONE = { width: 390, height: 844 };
/** Each with how many lines it adds. */
const BUTTONS: readonly (readonly [name: string | RegExp, lines: number])[] = [
  ["Send a payment", 1],
  ["Send the last one again", 1],
  ["Send its key with another amount", 1],
  ["Send 50 duplicates", 1],
  [/a person decides/, 2],
  [/the gateway asks/, 2],
];

async function takePicture(browser: Browser, url: string, path: string, options: BrowserContextOptions): Promise<void> {
  const page = await browser.newPage(options);
  await page.goto(url);
  let shown = 0;
  for (const [name, lines] of BUTTONS) {
    await page.getByRole("button", { name }).click();
    shown += lines;
    await page
      .locator("#steps tr:has(code)")
      .nth(shown - 1)
      .waitFor();
    await page.getByRole("button", { name: "Send a payment", disabled: false }).waitFor();
  }
  // Down to the log; what is folded below adds nothing.
  const log = await page.locator("section").nth(1).boundingBox();
  const { width } = options.viewport ?? VIEWPORT;
  const height = log === null ? VIEWPORT.height : Math.ceil(log.y + log.height);
  await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height } });
  await page.close();
}

const { all } = parseArgs({ options: { all: { type: "string" } } }).values;
const pictures: readonly (readonly [path: string, options: BrowserContextOptions])[] = [
  [join(projectDir, "src/demo/page.png"), { viewport: VIEWPORT, colorScheme: "light" }],
  ...(all === undefined
    ? []
    : ([
        [join(all, "dark.png"), { viewport: VIEWPORT, colorScheme: "dark" }],
        [join(all, "phone.png"), { viewport: PHONE }],
      ] as const)),
];
const browser = await launchChromium();
try {
  for (const [path, options] of pictures) {
    const scene = await startDemoScene();
    try {
      await takePicture(browser, scene.url, path, options);
      console.log(`wrote ${path}`);
    } finally {
      await scene.close();
    }
  }
} finally {
  await browser.close();
}
