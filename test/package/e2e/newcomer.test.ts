// What a newcomer does with the package, from its archive alone. The steps are those of the README.

import { execFile } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { blockWith, readPage } from "../../support/docs.ts";
import { freshKey, headerValue } from "../../support/http.ts";
import { freePort, untilAnswers } from "../../support/ports.ts";
import type { ProcessGroup } from "../../support/process-group.ts";
import { projectWithOrigin } from "../../support/e2e/installed-project.ts";
import { projectDir } from "../../support/wrangler.ts";
import { type Client, clientOf } from "../../support/e2e/scene.ts";

const PAGE = "src/package/README.md";

const { project, origin } = projectWithOrigin();

async function until(port: number, group: ProcessGroup): Promise<void> {
  const failure = (): string | null => (group.hasExited() ? `it has ended:\n${group.output()}` : null);
  await untilAnswers({ port, path: "/.well-known/idempotency", timeoutMs: 90_000, failure });
}

// Each step needs the one before it.
describe("a newcomer", { timeout: 600_000 }, () => {
  it("installs the archive and makes a project, on the Node that the machine has", async () => {
    // What does not run on this Node is refused.
    await project().run(
      "npm",
      "install",
      "--engine-strict",
      "--no-audit",
      "--no-fund",
      "--prefer-offline",
      project().archive,
    );
    expect(await project().run("npx", "onceway", "--version")).toBe("0.1.0\n");
    const answers = ["--yes", "--name", "my-gateway", "--origin", origin().url, "--route", "/v1/payments/*"];
    const made = await project().run("npx", "onceway", "init", ".", ...answers);
    expect(made).toContain("npx wrangler dev");
    expect(await readFile(join(project().dir, "src/index.ts"), "utf8")).toMatch(
      /^export \{.*\} from "onceway\/worker";\n$/,
    );
    expect(JSON.parse(await readFile(join(project().dir, "package.json"), "utf8"))).toMatchObject({
      name: "my-gateway",
      dependencies: { onceway: "file:../onceway-0.1.0.tgz" },
    });
  });

  it("has about as many bytes as the page says", async () => {
    const [, packed, unpacked] = /\(([\d.]+) MB, ([\d.]+) MB unpacked/.exec(readPage(PAGE).text) ?? [];
    const { stdout } = await promisify(execFile)("tar", ["-xzOf", project().archive], {
      maxBuffer: 1e8,
      encoding: "buffer",
    });
    const sizes = [(await stat(project().archive)).size, stdout.length];
    for (const [index, said] of [packed, unpacked].entries()) {
      expect((sizes[index] ?? 0) / 1e6 / Number(said)).toBeCloseTo(1, 0.6);
    }
  });

  it("checks it, before anything else is installed", async () => {
    expect(await project().run("npx", "onceway", "check")).toContain("fine, 1 protected route in 1 environment");
  });

  it("installs wrangler, and bundles it for a deployment", async () => {
    await project().run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline");
    const bundled = await project().run("npx", "wrangler", "deploy", "--dry-run");
    expect(bundled).toContain("env.KEY_SHARD (KeyShard)");
    expect(bundled).toContain("--dry-run: exiting now.");
    expect(bundled).not.toMatch(/WARNING|ERROR/);
  });

  it("sends a first request and its replay through wrangler dev, and asks for the record", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const inspector = String(await freePort());
    const dev = await project().start("npx", "wrangler", "dev", "--port", String(port), "--inspector-port", inspector);
    try {
      await until(port, dev);
      const tried = await project().run("npx", "onceway", "try", `${url}/v1/payments`, "--data", "{}", "--yes");
      expect(tried).toContain("got the first one's answer, byte for byte");
      expect(await origin().requests()).toHaveLength(1);
      const token = /^ADMIN_TOKEN=(.*)$/m.exec(await readFile(join(project().dir, ".dev.vars"), "utf8"))?.[1] ?? "";
      const listed = await project().run(
        "env",
        `ONCEWAY_TOKEN=${token}`,
        "npx",
        "onceway",
        "records",
        "list",
        "--url",
        url,
      );
      expect(listed).toMatch(/completed +201/);
    } finally {
      await dev.stop();
    }
  });

  it("serves it on plain workerd", async () => {
    const port = await freePort();
    const serve = await project().start("npx", "onceway", "serve", "--port", String(port), "--secrets", ".dev.vars");
    try {
      await until(port, serve);
      const client = clientOf(`http://127.0.0.1:${port}`);
      expect((await client.send({ path: "/v1/payments", key: freshKey(), headers: CALLER })).status).toBe(201);
      expect(await project().run("npx", "onceway", "serve", "health", "--port", String(port))).toContain("healthy");
    } finally {
      await serve.stop();
    }
  });

  it("runs the Hono application of the page, and the page's Workers around `createOnceway`, type-checked", async () => {
    const toml = join(project().dir, "wrangler.toml");
    const text = (await readFile(toml, "utf8")).replace(/^origin = .*$/m, 'origin = { entrypoint = "Origin" }');
    await writeFile(toml, text);
    const hono = await serving("idempotency()", async (client) => {
      const key = freshKey();
      const first = await client.send({ path: "/v1/payments", key });
      const again = await client.send({ path: "/v1/payments", key });
      expect([first.status, again.body, headerValue(again, "idempotent-replayed")]).toEqual([201, first.body, "true"]);
      return (await client.send({ path: "/", method: "GET", body: null })).body.toString();
    });
    expect(hono).toBe("unprotected");

    await writeFile(toml, text.replace(/^origin = .*$/m, `origin = "${origin().url}"`));
    await serving("createOnceway({", async (client) => {
      expect((await client.send({ path: "/v1/payments", key: freshKey() })).status).toBe(201);
      expect((await client.send({ path: "/page" })).status).toBe(404);
    });
    await serving("...onceway", async (client) => {
      expect((await client.send({ path: "/v1/payments", key: freshKey() })).status).toBe(201);
      expect((await client.send({ path: "/page" })).status).toBe(201);
      expect((await client.send({ path: "/health" })).body.toString()).toBe("well");
    });
  });
});

/** Runs the Worker of the page that has this text. */
async function serving<T>(text: string, use: (client: Client) => Promise<T>): Promise<T> {
  await writeFile(join(project().dir, "src/index.ts"), blockWith(PAGE, text));
  await checkTypes();
  const port = await freePort();
  const serve = await project().start("npx", "onceway", "serve", "--port", String(port), "--state", ".onceway/page");
  try {
    await until(port, serve);
    return await use(clientOf(`http://127.0.0.1:${port}`));
  } finally {
    await serve.stop();
  }
}

/** As a strict project checks it, with the types that wrangler makes for it. */
async function checkTypes(): Promise<void> {
  await project().run("npx", "wrangler", "types");
  const options = {
    target: "ES2022",
    lib: ["ES2022"],
    module: "ESNext",
    moduleResolution: "bundler",
    strict: true,
    noEmit: true,
  };
  const config = { compilerOptions: { ...options, types: [] }, include: ["src", "worker-configuration.d.ts"] };
  await writeFile(join(project().dir, "tsconfig.json"), JSON.stringify(config));
  await project().run(join(projectDir, "node_modules/.bin/tsc"), "-p", ".");
}

const CALLER = [["Authorization", "Bearer one"]] as const;
