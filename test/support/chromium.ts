// The browser that the console is tested in (`npm run setup`).

import { type Browser, chromium } from "playwright-core";
import { programPath } from "./programs.ts";

export async function launchChromium(): Promise<Browser> {
  // Chromium has no sandbox as root. It opens only pages of these tests.
  return chromium.launch({
    executablePath: programPath("chromium"),
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
}
