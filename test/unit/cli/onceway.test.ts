// The command line before it contacts a gateway: help, usage, missing options.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as v from "valibot";
import { runOnceway } from "../../support/command-line.ts";
import { projectDir } from "../../support/wrangler.ts";

const ID = "0".repeat(64);
const GATEWAY = ["--url", "https://gateway.invalid"];

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

  it.each(["init", "check", "try", "plan", "ls", "show", "release", "resolve", "forget", "tail", "layouts"])(
    "%s --help names its exit codes",
    async (name) => {
      const { code, stdout, stderr } = await runOnceway([name, "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain("Exit codes: 0 ");
    },
  );

  it("prints no colours without a terminal", async () => {
    const { stdout } = await runOnceway(["check"]);
    expect(stdout).not.toContain("\u001b");
  });
});

describe("wrong usage exits with 2 and says what to write", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "onceway-token-"));
    writeFileSync(join(folder, "empty"), "\n");
    writeFileSync(join(folder, "two-lines"), "one\ntwo\n");
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each<[args: readonly string[], reason: string]>([
    [["lst"], "Did you mean ls?"],
    [["ls"], "--url https://api.example.com, or set ONCEWAY_URL"],
    [["ls", "--url", "gateway"], "Write https://api.example.com."],
    [["ls", "--url", "https://gateway.invalid?x"], "no query"],
    [["ls", ...GATEWAY], "set ONCEWAY_TOKEN"],
    [["check", "--against", "https://gateway.invalid"], "set ONCEWAY_TOKEN"],
    [["check", "--against", "gateway"], "Write https://api.example.com."],
    [["ls", ...GATEWAY, "--token-file", "FOLDER/empty"], "FOLDER/empty holds no token"],
    [["ls", ...GATEWAY, "--token-file", "FOLDER/two-lines"], "one line of visible ASCII"],
    [["ls", ...GATEWAY, "--token-file", "FOLDER/none"], "cannot be read"],
    [["ls", ...GATEWAY, "--token", "secret"], "unknown option '--token'"],
    [
      ["ls", ...GATEWAY, "--state", "lost"],
      "Write one or more of waiting, started, failed, unknown, completed, remembered.",
    ],
    [["ls", ...GATEWAY, "--until", "5"], "a time: 2026-11-23T08:30:00Z"],
    [["ls", ...GATEWAY, "--limit", "0"], "whole number of 1 or more"],
    [["resolve", ID, ...GATEWAY, "--reason", "x"], "required option '--status <N>'"],
    [["resolve", ID, ...GATEWAY, "--reason", "x", "--status", "99"], "from 200 to 599"],
    [
      ["resolve", ID, ...GATEWAY, "--reason", "x", "--status", "200", "--body", "x", "--body-file", "x"],
      "either --body or --body-file",
    ],
    [["resolve", ID, ...GATEWAY, "--reason", "x", "--status", "200", "-H", "x"], "is not a header"],
  ])("%j", async (args, reason) => {
    const inFolder = (text: string): string => text.replace("FOLDER", folder);
    const { code, stdout, stderr } = await runOnceway(args.map(inFolder));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(inFolder(reason));
  });

  it.each<[args: readonly string[], reason: string]>([
    [["show"], "Write either the ID or --key KEY"],
    [["show", ID, "--key", "k"], "Write either the ID or --key KEY"],
    [["show", "0123"], "64 hex digits"],
    [["release", ID], "Missing --reason"],
    [["forget", ID, "--reason", " "], "Missing --reason"],
  ])("%j, with a token", async (args, reason) => {
    const { code, stdout, stderr } = await runOnceway([...args, ...GATEWAY], { ONCEWAY_TOKEN: "t".repeat(32) });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(reason);
  });

  it("says that the gateway is unreachable", async () => {
    const { code, stderr } = await runOnceway(["show", ID], {
      ONCEWAY_URL: "http://127.0.0.1:9",
      ONCEWAY_TOKEN: "t".repeat(32),
    });
    expect(code).toBe(2);
    expect(stderr).toContain("http://127.0.0.1:9/_onceway cannot be reached");
  });
});
