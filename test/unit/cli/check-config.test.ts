// The command line as an operator runs it: a real process, its output and its exit code.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { PROBLEM_CODES } from "../../../src/config/config-problem.ts";
import { blockWith, readPage } from "../../support/docs.ts";
import { EXAMPLE_FILE, SOUND_FILE } from "./wrong-files.ts";
import { SOUND_JSON_FILE } from "./wrong-json-files.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const NODE = join(ROOT, "node_modules/.bin/node");

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(script: string, ...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      NODE,
      [join(ROOT, "src/cli", script), ...args],
      { cwd: ROOT, env: { PATH: process.env["PATH"] } },
      (_, stdout, stderr) => {
        resolve({ code: child.exitCode ?? -1, stdout, stderr });
      },
    );
  });
}

describe("check-config", () => {
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
    const { code, stdout, stderr } = await run("check-config.ts");
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
    const { code, stdout, stderr } = await run("check-config.ts", file);
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
    const { code, stderr } = await run("onceway.ts", "check", file);
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
      const { code, stdout, stderr } = await run("check-config.ts", file());
      expect(code).toBe(0);
      expect(stdout).toMatch(/fine, 1 protected route in 1 environment\n$/);
      expect(stderr).toMatch(/^warning\[protection-weakened\]: ROUTES\[0\]\.on_store_failure: .*\n1 warning\n$/s);
    });

    it("exits with 1 if warnings are denied", async () => {
      const { code, stderr } = await run("check-config.ts", file(), "--deny-warnings");
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/\n1 warning\n$/) });
    });
  });

  it("prints JSON for scripts, with places that count from 1", async () => {
    const file = write("json.toml", withMain('lock = "30s"\non_store_failure = "open"\n'));
    const { code, stdout, stderr } = await run("check-config.ts", file, "--json");
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
      environments: [{ name: null, routes: null, queues: null, consumers: null }],
    });
  });

  it("prints annotations for GitHub", async () => {
    const file = write("github.toml", withMain('lock = "30s"\n'));
    const { code, stdout, stderr } = await run("check-config.ts", file, "--github");
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: `::error file=${file},line=20,endLine=20,col=8,endColumn=12,title=settings-contradict::ROUTES[0].lock: must exceed timeout (30s)%0Ahelp: write lock = "40s"\n`,
      stderr: "",
    });
  });

  it("has colours only where they are wanted", async () => {
    const file = write("colour.toml", withMain('lock = "30s"\n'));
    const red = "\u001b[31merror[settings-contradict]\u001b[39m";
    const plain = await run("check-config.ts", file, "--color", "never");
    const painted = await run("check-config.ts", file, "--color", "always");
    expect((await run("check-config.ts", file)).stderr).toBe(plain.stderr);
    expect(plain.stderr).not.toContain("\u001b");
    expect(painted.stderr).toContain(red);
    // oxlint-disable-next-line no-control-regex -- these are what a terminal takes as colours.
    expect(painted.stderr.replaceAll(/\u001b\[\d+m/g, "")).toBe(plain.stderr);
  });

  it.each([
    ["is missing", null, "error[main-invalid]: main: is missing", 1],
    ["is not there", "gone.ts", 'warning[main-invalid]: main: there is no file "gone.ts"', 0],
    ["exports no KeyShard", "other.ts", 'error[main-invalid]: main: "other.ts" exports no class KeyShard', 1],
    ["exports it", "worker.ts", "", 0],
    ["exports all of another", "all.ts", "", 0],
  ])("looks at the program: %s", async (_what, main, text, expected) => {
    write("other.ts", "export default { fetch: () => new Response() };\n");
    write("worker.ts", 'export { default, KeyShard } from "onceway/worker";\n');
    write("all.ts", 'export * from "onceway/worker";\n');
    const line = main === null ? "" : `main = "${main}"\n`;
    const { code, stderr } = await run("check-config.ts", write("main.toml", line + SOUND_FILE));
    expect(code).toBe(expected);
    if (text === "") expect(stderr).toBe("");
    else expect(stderr).toContain(text);
  });

  it("checks only one environment with --env", async () => {
    const sound = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
    const file = write("env.toml", `${sound}\n[env.staging.vars.IDEMPOTENCY]\nlok = 1\n[env.prod]\n`);
    const all = await run("check-config.ts", file);
    const near = await run("check-config.ts", file, "--env", "stagin");
    const staging = await run("check-config.ts", file, "--env", "staging");
    const unknown = await run("check-config.ts", file, "--env", "nowhere");
    expect(all.stderr).toContain(
      "error[environment-incomplete]: env.staging.ROUTES: environments do not inherit variables",
    );
    expect(all.stderr).toContain("env.prod.ROUTES");
    expect(near).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean --env staging?") });
    expect(staging.stderr).not.toContain("env.prod");
    expect([all.code, staging.code, unknown.code]).toEqual([1, 1, 2]);
  });

  it("says where the TOML is invalid", async () => {
    const file = write("syntax.toml", 'name = "x"\n[vars\n');
    const { code, stderr } = await run("check-config.ts", file);
    expect(code).toBe(1);
    expect(stderr).toBe(`error[toml-invalid]: the file is not valid TOML: illegal character in key
 --> ${file}:2:1
  |
2 | [vars
  | ^^^^^
  |
help: write [vars]
  |
2 | [vars]
  | ~~~~~~

1 error
`);
  });

  it.each([[["no-such-file.toml"]], [["a.toml", "b.toml"]], [["--nonsense"]], [["src"]]])(
    "exits with 2 for %j",
    async (args) => {
      const { code, stdout, stderr } = await run("check-config.ts", ...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).not.toBe("");
    },
  );

  it("prints what its page shows of a wrangler.jsonc", async () => {
    const route = '{ "path": "/v1/payments", "timeout": "2m", "lock": "50s" }, // money';
    const text = SOUND_JSON_FILE.replace(/\{ "path".*/, route).replace('"name"', '"main": "./main.ts",\n  "name"');
    const file = join(mkdtempSync(join(folder, "json-")), "wrangler.jsonc");
    writeFileSync(join(file, "../main.ts"), 'export { default, KeyShard } from "onceway/worker";\n');
    writeFileSync(file, text);
    const { code, stderr } = await run("check-config.ts", file);
    expect(code).toBe(1);
    const [first = ""] = stderr.replaceAll(file, "wrangler.jsonc").split("\n\n");
    expect(`${first}\n`).toBe(blockWith("src/cli/findings/README.md", "// money"));
  });

  it("checks what Wrangler reads, and says what it does not", { timeout: 90_000 }, async () => {
    const other = mkdtempSync(join(folder, "both-"));
    const toml = join(other, "wrangler.toml");
    const jsonc = join(other, "wrangler.jsonc");
    writeFileSync(toml, `main = "./main.ts"\n${SOUND_FILE}`);
    writeFileSync(join(other, "main.ts"), 'export * from "onceway/worker";\n');
    const alone = await run("check-config.ts", toml);
    expect(alone).toMatchObject({ code: 0, stderr: "" });
    writeFileSync(jsonc, SOUND_JSON_FILE.replace("{", '{ "main": "./main.ts",'));
    const unread = await run("check-config.ts", toml);
    expect(unread).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Wrangler reads the wrangler\.jsonc beside this file.*\n *--> \S+\.toml\n/),
    });
    const read = await run("check-config.ts", jsonc);
    expect(read).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Wrangler does not read the wrangler.toml beside this file"),
    });
    // Wrangler looks for JSON in all folders above before it looks for TOML.
    const below = join(other, "gateway");
    mkdirSync(below);
    writeFileSync(join(below, "wrangler.toml"), `main = "../main.ts"\n${SOUND_FILE}`);
    const nested = await run("check-config.ts", join(below, "wrangler.toml"));
    expect(nested).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/Wrangler reads .*wrangler\.jsonc instead/),
    });
  });

  it("explains itself with --help", async () => {
    const { code, stdout } = await run("check-config.ts", "--help");
    expect(code).toBe(0);
    expect(stdout).toContain("Usage: check-config [FILE]");
  });
});

describe("write-schema", () => {
  it("finds the schema and the table of settings up to date", async () => {
    expect(await run("write-schema.ts", "--check")).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});
