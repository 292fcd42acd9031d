// `npm create cloudflare` on the template, by that program itself: the project that comes out checks, starts and replays. It fetches templates
// from GitHub and its like only, so Git is told that a repository there is one on this machine.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { freePort, untilAnswers } from "../../support/ports.ts";
import { projectDir } from "../../support/wrangler.ts";
import { projectWithOrigin } from "../../support/e2e/installed-project.ts";

const exec = promisify(execFile);

const { project, origin } = projectWithOrigin();

/** The template as a repository, with the archive in place of a package that is in no registry; the path of Git's configuration. */
async function publish(home: string): Promise<string> {
  const repository = join(home, "remotes/acme/gateway-template");
  await cp(join(projectDir, "template"), repository, { recursive: true });
  const manifest = join(repository, "package.json");
  const text = await readFile(manifest, "utf8");
  await writeFile(manifest, text.replace(/("onceway": )".*"/, `$1"file:${project().archive}"`));
  const config = join(home, "gitconfig");
  await writeFile(
    config,
    `[user]\nname = a\nemail = a@b.invalid\n[url "file://${home}/remotes/"]\ninsteadOf = git@github.com:\n`,
  );
  const git = (...args: readonly string[]) =>
    exec("git", args, { cwd: repository, env: { ...process.env, GIT_CONFIG_GLOBAL: config } });
  await git("init", "--quiet");
  await git("add", "--all");
  await git("commit", "--quiet", "--message", "template");
  return config;
}

describe("npm create cloudflare", { timeout: 600_000 }, () => {
  it("makes a project of the template that checks, starts and replays", async () => {
    const home = dirname(project().dir);
    const config = await publish(home);
    const answers = [
      "--category",
      "remote-template",
      "--template-mode",
      "git",
      "--no-deploy",
      "--no-git",
      "--no-agents",
    ];
    const create = join(projectDir, "node_modules/create-cloudflare/dist/cli.js");
    const env = [`GIT_CONFIG_GLOBAL=${config}`, "CREATE_CLOUDFLARE_TELEMETRY_DISABLED=1", "CI=1"];
    const node = join(projectDir, "node_modules/.bin/node");
    await mkdir(project().dir, { recursive: true });
    await project().run("env", ...env, node, create, "made", "--template", "acme/gateway-template", ...answers);
    const made = join(project().dir, "made");
    expect(JSON.parse(await readFile(join(made, "package.json"), "utf8"))).toMatchObject({ name: "made" });
    const file = join(made, "wrangler.toml");
    const text = await readFile(file, "utf8");
    expect(text).toMatch(/^name = "made"$/m);
    await writeFile(file, text.replace("https://api.example.com", origin().url));

    const inMade = ["env", "-C", made] as const;
    expect(await project().run(...inMade, "npm", "run", "-s", "check")).toContain("fine, 1 protected route");
    const port = await freePort();
    const tools = join(projectDir, "node_modules/node/bin");
    const ports = ["--port", String(port), "--inspector-port", String(await freePort())];
    const path = `PATH=${tools}:${process.env["PATH"] ?? ""}`;
    const dev = await project().start(...inMade, path, "npx", "wrangler", "dev", ...ports);
    try {
      const failure = (): string | null => (dev.hasExited() ? dev.output() : null);
      await untilAnswers({ port, path: "/.well-known/idempotency", timeoutMs: 90_000, failure });
      const url = `http://127.0.0.1:${port}/v1/payments`;
      const tried = await project().run(...inMade, "npx", "onceway", "try", url, "--data", "{}", "--yes");
      expect(tried).toContain("got the first one's answer, byte for byte");
      expect(await origin().requests()).toHaveLength(1);
    } finally {
      await dev.stop();
    }
  });
});
