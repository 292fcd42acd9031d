// Mutants on the command line: how many small changes of the code do the tests notice?
//
//   npm run mutants -- --count 200 --seed 1
//   npm run mutants -- --under src/kernel/record,src/kernel/request      of these folders or files alone
//   npm run mutants -- --only src/kernel/record/verdict.ts:31:7:condition      one again
//   npm run mutants -- --out results.jsonl --minutes 7      goes on where the last run with this file stopped
//
// A mutant that the types reject is none. Each other one is written into a copy of the project, where first the tests that import the file
// run, since they notice most, then the unit and property tests that reach it, then all integration tests, then the simulation, then the
// end-to-end tests that are named like it or of its feature, until one fails or takes too long.

import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Random } from "../simulation/random.ts";
import { equivalence } from "./equivalent.ts";
import { findMutants, linesOf, mutate, type Mutant } from "./find.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** What is mutated: what decides and what keeps. */
const UNDER = ["src/kernel", "src/features"];

interface Stage {
  readonly name: string;
  /** Every test: those inside workerd import little of the gateway, which they call. */
  readonly isWhole?: boolean;
  /** Only tests of these folders that import the file themselves or, as they run another process, are named like it or of its feature. */
  readonly near?: string;
  readonly args: readonly string[];
  /** Taken as killed: a loop that does not end fails no test. */
  readonly limitSeconds: number;
}

const STAGES: readonly Stage[] = [
  { name: "unit", near: "test/**/{unit,property}", args: ["--project", "unit"], limitSeconds: 180 },
  { name: "integration", near: "test/**/integration", args: ["--project", "integration"], limitSeconds: 180 },
  { name: "unit", args: ["--project", "unit"], limitSeconds: 180 },
  {
    name: "integration",
    isWhole: true,
    args: ["--project", "integration", "--project", "memory"],
    limitSeconds: 900,
  },
  { name: "simulation", args: ["--project", "simulation"], limitSeconds: 600 },
  { name: "e2e", near: "test/**/e2e", args: ["--project", "e2e"], limitSeconds: 600 },
];

interface Failure {
  readonly name: string;
  readonly file: string | null;
}

type Outcome = "rejected" | "killed" | "survived" | "equivalent";

interface Result {
  readonly id: string;
  readonly outcome: Outcome;
  /** The stage and the test that killed it, or why nothing can. */
  readonly by: string | null;
  /** The test's file. */
  readonly testFile: string | null;
  readonly before: string;
  readonly after: string;
}

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    under: { type: "string", default: UNDER.join(",") },
    only: { type: "string" },
    out: { type: "string" },
    minutes: { type: "string", default: "600" },
  },
});

