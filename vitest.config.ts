import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { PROGRAM_TAGS, SkippedPrograms } from "./test/support/programs.ts";
import { RuntimeErrors } from "./test/support/runtime-errors.ts";

/** In short among the others, whole in the project `long`. */
const SHORTENED = [
  "bodies/bytes",
  "contract/differential",
  "contract/fuzz",
  "failures/crash",
  "failures/long-call",
  "layouts/clock",
  "layouts/ends",
  "layouts/mixed",
  "layouts/old-code",
];

/** Only in the project `long`, because they take long: continuous integration runs them, `npm test` does not. */
const ONLY_LONG = [
  "bodies/bucket",
  "bodies/early-answers",
  "bodies/memory",
  "bodies/uploads",
  "contract/defects-of-time",
  "failures/leavers",
  "failures/stream-crash",
  "operators/console-pages",
  "operators/console-walk",
  "operators/pauses",
  "operators/prometheus",
  "package/newcomer",
  "package/template",
  "serve/demo-start",
];

/** For a machine that stands still for a second now and then. */
const expectation = { poll: { timeout: 10_000 } };

const filesOf = (names: readonly string[]): string[] => names.map((name) => `test/e2e/${name}.test.ts`);

const e2e = {
  expect: expectation,
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

/** Where the results are written as JSON too: `npm run check -- --report`. */
const REPORT = process.env["ONCEWAY_REPORT"];
const JSON_REPORT = ["json", { outputFile: REPORT }] as const satisfies [string, unknown];

export default defineConfig({
  test: {
    maxWorkers: 2,
    // What a test logs is shown if it fails.
    silent: "passed-only",
    reporters: [new RuntimeErrors(), new SkippedPrograms(), "default", ...(REPORT === undefined ? [] : [JSON_REPORT])],

    tags: [...PROGRAM_TAGS],
    projects: [
      {
        // The pure parts, and what runs in Node: no platform needed.
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts", "test/property/**/*.test.ts", "test/simulation/**/*.test.ts"],
          testTimeout: 30_000,
          expect: expectation,
        },
      },
      {
        // What needs storage, alarms and objects: inside workerd, one for each file, since some count the memory of its isolate.
        plugins: [cloudflareTest({ wrangler: { configPath: "./test/integration/wrangler.toml" } })],
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          testTimeout: 30_000,
          expect: expectation,
          // itty-durable mixes module systems.
          deps: { optimizer: { ssr: { enabled: true, include: ["itty-durable"] } } },
        },
      },
      {
        // The whole gateway in a process of its own, in front of an origin in another.
        test: { ...e2e, name: "e2e", include: ["test/e2e/**/*.test.ts"], exclude: filesOf(ONLY_LONG) },
      },
      {
        // test/support/long.ts says what the variable means.
        test: {
          ...e2e,
          name: "long",
          include: ["test/simulation/simulation.test.ts", ...filesOf([...SHORTENED, ...ONLY_LONG])],
          env: { ONCEWAY_LONG: "1" },
          // After the others: some of these fill memory and both cores, and others have timeouts of a second.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
