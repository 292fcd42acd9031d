// The command line as an operator runs it: a real process, its output and its exit code.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const NODE = join(ROOT, "node_modules/.bin/node");

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(script: string, ...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(NODE, [join(ROOT, "src/cli", script), ...args], { cwd: ROOT }, (_, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}

describe("check-config", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "check-config-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function write(name: string, text: string): string {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  }

  it("accepts the wrangler.toml of this repository and shows what it protects", async () => {
    const { code, stdout, stderr } = await run("check-config.ts");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /\/v1\/payments\/\*\s+POST\s+https:\/\/api\.example\.com\s+required\s+header:authorization\s+hold\s+wait 10s\s+24h/,
    );
    expect(stdout).toMatch(/wrangler\.toml: fine, 4 protected routes in 1 environment\n$/);
  });

  it("names every problem on its own line and exits with 1", async () => {
    const sound = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
    const file = write(
      "bad.toml",
      sound.replace('lock = "150s"', 'lock = "50s"').replace('key = "optional"', 'kye = "optional"'),
    );
    const { code, stdout, stderr } = await run("check-config.ts", file);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.split("\n")).toEqual([
      `${file}: ROUTES[2].kye: unknown setting; did you mean "key"?`,
      `${file}: ROUTES[3].lock: must exceed timeout (2m): write lock = "130s"`,
      "2 problems",
      "",
    ]);
  });

  it("warns, and does not fail, if a route that asks the origin shares its records among credentials", async () => {
    const sound = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
    const route = 'path = "/v1/tenants"\nunknown = "verify"\nverify = "/v1/by-key/{key}"\nscope = ["header:x-tenant"]';
    const file = write("warning.toml", `${sound}\n[[vars.ROUTES]]\n${route}\n`);
    const { code, stdout, stderr } = await run("check-config.ts", file);
    expect(code).toBe(0);
    expect(stdout).toMatch(/fine, 5 protected routes in 1 environment\n$/);
    expect(stderr).toMatch(/^\S+: warning: ROUTES\[4\]\.scope: \(header:x-tenant\) names no credential.*\n$/);
    const { stdout: json } = await run("check-config.ts", file, "--json");
    expect(JSON.parse(json)).toMatchObject({ ok: true, problems: [], warnings: [{ path: "ROUTES[4].scope" }] });
  });

  it("checks only one environment with --env", async () => {
    const sound = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
    const file = write("env.toml", `${sound}\n[env.staging.vars.IDEMPOTENCY]\nlok = 1\n[env.prod]\n`);
    const all = await run("check-config.ts", file);
    const staging = await run("check-config.ts", file, "--env", "staging");
    const unknown = await run("check-config.ts", file, "--env", "nowhere");
    expect(all.stderr).toContain(`${file}: env.staging.ROUTES: environments do not inherit variables`);
    expect(all.stderr).toContain(`${file}: env.prod.ROUTES`);
    expect(staging.stderr).not.toContain("env.prod");
    expect([all.code, staging.code, unknown.code]).toEqual([1, 1, 2]);
  });

  it("says where the TOML is invalid", async () => {
    const file = write("syntax.toml", 'name = "x"\n[vars\n');
    const { code, stderr } = await run("check-config.ts", file);
    expect(code).toBe(1);
    expect(stderr).toMatch(/syntax\.toml:2:6: not valid TOML: .+\n1 problem\n$/);
  });

  it.each([[["no-such-file.toml"]], [["a.toml", "b.toml"]], [["--nonsense"]], [["src"]]])(
    "exits with 2 for %j",
    async (args) => {
      const { code, stdout, stderr } = await run("check-config.ts", ...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).not.toBe("");
    },
  );

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
