// How a page may look to who reads it: in light and dark, on a phone, with large text; and what is wrong with it then.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { BrowserContextOptions, Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  "in light": { colorScheme: "light" },
  "in dark": { colorScheme: "dark" },
  "on a phone": { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
  "with large text and little motion": {
    viewport: { width: 640, height: 480 },
    deviceScaleFactor: 2,
    reducedMotion: "reduce",
  },
};

/** What is not accessible on the page, and whether it is wider than the screen. */
export async function faultsOf(page: Page, { viewport }: BrowserContextOptions): Promise<readonly unknown[]> {
  await page.evaluate(AXE);
  const violations: unknown = await page.evaluate(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target)}`))",
  );
  const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
  const tooWide = width > (viewport?.width ?? 1280) ? [`${width} pixels wide`] : [];
  return [...(Array.isArray(violations) ? violations : [violations]), ...tooWide];
}
