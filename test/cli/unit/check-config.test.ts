// `onceway check` as an operator runs it: its output and its exit code. What it says about wrong files is in check-output.test.ts.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { PROBLEM_CODES } from "../../../src/kernel/config/config-problem.ts";
import type { CommandOutcome } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { blockWith, readPage } from "../../support/docs.ts";
import { expectApproved, type Said } from "../../support/words.ts";
import { EXAMPLE_FILE, SOUND_FILE } from "./wrong-files.ts";
import { SOUND_JSON_FILE } from "./wrong-json-files.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const NODE = join(ROOT, "node_modules/.bin/node");

const check = (...args: readonly string[]): Promise<CommandOutcome> => callOnceway(["check", ...args]);

/** The whole output. */
function runScript(script: string, ...args: readonly string[]): Promise<string> {
  return promisify(execFile)(NODE, [join(ROOT, "src/cli", script), ...args], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"] },
  }).then(({ stdout, stderr }) => stdout + stderr);
}

describe("check", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "check-config-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The sound file with a program, its route with more settings. */
  function withMain(settings: string): string {
    write("worker.ts", 'export { default, KeyShard } from "onceway/worker";\n');
    return `main = "worker.ts"\n${SOUND_FILE}${settings}`;
  }

  function write(name: string, text: string): string {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  }

  it("accepts the wrangler.toml of this repository, shows what it protects, and notes that its origin is an example", async () => {
    const { code, stdout, stderr } = await check();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^note\[origin-placeholder\].*\n\n1 note\n$/s),
    });
    expect(stdout).toMatch(
      /\/v1\/payments\/\*\s+POST\s+https:\/\/api\.example\.com\s+required\s+header:authorization\s+hold\s+wait 10s\s+24h/,
    );
    expect(stdout).toMatch(/wrangler\.toml: fine, 4 protected routes in 1 environment\n$/);
  });

  it("shows every problem with its line, and exits with 1", async () => {
    const file = write("bad.toml", withMain('lock = "30s"\nkye = "optional"\n'));
    const { code, stdout, stderr } = await check(file);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(`error[settings-contradict]: ROUTES[0].lock: must exceed timeout (30s)
  --> ${file}:20:8
   |
20 | lock = "30s"
   |        ^^^^^
   |
help: write lock = "40s"
   |
20 | lock = "40s"
   |        ~~~~~

error[setting-unknown]: ROUTES[0].kye: unknown setting
  --> ${file}:21:1
   |
21 | kye = "optional"
   | ^^^
   |
help: did you mean "key"?
   |
21 | key = "optional"
   | ~~~

2 errors
`);
  });

  it("prints what its page shows", async () => {
    write("worker.ts", 'export { default, KeyShard } from "onceway/worker";\n');
    const file = write("wrangler.toml", `main = "worker.ts"\n${EXAMPLE_FILE}`);
    const { code, stderr } = await check(file);
    expect({ code, stderr: stderr.replaceAll(file, "wrangler.toml") }).toEqual({
      code: 1,
      stderr: blockWith("src/cli/findings/README.md", "error[route-unreachable]"),
    });
  });

  it("has the codes that its page explains", () => {
    const rows = [...readPage("src/cli/findings/README.md").text.matchAll(/^\| `([a-z]+-[a-z-]+)` \| (.*) \|$/gm)];
    expect(Object.fromEntries(rows.map(([, code, meaning]) => [code, meaning]))).toMatchObject(PROBLEM_CODES);
  });

  describe("with a warning", () => {
    const file = (): string => write("warning.toml", withMain('on_store_failure = "open"\n'));

    it("shows what is protected too, and exits with 0", async () => {
      const { code, stdout, stderr } = await check(file());
      expect(code).toBe(0);
      expect(stdout).toMatch(/fine, 1 protected route in 1 environment\n$/);
      expect(stderr).toMatch(/^warning\[protection-weakened\]: ROUTES\[0\]\.on_store_failure: .*\n1 warning\n$/s);
    });

    it("exits with 1 if warnings are denied", async () => {
      const { code, stderr } = await check(file(), "--deny-warnings");
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/\n1 warning\n$/) });
    });
  });

  it("prints JSON for scripts, with places that count from 1", async () => {
    const file = write("json.toml", withMain('lock = "30s"\non_store_failure = "open"\n'));
    const { code, stdout, stderr } = await check(file, "--json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const place = { file, line: 20, column: 8, endLine: 20, endColumn: 13 };
    expect(JSON.parse(stdout)).toEqual({
      file,
      ok: false,
      problems: [
        {
          ...place,
          severity: "error",
          code: "settings-contradict",
          path: "ROUTES[0].lock",
          message: "must exceed timeout (30s)",
          help: 'write lock = "40s"',
          related: [],
          fix: { line: 20, column: 8, endLine: 20, endColumn: 13, text: '"40s"' },
        },
      ],
      environments: [
        {
          name: null,
          routes: null,
          queues: null, // feature: queues
          consumers: null, // feature: claims
        },
      ],
    });
  });

  it("prints annotations for GitHub", async () => {
    const file = write("github.toml", withMain('lock = "30s"\n'));
    const { code, stdout, stderr } = await check(file, "--github");
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: `::error file=${file},line=20,endLine=20,col=8,endColumn=12,title=settings-contradict::ROUTES[0].lock: must exceed timeout (30s)%0Ahelp: write lock = "40s"\n`,
      stderr: "",
    });
  });

  it("has colours only where they are wanted", async () => {
    const file = write("colour.toml", withMain('lock = "30s"\n'));
    const red = "\u001b[31merror[settings-contradict]\u001b[39m";
    const plain = await check(file, "--color", "never");
    const painted = await check(file, "--color", "always");
    expect((await check(file)).stderr).toBe(plain.stderr);
    expect(plain.stderr).not.toContain("\u001b");
    expect(painted.stderr).toContain(red);
    // oxlint-disable-next-line no-control-regex -- these are what a terminal takes as colours.
    expect(painted.stderr.replaceAll(/\u001b\[\d+m/g, "")).toBe(plain.stderr);
  });

  it("prints what its page shows of a wrangler.jsonc", async () => {
    const route = '{ "path": "/v1/payments", "timeout": "2m", "lock": "50s" }, // money';
    const text = SOUND_JSON_FILE.replace(/\{ "path".*/, route).replace('"name"', '"main": "./main.ts",\n  "name"');
    const file = join(mkdtempSync(join(folder, "json-")), "wrangler.jsonc");
    writeFileSync(join(file, "../main.ts"), 'export { default, KeyShard } from "onceway/worker";\n');
    writeFileSync(file, text);
    const { code, stderr } = await check(file);
    expect(code).toBe(1);
    const [first = ""] = stderr.replaceAll(file, "wrangler.jsonc").split("\n\n");
    expect(`${first}\n`).toBe(blockWith("src/cli/findings/README.md", "// money"));
  });
});

