// The command line before it contacts a gateway: help, and what wrong usage is answered with.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, it, onTestFinished } from "vitest";
import { onceway } from "../../src/cli/program.ts";
import { callOnceway } from "../support/command-line-here.ts";
import { expectApproved, type Said } from "../support/words.ts";

const ID = "0".repeat(64);
const GATEWAY = ["--url", "https://gateway.invalid"];
const TOKEN = { ONCEWAY_TOKEN: "t".repeat(32) };
const ORDER = "https://api.example.com/orders";
const RESOLVE = ["records", "resolve", ID, ...GATEWAY, "--reason", "x"];

/** The arguments of each command, of its subcommands and of the whole. */
function commands({ commands: own }: Command, before: readonly string[] = []): readonly (readonly string[])[] {
  return [before, ...own.flatMap((command) => commands(command, [...before, command.name()]))];
}

it("help is as approved, and each command names its exit codes", async () => {
  const said: Said[] = [];
  for (const names of commands(await onceway())) {
    const { code, stdout, stderr } = await callOnceway([...names, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^(?:Exit codes: 0 |Commands:$|Operate:$)/m);
    said.push({ asked: ["onceway", ...names, "--help"].join(" "), words: stdout });
  }
  await expectApproved("help", said);
});

const WRONG: readonly (readonly string[])[] = [
  ["recrds"],
  ["records", "lst"],
  ["records", "list"],
  ["records", "list", "--url", "gateway"],
  ["records", "list", "--url", "https://gateway.invalid?x"],
  ["records", "list", ...GATEWAY],
  ["check", "--against", "https://gateway.invalid"],
  ["check", "--against", "gateway"],
  ["check", "no-such-file.toml"],
  ["check", "src"],
  ["check", "a.toml", "b.toml"],
  ["check", "--env", "nowhere"],
  ["records", "list", ...GATEWAY, "--token-file", "FOLDER/empty"],
  ["records", "list", ...GATEWAY, "--token-file", "FOLDER/two-lines"],
  ["records", "list", ...GATEWAY, "--token-file", "FOLDER/none"],
  ["records", "list", ...GATEWAY, "--token", "secret"],
  ["records", "list", ...GATEWAY, "--state", "lost"],
  ["records", "list", ...GATEWAY, "--until", "5"],
  ["records", "list", ...GATEWAY, "--limit", "0"],
  ["records", "list", ...GATEWAY, "--id", "xyz"],
  RESOLVE,
  [...RESOLVE, "--status", "99"],
  [...RESOLVE, "--status", "200", "--body", "x", "--body-file", "x"],
  [...RESOLVE, "--status", "200", "-H", "x"],
  ["try"],
  ["try", "ftp://api.example.com/pay"],
  ["try", "https://me:secret@api.example.com/pay"],
  ["try", ORDER, "-X", "GET"],
  ["try", ORDER, "-H", "nonsense"],
  ["try", ORDER, "-H", "Idempotency-Key: k"],
  ["try", ORDER, "-H", "@no-such-file"],
  ["try", ORDER, "--timeout", "5"],
  ["try", ORDER, "--queue", "orders"],
  ["init", "FOLDER/x.toml", "--origin", "https://x.example"],
  ["init", "FOLDER/x.toml", "--route", "/x"],
  ["init", "FOLDER/x.toml", "--origin", "x.example", "--route", "/x"],
  ["init", "FOLDER/x.toml", "--origin", "https://user:pw@x.example", "--route", "/x"],
  ["init", "FOLDER/x.toml", "--origin", "https://x.example", "--route", "x"],
  ["init", "FOLDER/x.toml", "--origin", "https://x.example", "--route", "/x", "--name", "Ä"],
  ["init", "FOLDER/x.toml", "--origin", "https://x.example", "--route", "/x", "--unknown", "guess"],
  // Each is sound, and the second could never match.
  ["init", "FOLDER/x.toml", "--origin", "https://x.example", "--route", "/*", "--route", "/x"],
];

/** With a token. */
const WRONG_RECORDS: readonly (readonly string[])[] = [
  ["records", "show"],
  ["records", "show", ID, "--key", "k"],
  ["records", "show", "0123"],
  ["records", "release", ID],
  ["records", "forget", ID, "--reason", " "],
  ["records", "release", "--all", "--reason", "x"],
  ["records", "release", ID, "--all", "--reason", "x"],
  ["records", "release", ID, "--state", "failed", "--reason", "x"],
  ["records", "release", "--all", "--state", "failed", "--reason", "x"],
  ["records", "release", "--all", "--state", "failed", "--reason", "x", "--as-of", "yesterday"],
  ["records", "release", "--all", "--state", "failed", "--reason", "x", "--as-of", "2026-11-23T03:12:40.118Z"],
];

it("wrong usage exits with 2, and is told as approved what to write", async () => {
  const folder = mkdtempSync(join(tmpdir(), "onceway-token-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "empty"), "\n");
  writeFileSync(join(folder, "two-lines"), "one\ntwo\n");

  const said: Said[] = [];
  for (const [args, env] of [
    ...WRONG.map((one) => [one, {}] as const),
    ...WRONG_RECORDS.map((one) => [[...one, ...GATEWAY], TOKEN] as const),
    [["records", "show", ID, "--url", "http://127.0.0.1:9"], TOKEN] as const,
  ]) {
    const { code, stdout, stderr } = await callOnceway(
      args.map((arg) => arg.replace("FOLDER", folder)),
      env,
    );
    const asked = ["onceway", ...args].join(" ").replace(ID, "ID");
    expect({ asked, code, stdout }).toEqual({ asked, code: 2, stdout: "" });
    said.push({ asked, words: stderr.replaceAll(folder, "FOLDER") });
  }
  expect(readdirSync(folder).toSorted()).toEqual(["empty", "two-lines"]);
  await expectApproved("wrong-usage", said);
});
