// `npm run remove-feature -- NAME`: takes a feature out of this working copy: its folders, the lines that are marked with its name, and links to
// what is gone. With `--prove`, and the names of some features or none for each, it does so in a copy of its own and runs there what has to
// stay green: the types, the unit tests, the integration tests and a short simulation. `--together` takes all of them out of one copy, which leaves
// the kernel alone; `--types` runs no tests; `--turn` is what one commit has to prove: the tests without one feature, or of the kernel alone, and the types
// without a third of them and of the kernel alone. The commit's hash chooses, so that some commits after each other prove all.
//
// A line of the feature outside its folders ends with `// feature: NAME`; several begin with `// feature: NAME begins` and end with
// `// feature: NAME ends`. A line with two names goes with either, and a file of which nothing is left goes too.

import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MARK, NEEDS } from "./house.ts";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));

/** Where the compiler keeps what it knows (`tsBuildInfoFile`). */
const COMPILED = "node_modules/.cache/typescript";

/** A text without the lines of `feature`. Throws if a block does not end. */
export function withoutMarked(text: string, feature: string): string {
  const kept: string[] = [];
  let isInside = false;
  for (const line of text.split("\n")) {
    const [, names = "", edge] = MARK.exec(line) ?? [];
    const isTheirs = names.split(", ").includes(feature);
    if (isTheirs && edge !== undefined) isInside = edge === " begins";
    else if (!isTheirs && !isInside) kept.push(line);
  }
  if (isInside) throw new Error(`a block of ${feature} does not end`);
  return kept.join("\n");
}