const endsAt = performance.now() + Number(options.minutes) * 60_000;
const copy = `${mkdtempSync(`${tmpdir()}/onceway-mutants-`)}/`;
let endRunning = (): void => {};
process.once("exit", () => {
  endRunning();
  rmSync(copy, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

async function main(): Promise<void> {
  const results = readResults();
  const known = new Set(results.map(({ id }) => id));
  const left = chosen().filter(({ id }) => !known.has(id));
  const isFull = (): boolean => tested(results).length >= Number(options.count) || performance.now() > endsAt;
  while (left.length > 0 && !isFull()) {
    const batch = left.splice(0, oneOfEachFile(left));
    const rejected = await filesRejected(batch);
    for (const mutant of batch) {
      if (isFull()) break;
      const result = rejected.has(mutant.file) ? resultOf(mutant, "rejected", null) : await test(mutant);
      results.push(result);
      if (options.out !== undefined) appendFileSync(options.out, `${JSON.stringify(result)}\n`);
      tell(result);
    }
  }
  summarize(results);
}

function readResults(): Result[] {
  if (options.out === undefined || !existsSync(options.out)) return [];
  return readFileSync(options.out, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line): Result => JSON.parse(line));
}

function resultOf(mutant: Mutant, outcome: Outcome, by: string | null, testFile: string | null = null): Result {
  const [before, after] = linesOf(sourceOf(mutant.file), mutant);
  return { id: mutant.id, outcome, by, testFile, before, after };
}

function tell({ id, outcome, by, testFile, before, after }: Result): void {
  if (outcome === "rejected") return;
  console.log(`${outcome.padEnd(10)} ${id}\n  - ${before}\n  + ${after}`);
  if (by !== null) console.log(`  ${by}${testFile === null ? "" : ` (${testFile})`}`);
}

function tested(results: readonly Result[]): readonly Result[] {
  return results.filter(({ outcome }) => outcome === "killed" || outcome === "survived");
}

function summarize(results: readonly Result[]): void {
  const count = (outcome: Outcome, under = ""): number =>
    results.filter((result) => result.outcome === outcome && result.id.startsWith(under)).length;
  const row = (name: string, under?: string): string => {
    const [killed, survived] = [count("killed", under), count("survived", under)];
    const rate = killed + survived === 0 ? "" : `${((100 * killed) / (killed + survived)).toFixed(1)}%`;
    return [
      name.padEnd(12),
      ...[killed, survived, count("equivalent", under), rate].map((cell) => String(cell).padStart(10)),
    ].join(" ");
  };
  console.log(
    `\n${["", "killed", "survived", "equivalent", "rate"].map((name, at) => (at === 0 ? name.padEnd(12) : name.padStart(10))).join(" ")}`,
  );
  for (const under of UNDER) console.log(row(under, `${under}/`));
  console.log(row("all"));
  console.log(`seed ${options.seed}; ${count("rejected")} more were rejected by the types`);
}

function copyProject(): void {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: PROJECT, encoding: "utf8" });
  for (const file of files.split("\n").filter((name) => name !== "" && existsSync(`${PROJECT}${name}`)))
    cpSync(`${PROJECT}${file}`, `${copy}${file}`);
  symlinkSync(`${PROJECT}node_modules`, `${copy}node_modules`);
}

/** All mutants there are, in the order that the seed gives them. */
function chosen(): readonly Mutant[] {
  const under = options.only === undefined ? options.under.split(",") : [options.only.split(":")[0] ?? ""];
  const files = under.flatMap((path) =>
    path.endsWith(".ts") ? [path] : globSync(`${path}/**/*.ts`, { cwd: PROJECT }),
  );
  const all = files.toSorted().flatMap((file) => findMutants(file, sourceOf(file)));
  if (options.only !== undefined) return all.filter(({ id }) => id === options.only);
  const random = new Random(Number(options.seed));
  const keyed = all.map((mutant) => ({ mutant, key: random.below(2 ** 31) }));
  return keyed.toSorted((one, other) => one.key - other.key).map(({ mutant }) => mutant);
}

/** How many of the first mutants lie in files of their own, so that one check of the types tells which are rejected. */
function oneOfEachFile(mutants: readonly Mutant[]): number {
  const files = new Set<string>();
  const end = mutants.findIndex(({ file }) => files.size === files.add(file).size);
  return end === -1 ? mutants.length : end;
}

async function filesRejected(batch: readonly Mutant[]): Promise<ReadonlySet<string>> {
  for (const mutant of batch) write(mutant);
  const { output } = await checkTypes();
  for (const { file } of batch) restore(file);
  return new Set([...output.matchAll(/^(src\/\S+?)\(\d+,\d+\): error/gmu)].map(([, file = ""]) => file));
}

/** Of the Worker's files, and of what features have in Node. */
async function checkTypes(): ReturnType<typeof run> {
  const worker = await run("tsc", ["-p", "src", "--noEmit", "--tsBuildInfoFile", `${copy}.worker`], 300);
  const node = await run("tsc", ["-p", "src/cli", "--noEmit", "--tsBuildInfoFile", `${copy}.node`], 300);
  return { status: worker.status === 0 ? node.status : worker.status, output: worker.output + node.output };
}

