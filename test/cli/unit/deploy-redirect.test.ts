// A build tool has redirected Wrangler to a configuration of its own: which file that is, compared with Wrangler itself, and what
// `onceway check` says of it.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { unstable_readConfig } from "wrangler";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { redirectIn } from "../../../src/cli/checked-file.ts";
import { wranglerFileIn } from "../../../src/cli/wrangler-file.ts";
import type { CommandOutcome } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { SOUND_FILE } from "./wrong-files.ts";

const REDIRECT = ".wrangler/deploy/config.json";
const BUILT = "dist/gateway/wrangler.json";

let parent = "";
let folder = "";
beforeAll(() => {
  parent = realpathSync(mkdtempSync(join(tmpdir(), "deploy-redirect-")));
});
beforeEach(() => {
  folder = mkdtempSync(join(parent, "project-"));
});
afterAll(() => rmSync(parent, { recursive: true }));

function write(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

const toBuilt = JSON.stringify({ configPath: "../../dist/gateway/wrangler.json", auxiliaryWorkers: [] });
const own = `main = "main.ts"\n${SOUND_FILE}`;

/** Writes what the plugin for Vite does: the configuration as Wrangler reads it, with the program that was built. */
function build(environment?: string): void {
  const read = unstable_readConfig({
    config: join(folder, "wrangler.toml"),
    ...(environment === undefined ? {} : { env: environment }),
  });
  write(BUILT, JSON.stringify({ ...read, main: "index.js", no_bundle: true }));
  write("dist/gateway/index.js", "export { KeyShard, gateway as default };\n");
  write(REDIRECT, toBuilt);
}

describe("what is deployed", () => {
  it.each<[string, Readonly<Record<string, string>>, string]>([
    ["a project that is not built", { "wrangler.toml": own }, "."],
    ["a redirect", { "wrangler.toml": own, [BUILT]: "{}", [REDIRECT]: toBuilt }, "."],
    ["a redirect with a comment", { "wrangler.toml": own, [BUILT]: "{}", [REDIRECT]: `// built\n${toBuilt}` }, "."],
    ["a redirect with a byte order mark", { "wrangler.toml": own, [BUILT]: "{}", [REDIRECT]: `\uFEFF${toBuilt}` }, "."],
    [
      "a redirect to the project's own file",
      { "wrangler.toml": own, [REDIRECT]: '{"configPath":"../../wrangler.toml"}' },
      ".",
    ],
    [
      "a redirect in a folder above",
      { "wrangler.jsonc": "{}", [BUILT]: "{}", [REDIRECT]: toBuilt, "src/x": "" },
      "src",
    ],
    ["a redirect without a file of the project", { [BUILT]: "{}", [REDIRECT]: toBuilt }, "."],
    ["a redirect above the file", { "a/wrangler.toml": own, [BUILT]: "{}", [REDIRECT]: toBuilt }, "a"],
    [
      "a redirect below the file",
      { "wrangler.toml": own, "a/b": "", "a/dist/gateway/wrangler.json": "{}", [`a/${REDIRECT}`]: toBuilt },
      "a",
    ],
    ["a redirect to nothing", { "wrangler.toml": own, [REDIRECT]: toBuilt }, "."],
    ["a redirect that is no JSON", { "wrangler.toml": own, [REDIRECT]: "dist/wrangler.json" }, "."],
    ["a redirect that is empty", { "wrangler.toml": own, [REDIRECT]: "" }, "."],
    ["a redirect that names nothing", { "wrangler.toml": own, [REDIRECT]: "{}" }, "."],
    ["a redirect that names no text", { "wrangler.toml": own, [REDIRECT]: '{"configPath":""}' }, "."],
  ])("is what Wrangler says for %s", (_, files, where) => {
    for (const [name, text] of Object.entries(files)) write(name, text);
    const from = join(folder, where);
    let deployed: string | null = null;
    try {
      const config = unstable_readConfig(
        { script: join(from, "x.ts") },
        { useRedirectIfAvailable: true, hideWarnings: true },
      );
      deployed = config.configPath ?? null;
    } catch {
      // Wrangler deploys nothing.
    }
    const redirect = redirectIn(from);
    const file = redirect === null ? wranglerFileIn(from) : redirect.kind === "redirected" ? redirect.file : null;
    expect(file === null ? null : resolve(file)).toBe(deployed);
    if (redirect?.kind === "broken") expect(redirect.message).toMatch(/: build again, or remove it$/);
  });
});

describe("check", () => {
  const home = process.cwd();
  afterEach(() => process.chdir(home));

  function check(...args: readonly string[]): Promise<CommandOutcome> {
    process.chdir(folder);
    return callOnceway(["check", ...args]);
  }

  beforeEach(() => {
    write("main.ts", 'export { default, KeyShard } from "onceway/worker";\n');
    write("wrangler.toml", own);
  });

  it("checks the file that a build has made, and says which one that is", async () => {
    build();
    // Since the build.
    write("wrangler.toml", own.replace("/v1/payments", "/v1/orders"));
    const { code, stdout, stderr } = await check();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^note\[file-redirected\].*\n\n1 note\n$/s),
    });
    expect(stderr).toContain(
      `Wrangler deploys this file, which a build has made of wrangler.toml, because ${REDIRECT} names it`,
    );
    expect(stdout).toContain("/v1/payments");
    expect(stdout).toContain(`${BUILT}: fine, 1 protected route`);
  });

  it("shows what is wrong in it", async () => {
    write("wrangler.toml", own.replace('"/v1/payments"', '"/v1/payments"\nlock = "1s"'));
    build();
    write("wrangler.toml", own);
    const { code, stderr } = await check();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/error\[settings-contradict\].*\n +--> dist\/gateway\/wrangler\.json:/),
    ]);
  });

  it("says of a file that is named that Wrangler deploys another", async () => {
    build();
    const { code, stderr } = await check("wrangler.toml");
    expect(code).toBe(0);
    expect(stderr).toContain(`note[file-redirected]: Wrangler deploys ${BUILT}, which a build has made of this file`);
    // And nothing of the built one, which is named.
    expect(await check(BUILT)).toMatchObject({ code: 0, stderr: "" });
  });

  it("ends where Wrangler deploys nothing, and says so of a file that is named", async () => {
    write(REDIRECT, toBuilt);
    const reported = `Wrangler deploys nothing here, because ${REDIRECT} names ${BUILT}, which does not exist`;
    expect(await check()).toMatchObject({ code: 2, stdout: "", stderr: `${reported}: build again, or remove it\n` });
    expect(await check("wrangler.toml")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`warning[file-redirected]: ${reported}`),
    });
  });

  it("takes --env for the environment that was built, and refuses others and a file with several", async () => {
    const staging = own
      .slice(own.indexOf("[[durable"))
      .replaceAll("[[", "[[env.staging.")
      .replaceAll("\n[vars", "\n[env.staging.vars");
    write("wrangler.toml", own + staging.replace("/v1/payments", "/v1/staging"));
    build("staging");
    expect(await check("--env", "staging")).toMatchObject({ code: 0, stdout: expect.stringContaining("/v1/staging") });
    const other = await check("--env", "prod");
    expect([other.code, other.stderr]).toEqual([
      2,
      `${BUILT}, which Wrangler deploys here, was built for staging: build it for prod, or check what it is made of: npx onceway check wrangler.toml\n`,
    ]);
    write("dist/gateway/wrangler.json", '{ "name": "x", "main": "index.js", "env": { "staging": {} } }');
    const several = await check();
    expect([several.code, several.stderr]).toEqual([
      1,
      expect.stringContaining("Wrangler deploys no file with environments that a build has made"),
    ]);
  });
});
