// `onceway check` beside a wrangler that is older than the configuration's date.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { checkTools } from "../../../src/cli/findings/check-main.ts";

/** A project with these packages; its wrangler brings the workerd. */
function projectWith(versions: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "onceway-tools-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, version] of Object.entries(versions)) {
    mkdirSync(join(folder, "node_modules", name), { recursive: true });
    writeFileSync(join(folder, "node_modules", name, "package.json"), JSON.stringify({ name, version }));
  }
  return join(folder, "wrangler.toml");
}

const OLD = { wrangler: "4.120.0", workerd: "1.20260801.1" };

it("warns where the installed wrangler cannot run the configuration's date, and names the command", () => {
  expect(checkTools(projectWith(OLD), { compatibility_date: "2026-10-01" })).toEqual([
    {
      path: "compatibility_date",
      code: "compatibility-invalid",
      message: expect.stringMatching(/^wrangler 4\.120\.0, .* until 2026-08-01, .*npm install --save-dev wrangler@4$/),
    },
  ]);
});

it.each([
  ["the day itself", OLD, "2026-08-01"],
  ["an earlier date", OLD, "2026-07-31"],
  ["no wrangler", {}, "2026-10-01"],
  ["no date", OLD, undefined],
  ["a workerd whose version is no day", { wrangler: "4.1.0", workerd: "2.0.0" }, "2026-10-01"],
])("says nothing of %s", (_name, versions, date) => {
  expect(checkTools(projectWith(versions), date === undefined ? {} : { compatibility_date: date })).toEqual([]);
});
