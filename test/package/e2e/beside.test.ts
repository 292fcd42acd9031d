// The archive beside what its users have: older wranglers, a Hono application with an older Hono, and its tests in plain vitest and in
// Cloudflare's plugin, with the configurations that the page prints.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blockWith } from "../../support/docs.ts";
import { emptyProject } from "../../support/e2e/installed-project.ts";
import { projectDir } from "../../support/wrangler.ts";

const PAGE = "src/package/README.md";
const QUIET = ["--no-audit", "--no-fund", "--prefer-offline"];

let project: Awaited<ReturnType<typeof emptyProject>>;
beforeAll(async () => {
  project = await emptyProject();
}, 300_000);
afterAll(() => project.remove());

async function write(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(project.dir, name)), { recursive: true });
  await writeFile(join(project.dir, name), text);
}

async function installed(name: string): Promise<string> {
  const text = await readFile(join(project.dir, "node_modules", name, "package.json"), "utf8");
  return v.parse(v.object({ version: v.string() }), JSON.parse(text)).version;
}

const { devDependencies: own } = v.parse(
  v.object({ devDependencies: v.record(v.string(), v.string()) }),
  JSON.parse(await readFile(join(projectDir, "package.json"), "utf8")),
);

// Each step needs the one before it.
describe("beside other versions", { timeout: 300_000 }, () => {
  it.each(["4.120.0", "4.155.0", "latest"])("is installed beside wrangler %s without --force", async (version) => {
    await write("package.json", '{ "name": "app", "type": "module", "private": true }\n');
    await project.run("npm", "install", ...QUIET, project.archive, `wrangler@${version}`, "--ignore-scripts");
    if (version !== "latest") expect(await installed("wrangler")).toBe(version);
    expect(await project.run("npx", "onceway", "--version")).toBe("0.1.0\n");
    // The client's users need nothing else.
    expect(await project.run("node", "--input-type=module", "-e", "import 'onceway/client'")).toBe("");
  });

  it("says that wrangler 4.120 cannot run what init has written", async () => {
    await project.run("npm", "install", ...QUIET, "wrangler@4.120.0", "--ignore-scripts");
    await write("old/wrangler.toml", await readFile(join(projectDir, "wrangler.toml"), "utf8"));
    const checked = await project.run("npx", "onceway", "check", "--json", "old/wrangler.toml").catch(String);
    expect(checked).toContain("wrangler 4.120.0, which is installed here, knows the platform until ");
  });
});

describe("a Hono application of last year, and its tests", { timeout: 300_000 }, () => {
  const block = (text: string): string => blockWith(PAGE, text);

  it("is made as the page says", async () => {
    await write("package.json", '{ "name": "app", "type": "module", "private": true }\n');
    const tools = ["wrangler", "vitest", "@cloudflare/vitest-plugin", "node"].map((name) => `${name}@${own[name]}`);
    await project.run("npm", "install", ...QUIET, project.archive, "hono@4.6.0", ...tools);
    expect(await installed("hono")).toBe("4.6.0");
    await write("src/index.ts", block("app.use(idempotency())"));
    const head = (await readFile(join(projectDir, "wrangler.toml"), "utf8")).split("\n[vars")[0] ?? "";
    await write(
      "wrangler.toml",
      `${head.replace(/^main = .*$/m, 'main = "src/index.ts"')}\n${block('entrypoint = "Origin"')}`,
    );
    await write("vitest.config.ts", block("plain.test.ts"));
    await write("vitest.workers.config.ts", block("workers.test.ts"));
    await write("test/plain.test.ts", block("app.request"));
    await write("test/workers.test.ts", block("exports.default.fetch"));
  });

  it("is tested in plain vitest, where nothing is protected", async () => {
    expect(await project.run("npx", "vitest", "run")).toMatch(/Tests.* 1 passed/);
  });

  it("is tested in workerd, where a retry gets the first answer", async () => {
    const printed = await project.run(
      "npx",
      "vitest",
      "run",
      "--config",
      "vitest.workers.config.ts",
      "--testTimeout",
      "60000",
    );
    expect(printed).toMatch(/Tests.* 1 passed/);
  });

  it("has Hono once in its bundle", async () => {
    await project.run("npx", "wrangler", "deploy", "--dry-run", "--outdir", "out", "--metafile", "out/meta.json");
    const { inputs } = v.parse(
      v.object({ inputs: v.record(v.string(), v.unknown()) }),
      JSON.parse(await readFile(join(project.dir, "out/meta.json"), "utf8")),
    );
    expect(Object.keys(inputs).filter((path) => path.endsWith("/hono/dist/hono-base.js"))).toHaveLength(1);
  });
});
