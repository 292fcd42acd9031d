// The browser that the console is tested in. `npm test` on a fresh machine installs it where it may (as root, on Debian);
// elsewhere the tests fail with the command to run. This file's default export is the e2e project's global set-up.

import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";

const SCRIPT = fileURLToPath(new URL("install-chromium.sh", import.meta.url));

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export default function installMissing(): void {
  if (executable() !== null || !isRoot() || !isExecutable("/usr/bin/apt-get")) return;
  try {
    execFileSync(SCRIPT, { stdio: "inherit" });
  } catch {
    // The tests that need the browser fail with the reason.
  }
}

export async function launchChromium(): Promise<Browser> {
  const executablePath = executable();
  if (executablePath === null) {
    throw new Error(
      "The console is tested in Chromium, and there is none: run test/support/install-chromium.sh, or set CHROMIUM to its path.",
    );
  }
  // Chromium has no sandbox as root. It opens only pages of these tests.
  return chromium.launch({ executablePath, args: isRoot() ? ["--no-sandbox"] : [] });
}

function executable(): string | null {
  const { CHROMIUM: own } = process.env;
  if (own !== undefined && own !== "") return isExecutable(own) ? own : null;
  return PLACES.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
