import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectDir } from "../wrangler.ts";

/** What starts a program, as it stands in a test, and the program. */
const STARTS: readonly [use: RegExp, program: string][] = [
  [/\blaunchChromium\(/, "chromium"],
  [/\b(startProcessesProxy|startProxy|runProxy)\(/, "haproxy"],
  [/\bstartPrometheus\(/, "prometheus"],
  [/\bprogramPath\("promtool"\)/, "promtool"],
  [/rounds\/rounds\.ts/, "redis"],
];

describe("a test that runs another program", () => {
  it("says so, so that `npm test` needs Node alone", () => {
    const files = globSync("test/**/*.test.ts", { cwd: projectDir, exclude: ["**/node_modules/**"] });
    const found = files.flatMap((file) => {
      const text = readFileSync(join(projectDir, file), "utf8");
      return STARTS.filter(([use]) => use.test(text)).map(([, program]) => ({
        file,
        program,
        isTagged: text.includes(`needs/${program}`),
      }));
    });
    expect(found.length).toBeGreaterThan(15);
    expect(found.filter(({ isTagged }) => !isTagged)).toEqual([]);
  });
});