async function test(mutant: Mutant): Promise<Result> {
  const [before, after] = linesOf(sourceOf(mutant.file), mutant);
  const reason = equivalence(mutant.file, before, after);
  if (reason !== null) return resultOf(mutant, "equivalent", reason);
  write(mutant);
  try {
    for (const stage of STAGES) {
      const killer = await killerIn(stage, mutant);
      if (killer !== null) return resultOf(mutant, "killed", `${stage.name}: ${killer.name}`, killer.file);
    }
    // The types may reject it in another file, which the check of several mutants at once cannot tell.
    const { status } = await checkTypes();
    return resultOf(mutant, status === 0 ? "survived" : "rejected", null);
  } finally {
    restore(mutant.file);
  }
}

/** Files of tests that pass without a mutant. */
const trusted = new Set<string>();

async function killerIn(stage: Stage, mutant: Mutant): Promise<Failure | null> {
  const { args, limitSeconds, isWhole = false } = stage;
  const near = stage.near === undefined ? null : nearTests(mutant.file, stage.near);
  if (near?.length === 0) return null;
  const affected = isWhole ? ["run"] : ["related", mutant.file, "--run", "--passWithNoTests"];
  const which = near === null ? affected : ["run", ...near];
  const failure = await vitest([...which, ...args], limitSeconds);
  if (failure === null || failure.file === null || trusted.has(failure.file)) return failure;
  restore(mutant.file);
  const without = await vitest(["run", failure.file, ...args], limitSeconds);
  write(mutant);
  if (without === null) {
    trusted.add(failure.file);
    return failure;
  }
  console.log(`left out: ${failure.file}, which fails without a mutant too (${without.name})`);
  rmSync(`${copy}${failure.file}`);
  return killerIn(stage, mutant);
}

function nearTests(file: string, under: string): readonly string[] {
  const tests = globSync(`${under}/**/*.test.ts`, { cwd: copy });
  const words = basename(file, ".ts").split("-");
  const isNamedLikeIt = (path: string): boolean =>
    basename(path, ".test.ts")
      .split("-")
      .some((word) => word.length > 4 && words.includes(word));
  const [feature = "no feature"] = /^src(\/features\/[^/]+\/)/.exec(file)?.slice(1) ?? [];
  if (under === "test/**/e2e") return tests.filter((path) => isNamedLikeIt(path) || path.includes(feature));
  return tests.filter((path) => readFileSync(`${copy}${path}`, "utf8").includes(`/${file}"`));
}

/** What fails first, and its file; `null` if nothing does. */
async function vitest(args: readonly string[], limitSeconds: number, bail = "1"): Promise<Failure | null> {
  const { status, output } = await run("vitest", [...args, "--bail", bail, "--tags-filter", "!needs/*"], limitSeconds);
  if (status === 0) return null;
  if (status === null) return { name: `not finished within ${limitSeconds} s`, file: null };
  // The first failure has ended the run while a worker of workerd began, which then says nothing of the failure.
  if (bail !== "0" && output.includes("before initialisation")) return vitest(args, limitSeconds, "0");
  // Without one, the run has failed with an error that a test of a file which was not run declares.
  const [, file, name] = / FAIL [^/]*?(test\/\S+)(?: > (.*))?/u.exec(output) ?? [];
  return file === undefined ? null : { name: name ?? file, file };
}

function sourceOf(file: string): string {
  return readFileSync(`${PROJECT}${file}`, "utf8");
}

function write(mutant: Mutant): void {
  writeFileSync(`${copy}${mutant.file}`, mutate(sourceOf(mutant.file), mutant));
}

function restore(file: string): void {
  writeFileSync(`${copy}${file}`, sourceOf(file));
}

function run(
  program: string,
  args: readonly string[],
  limitSeconds: number,
): Promise<{ readonly status: number | null; readonly output: string }> {
  const child = spawn(program, args, {
    cwd: copy,
    // A group of its own, so that what it has started ends with it.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (output += bytes.toString()));
  endRunning = () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endRunning();
  }, limitSeconds * 1000);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => {
      clearTimeout(timer);
      endRunning = () => {};
      resolve({ status: isLate ? null : (status ?? 1), output });
    });
  });
}

copyProject();
await main();
