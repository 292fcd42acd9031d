// The command line as a process of its own. What it says is in test/words.

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as v from "valibot";
import { runOnceway } from "../../support/command-line.ts";
import { projectDir } from "../../support/wrangler.ts";

describe("onceway", () => {
  it("is what package.json names, and can be executed", () => {
    const manifest = v.parse(
      v.object({ bin: v.object({ onceway: v.string() }) }),
      JSON.parse(readFileSync(join(projectDir, "package.json"), "utf8")),
    );
    const file = join(projectDir, manifest.bin.onceway);
    expect(readFileSync(file, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(statSync(file).mode & 0o111).toBe(0o111);
  });

  it("prints help and exits with 0", async () => {
    const { code, stdout, stderr } = await runOnceway(["records", "list", "--help"]);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringContaining("Exit codes: 0 "),
      stderr: "",
    });
  });

  it("exits with 2 and prints nothing on stdout for wrong usage, of commander and its own", async () => {
    for (const args of [["lst"], ["records", "list"]]) {
      const { code, stdout, stderr } = await runOnceway(args);
      expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(/\n$/) });
    }
  });

  it("prints no colours without a terminal", async () => {
    const { stdout, stderr } = await runOnceway(["check"]);
    expect(stdout + stderr).not.toContain("\u001b");
  });
});
