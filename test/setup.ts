// `npm run setup [-- --yes]`: gets the programs that `npm run test:all` needs beside Node (support/programs.ts). It says what it
// would run before it asks; `--yes` answers for continuous integration. `npm test` needs none of them.

import { spawnSync } from "node:child_process";
import { accessSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { findProgram, PROGRAM_NAMES, PROGRAMS, UNPACKED } from "./support/programs.ts";

/** While it is there, Debian's packages start no server (invoke-rc.d asks it). */
const NO_SERVICES = "/usr/sbin/policy-rc.d";

const { values: options } = parseArgs({ options: { yes: { type: "boolean", default: false } } });

const missing = PROGRAM_NAMES.filter((name) => findProgram(name) === null);
if (missing.length === 0) {
  console.log(`All programs are here: ${PROGRAM_NAMES.join(", ")}.`);
} else {
  console.log(`Missing: ${missing.map((name) => `${name} (${PROGRAMS[name].use})`).join(", ")}.`);
  process.exitCode = isDebian() ? await setUpDebian() : explainElsewhere();
}

async function setUpDebian(): Promise<number> {
  const installed = packages((name) => !("unpacked" in PROGRAMS[name]));
  const unpacked = packages((name) => "unpacked" in PROGRAMS[name]);
  console.log("On Debian this does, as root:");
  if (installed.length > 0) console.log(`  apt-get install ${installed.join(" ")}   (no server is started)`);
  if (unpacked.length > 0) console.log(`  unpacks the programs of ${unpacked.join(" ")} into node_modules/.cache`);
  if (!options.yes && !(await isConfirmed())) return 1;
  root("apt-get", "update", "-qq");
  if (installed.length > 0)
    withoutServices(() => root("apt-get", "install", "-y", "-qq", "--no-install-recommends", ...installed));
  for (const name of unpacked) unpack(name);
  const still = PROGRAM_NAMES.filter((name) => findProgram(name) === null);
  console.log(still.length === 0 ? "All programs are here now." : `Still missing: ${still.join(", ")}.`);
  return still.length === 0 ? 0 : 1;
}

function explainElsewhere(): number {
  const commands = new Set(missing.map((name) => `brew install ${PROGRAMS[name].brew}`));
  console.log(
    `This installs them on Debian only. With Homebrew:\n${[...commands].map((text) => `  ${text}`).join("\n")}`,
  );
  return 1;
}

async function isConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) {
    console.log(
      "Nothing was installed: there is no terminal to ask on. `npm run setup -- --yes` installs without a question.",
    );
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question("Go on? [y/N] ");
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

function packages(isWanted: (name: (typeof missing)[number]) => boolean): readonly string[] {
  return [...new Set(missing.filter(isWanted).map((name) => PROGRAMS[name].debian))];
}

/** Debian's package starts its server when it is installed, so the archive is only unpacked. */
function unpack(name: string): void {
  mkdirSync(UNPACKED, { recursive: true });
  const dir = mkdtempSync(join(UNPACKED, "archive-"));
  run("apt-get", ["download", "-qq", "-o", "APT::Sandbox::User=root", name], dir);
  const [archive = ""] = readdirSync(dir);
  run("dpkg-deb", ["-x", join(dir, archive), dir], dir);
  run("cp", ["-R", join(dir, "usr"), UNPACKED], dir);
  rmSync(dir, { recursive: true });
}

function withoutServices(install: () => void): void {
  const isOurs = process.getuid?.() === 0 && !isThere(NO_SERVICES);
  if (isOurs) writeFileSync(NO_SERVICES, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    install();
  } finally {
    if (isOurs) rmSync(NO_SERVICES);
  }
}

function root(program: string, ...args: readonly string[]): void {
  const env = ["env", "DEBIAN_FRONTEND=noninteractive", program, ...args];
  const [first = "", ...rest] = process.getuid?.() === 0 ? env : ["sudo", ...env];
  run(first, rest);
}

function run(program: string, args: readonly string[], cwd = process.cwd()): void {
  const { status, error } = spawnSync(program, args, { cwd, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${String(status)}`);
}

function isDebian(): boolean {
  return isThere("/usr/bin/apt-get");
}

function isThere(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}