const EXPORTS_IT = 'export { default, KeyShard } from "onceway/worker";\n';
const OWN = `main = "main.ts"\n${SOUND_FILE}`;
const JSON_FILE = SOUND_JSON_FILE.replace("{", '{ "main": "main.ts",');
const ENVIRONMENTS = `${OWN}\n[env.staging.vars.IDEMPOTENCY]\nlok = 1\n[env.prod]\n`;

/** What is beside a file, and around it. */
const SCENES: readonly (readonly [
  what: string,
  files: Readonly<Record<string, string>>,
  ...args: readonly string[],
])[] = [
  ["no main", { "wrangler.toml": SOUND_FILE }],
  ["a main that is not there", { "wrangler.toml": OWN }],
  [
    "a main without the class",
    { "wrangler.toml": OWN, "main.ts": "export default { fetch: () => new Response() };\n" },
  ],
  ["a main with it", { "wrangler.toml": OWN, "main.ts": EXPORTS_IT }],
  ["a main with all of another", { "wrangler.toml": OWN, "main.ts": 'export * from "onceway/worker";\n' }],
  ["several environments", { "wrangler.toml": ENVIRONMENTS, "main.ts": EXPORTS_IT }],
  ["one of them", { "wrangler.toml": ENVIRONMENTS, "main.ts": EXPORTS_IT }, "--env", "prod"],
  ["a misspelt one", { "wrangler.toml": ENVIRONMENTS, "main.ts": EXPORTS_IT }, "--env", "stagin"],
  ["no TOML", { "wrangler.toml": 'name = "x"\n[vars\n' }],
  ["TOML beside JSON", { "wrangler.toml": OWN, "wrangler.jsonc": JSON_FILE, "main.ts": EXPORTS_IT }, "wrangler.toml"],
  ["JSON beside TOML", { "wrangler.toml": OWN, "wrangler.jsonc": JSON_FILE, "main.ts": EXPORTS_IT }, "wrangler.jsonc"],
  // Wrangler looks for JSON in all folders above before it looks for TOML.
  [
    "TOML below JSON",
    { "a/wrangler.toml": OWN, "wrangler.jsonc": JSON_FILE, "a/main.ts": EXPORTS_IT },
    "a/wrangler.toml",
  ],
];

it("check says of what is beside a file what is approved", async () => {
  const home = process.cwd();
  const parent = mkdtempSync(join(tmpdir(), "onceway-check-"));
  onTestFinished(() => {
    process.chdir(home);
    rmSync(parent, { recursive: true });
  });
  const said: Said[] = [];
  for (const [what, files, ...args] of SCENES) {
    const folder = mkdtempSync(join(parent, "project-"));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    process.chdir(folder);
    const { code, stdout, stderr } = await check(...args);
    said.push({ asked: [what, ...args].join(" "), words: `${stdout}${stderr}\nexit ${code}` });
  }
  await expectApproved("check-surroundings", said);
});

it("write-schema finds the schema and the table of settings up to date", async () => {
  expect(await runScript("write-schema.ts", "--check")).toBe("");
});
