import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { PROGRAM_TAGS, SkippedPrograms } from "./test/support/programs.ts";
import { RuntimeErrors } from "./test/support/runtime-errors.ts";

const isThere = (path: string): boolean => existsSync(new URL(path, import.meta.url));

/**
 * Of names below `test`, without those of features that were taken out. Throws if another one is not there: a file that is renamed would
 * silently run in another project.
 */
const filesOf = (names: readonly string[]): string[] =>
  names
    .filter((name) => !name.startsWith("features/") || isThere(`src/${name.split("/", 2).join("/")}`))
    .map((name) => {
      const file = `test/${name}.test.ts`;
      if (!isThere(file)) throw new Error(`vitest.config.ts names ${file}, which does not exist`);
      return file;
    });

/** In short among the others, whole in the project `long`. */
const SHORTENED = [
  "simulation/simulation",
  "simulation/counts/counts",
  "features/previous-shards/simulation/layouts",
  "kernel/e2e/bodies/bytes",
  "kernel/e2e/contract/differential",
  "kernel/e2e/contract/fuzz",
  "kernel/e2e/failures/crash",
  "features/outbox/e2e/crash",
];

/** Only in the project `long`, because they take long: continuous integration runs them, `npm test` does not. */
const ONLY_LONG = [
  "kernel/e2e/bodies/bucket",
  "kernel/e2e/bodies/early-answers",
  "kernel/e2e/bodies/memory",
  "kernel/e2e/bodies/uploads",
  "cli/e2e/terminal",
  "client/e2e/clients",
  "kernel/e2e/callers/encrypted-large",
  "features/claims/e2e/brokers",
  "features/claims/e2e/publish",
  "features/decisions/e2e/runbook",
  "kernel/e2e/contract/budget",
  "kernel/e2e/contract/conformance-suite",
  "kernel/e2e/contract/defects-of-time",
  "kernel/e2e/contract/examples",
  "kernel/e2e/contract/recipes",
  "kernel/e2e/contract/verify-alarm",
  "kernel/e2e/failures/chaos",
  "kernel/e2e/failures/leavers",
  "kernel/e2e/failures/long-call",
  "kernel/e2e/failures/stream-crash",
  "features/previous-shards/e2e/mixed",
  "operator/e2e/console-pages",
  "operator/e2e/console-walk",
  "operator/e2e/large-layout",
  "operator/e2e/pauses",
  "operator/e2e/prometheus",
  "operator/e2e/alerts",
  "features/outbox/e2e/saga",
  "features/outbox/e2e/alerts",
  "package/e2e/adoption",
  "package/e2e/beside",
  "package/e2e/newcomer",
  "package/e2e/other-work",
  "package/e2e/template",
  "features/queues/e2e/parked-letters",
  "features/queues/e2e/alerts",
  "serve/e2e/demo-start",
  "serve/e2e/serve-configuration",
];

/** They begin first, so that nothing waits for them in the end. */
const LONGEST = filesOf([
  "kernel/e2e/failures/long-call",
  "features/previous-shards/e2e/mixed",
  "features/claims/e2e/brokers",
  "kernel/e2e/contract/fuzz",
  "package/e2e/newcomer",
  "kernel/e2e/contract/guarantees",
  "kernel/e2e/contract/recipes",
  "features/presets/e2e/preset-conformance",
  "serve/e2e/serve",
]);

function rank({ moduleId }: TestSpecification): number {
  const index = LONGEST.findIndex((file) => moduleId.endsWith(file));
  return index === -1 ? LONGEST.length : index;
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's own
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

/** They fill the memory that all objects of an isolate share, or measure it: each has a workerd of its own. */
const MEMORY = filesOf(["kernel/integration/bodies/overflow-memory", "kernel/integration/bodies/stored-readers"]);

/** Do the rules of the simulation see anything? They replace modules, and take long. */
const PLANTED = "test/**/simulation/**/planted.test.ts";

/** What must succeed may take long on a machine with other work, or one that stands still for a second now and then. */
const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } };

const integration = {
  ...patient,
  // itty-durable mixes module systems.
  deps: { optimizer: { ssr: { enabled: true, include: ["itty-durable"] } } },
};

function workerd(): ReturnType<typeof cloudflareTest> {
  return cloudflareTest({ wrangler: { configPath: "./test/support/integration/wrangler.toml" } });
}

// Node keeps here what it has compiled, for the many short processes that the tests start: the command line, origins, clients.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/onceway-compile", import.meta.url));

/** Where the results are written as JSON too: continuous integration adds them up. An option of the command line would replace the other reporters. */
const REPORT = process.env["ONCEWAY_REPORT"];
const JSON_REPORT = ["json", { outputFile: REPORT }] as const satisfies [string, unknown];

/** A sequencer of our own would take the place of the one that shuffles. */
const isShuffled = process.argv.some((argument) => argument.startsWith("--sequence.shuffle"));

export default defineConfig({
  test: {
    sequence: isShuffled ? {} : { sequencer: LongestFirst },
    maxWorkers: 4,
    // What a test logs is shown if it fails.
    silent: "passed-only",
    reporters: [new RuntimeErrors(), new SkippedPrograms(), "default", ...(REPORT === undefined ? [] : [JSON_REPORT])],

    tags: [...PROGRAM_TAGS],
    projects: [
      {
        // The pure parts, and what runs in Node: no platform needed. A process of its own for each file would double the processor time.
        test: {
          ...patient,
          name: "unit",
          include: ["test/**/{unit,property,docs,words}/**/*.test.ts", "test/house.test.ts"],
          setupFiles: ["test/support/afterwards.ts"],
          isolate: false,
        },
      },
      {
        test: {
          ...patient,
          // They compute for half a minute, with a processor to themselves.
          testTimeout: 600_000,
          name: "simulation",
          include: ["test/**/simulation/**/*.test.ts"],
          exclude: [PLANTED],
        },
      },
      {
        // What needs storage, alarms and objects: inside workerd.
        plugins: [workerd()],
        test: {
          ...integration,
          name: "integration",
          include: ["test/**/integration/**/*.test.ts"],
          exclude: MEMORY,
          setupFiles: ["test/support/afterwards.ts", "test/support/integration/afterwards.ts"],
          isolate: false,
        },
      },
      {
        plugins: [workerd()],
        test: { ...integration, name: "memory", include: MEMORY },
      },
      {
        // The whole gateway in a process of its own, in front of an origin in another.
        test: {
          ...patient,
          name: "e2e",
          include: ["test/**/e2e/**/*.test.ts"],
          exclude: filesOf(ONLY_LONG),
          setupFiles: ["test/support/afterwards.ts"],
          isolate: false,
          // Apart from those that compute: most of these wait, for a lock's end or an alarm.
          sequence: { groupOrder: 1 },
          maxWorkers: 8,
        },
      },
      {
        // test/support/long.ts says what the variable means.
        test: {
          ...patient,
          name: "long",
          include: [PLANTED, ...filesOf([...SHORTENED, ...ONLY_LONG])],
          env: { ONCEWAY_LONG: "1" },
          // After the others: some of these fill memory and both cores. Most wait.
          sequence: { groupOrder: 2 },
          maxWorkers: 4,
        },
      },
    ],
  },
});