/** A page without links to what is gone: a row of a table or an item of a list that begins with one goes too, and of any other its text stays. */
export function withoutLinks(text: string, isGone: (target: string) => boolean): string {
  const link = /\[([^\]]*)\]\(([^)#\s]+)(?:#[^)\s]*)?\)/g;
  return text
    .split("\n")
    .filter((line) => {
      const [, target] = /^(?:\||-|\d+\.) *\[[^\]]*\]\(([^)#\s]+)/.exec(line) ?? [];
      return target === undefined || !isGone(target);
    })
    .join("\n")
    .replaceAll(link, (whole, name: string, target: string) => (isGone(target) ? name : whole));
}

/** The features that have to go with `feature`, itself the last. */
export function goingWith(feature: string): readonly string[] {
  const users = Object.keys(NEEDS).filter((one) => NEEDS[one]?.[feature] !== undefined);
  return [...users.flatMap(goingWith), feature];
}

function removeFrom(project: string, feature: string): void {
  const folders = ["src", "test"].map((top) => `${top}/features/${feature}`);
  if (!existsSync(join(project, folders[0] ?? ""))) throw new Error(`there is no feature "${feature}" in src/features`);
  for (const folder of folders) rmSync(join(project, folder), { recursive: true, force: true });
  const files = execFileSync("git", ["ls-files"], { cwd: PROJECT, encoding: "utf8" }).split("\n");
  for (const file of files.filter((name) => /\.(?:tsx?|md|toml|ya?ml|json)$/.test(name))) {
    const path = join(project, file);
    if (!existsSync(path)) continue;
    const text = readFileSync(path, "utf8");
    const isGone = (target: string): boolean =>
      folders.some((folder) => `${normalize(join(dirname(file), target))}/`.startsWith(`${folder}/`));
    const rest = file.endsWith(".md") ? withoutLinks(text, isGone) : withoutMarked(text, feature);
    if (rest.trim() === "") rmSync(path);
    else if (rest !== text) writeFileSync(path, rest);
  }
}

/** What has to stay green. The documents speak of all features, so their test is not among it; words are approved anew. */
const COMPILER = ["tsc", "-b", "--noEmit"];
const TYPES = [[process.execPath, "src/cli/generate.ts"], COMPILER];
const TESTS = [
  // A test looks at the command that is built.
  [process.execPath, "src/cli/build-package.ts"],
  ["vitest", "run", "--reporter", "dot", "-u", "--project", "unit", "--exclude", "test/docs/**"],
  ["vitest", "run", "--reporter", "dot", "--project", "integration"],
  [process.execPath, "test/simulation/run.ts", "--interleavings", "300", "--seed", "29"],
];

/** A copy of the project that shares its packages. What the compiler knows of files that stay as they are comes with it: it checks the others anew. */
function copyOf(project: string): string {
  const copy = mkdtempSync(join(tmpdir(), "onceway-without-"));
  mkdirSync(join(copy, COMPILED), { recursive: true });
  for (const name of readdirSync(join(PROJECT, "node_modules"))) {
    if (name !== ".cache") symlinkSync(join(PROJECT, "node_modules", name), join(copy, "node_modules", name));
  }
  // Before the sources: the compiler compares with what it knows only files that are newer.
  if (existsSync(join(project, COMPILED))) cpSync(join(project, COMPILED), join(copy, COMPILED), { recursive: true });
  const files = execFileSync("git", ["ls-files"], { cwd: PROJECT, encoding: "utf8" }).split("\n").filter(Boolean);
  for (const file of files) if (existsSync(join(PROJECT, file))) cpSync(join(PROJECT, file), join(copy, file));
  return copy;
}

/** Takes these features out of a copy of `whole` and runs the proof there; what failed first, or `null`. */
function failureWithout(
  whole: string,
  features: readonly string[],
  proof: readonly (readonly string[])[],
): string | null {
  const copy = copyOf(whole);
  try {
    for (const one of inOrder(features)) removeFrom(copy, one);
    return failureIn(copy, proof);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function failureIn(copy: string, proof: readonly (readonly string[])[]): string | null {
  for (const [program = "", ...args] of proof) {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: copy, encoding: "utf8" });
    const printed = `${stdout}\n${stderr}`.split("\n");
    if (status !== 0) return [`${program} ${args.join(" ")}`, ...printed.slice(-100)].join("\n");
  }
  return null;
}

/** Each feature with those that need it, once. */
function inOrder(features: readonly string[]): readonly string[] {
  return [...new Set(features.flatMap(goingWith))];
}

/** A number of this commit, from its hash, because a shallow clone has no number of commits. */
function numberOfCommit(): number {
  return Number.parseInt(
    execFileSync("git", ["rev-parse", "HEAD"], { cwd: PROJECT, encoding: "utf8" }).slice(0, 8),
    16,
  );
}

/** Of these features what one commit has to prove: whose types are checked when they are away, and whose tests are run too. */
function turnOf(all: readonly string[]): readonly { group: readonly string[]; withTests: boolean }[] {
  const groups = [...all.map((one) => [one]), all];
  const number = numberOfCommit();
  return groups
    .map((group, index) => ({ group, index, withTests: index === number % groups.length }))
    .filter(({ group, index, withTests }) => withTests || group === all || index % 3 === number % 3);
}

function main(): void {
  const { values, positionals } = parseArgs({
    options: {
      prove: { type: "boolean" },
      together: { type: "boolean" },
      turn: { type: "boolean" },
      types: { type: "boolean" },
    },
    allowPositionals: true,
  });
  const all = readdirSync(join(PROJECT, "src/features"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  if (values.prove !== true) {
    if (positionals.length === 0) throw new Error(`name a feature: ${all.join(", ")}`);
    for (const one of inOrder(positionals)) removeFrom(PROJECT, one);
    return;
  }
  const named = positionals.length > 0 ? positionals : all;
  const groups = values.together === true ? [named] : named.map((one) => [one]);
  const turns =
    values.turn === true ? turnOf(named) : groups.map((group) => ({ group, withTests: values.types !== true }));
  const whole = copyOf(PROJECT);
  process.on("exit", () => rmSync(whole, { recursive: true, force: true }));
  const fault = failureIn(whole, [COMPILER]);
  if (fault !== null) throw new Error(fault);
  for (const { group, withTests } of turns) {
    const proof = withTests ? [...TYPES, ...TESTS] : TYPES;
    const begun = Date.now();
    const failure = failureWithout(whole, group, proof);
    const seconds = Math.round((Date.now() - begun) / 1000);
    const what = withTests ? "" : ", the types";
    console.log(`${failure === null ? "passed" : "FAILED"} without ${inOrder(group).join(", ")}${what} (${seconds} s)`);
    if (failure === null) continue;
    console.log(failure);
    process.exitCode = 1;
  }
}

if (import.meta.main) main();
