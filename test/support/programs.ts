// The programs beside Node that some tests run: where each is looked for, and how `npm run setup` gets it. A test file that
// needs one names it in its first lines (`// @module-tag needs/chromium`), so `npm test` leaves it out.

import { accessSync, constants, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestTagDefinition } from "vitest";
import type { Reporter, TestModule } from "vitest/node";

/** Where `npm run setup` unpacks what it does not install: Debian's package would start a server. */
export const UNPACKED = fileURLToPath(new URL("../../node_modules/.cache/onceway-programs", import.meta.url));

interface Program {
  /** The first that is found counts. */
  readonly names: readonly string[];
  /** Which tests run it. */
  readonly use: string;
  /** Names another place than the usual ones. */
  readonly variable?: string;
  /** Debian's package. `unpacked`: its programs alone, into `UNPACKED`. */
  readonly debian: string;
  readonly unpacked?: true;
  /** Homebrew's package. */
  readonly brew: string;
}

export const PROGRAMS = {
  chromium: {
    names: ["chromium", "chromium-browser", "google-chrome"],
    use: "the console, and pages of other sites",
    variable: "CHROMIUM",
    debian: "chromium",
    brew: "--cask chromium",
  },
  nginx: { names: ["nginx"], use: "self-hosting", debian: "nginx", brew: "nginx" },
  haproxy: { names: ["haproxy"], use: "self-hosting with several processes", debian: "haproxy", brew: "haproxy" },
  redis: { names: ["redis-server"], use: "claims", debian: "redis-server", brew: "redis" },
  postgres: {
    names: ["initdb"],
    use: "a walk with an API in front of it",
    debian: "postgresql",
    brew: "postgresql@17",
  },
  kcat: { names: ["kcat"], use: "claims, by Kafka's protocol", debian: "kafkacat", brew: "kcat" },
  prometheus: { names: ["prometheus"], use: "metrics", debian: "prometheus", unpacked: true, brew: "prometheus" },
  promtool: { names: ["promtool"], use: "alert rules", debian: "prometheus", unpacked: true, brew: "prometheus" },
} as const satisfies Readonly<Record<string, Program>>;

export type ProgramName = keyof typeof PROGRAMS;

export const PROGRAM_NAMES = Object.keys(PROGRAMS).filter((name): name is ProgramName => name in PROGRAMS);

/** `null` if it is not on this machine. */
export function findProgram(name: ProgramName): string | null {
  const program: Program = PROGRAMS[name];
  const own = program.variable === undefined ? undefined : process.env[program.variable];
  if (own !== undefined && own !== "") return isExecutable(own) ? own : null;
  // Debian keeps servers in a folder that only root has in its PATH, and each version of Postgres in one of its own.
  const path = process.env["PATH"]?.split(delimiter) ?? [];
  const usual = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/homebrew/opt/postgresql@17/bin"];
  const folders = [join(UNPACKED, "usr/bin"), ...path, ...usual, ...versionsIn("/usr/lib/postgresql")];
  return program.names.flatMap((file) => folders.map((folder) => join(folder, file))).find(isExecutable) ?? null;
}

/** Throws with the command to run if it is not on this machine. */
export function programPath(name: ProgramName): string {
  const path = findProgram(name);
  if (path !== null) return path;
  throw new Error(`${name} is not on this machine: npm run setup`);
}

/**
 * Vitest's tags of tests that need a program. Without it they are skipped, but not in continuous integration: there a program that
 * is missing is a failure.
 */
export const PROGRAM_TAGS: readonly TestTagDefinition[] = PROGRAM_NAMES.map((name) => ({
  name: `needs/${name}`,
  description: `Runs ${name}: ${PROGRAMS[name].use}.`,
  skip: findProgram(name) === null && process.env["CI"] !== "true",
}));

/** Says after the summary how many tests were left out for want of a program, and how to have them run. */
export class SkippedPrograms implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) => [...module.children.allTests("skipped")]);
    const counts = PROGRAM_NAMES.map((name) => ({
      name,
      count: skipped.filter(({ tags }) => tags.includes(`needs/${name}`)).length,
    })).filter(({ count }) => count > 0);
    if (counts.length === 0) return;
    const tests = skipped.filter(({ tags }) => tags.some((tag) => tag.startsWith("needs/"))).length;
    const missing = counts.filter(({ name }) => findProgram(name) === null).map(({ name }) => name);
    const how = missing.length > 0 ? "npm run setup, then npm run test:all" : "npm run test:all";
    const needs = counts.map(({ name, count }) => `${name} ${count}`).join(", ");
    console.log(` ${tests} tests skipped: they need more than Node (${needs}). To run them: ${how}\n`);
  }
}

/** The programs of each version, the newest first. */
function versionsIn(folder: string): readonly string[] {
  try {
    const versions = readdirSync(folder).toSorted((one, other) => Number(other) - Number(one));
    return versions.map((version) => join(folder, version, "bin"));
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
