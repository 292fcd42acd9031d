// `npm start` as a user runs it, in processes of their own: two of them never write into one state; and the commands that the docs
// print for it run as they stand there, but for the address. One demo at a time: each takes the next free ports.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { blockWith } from "../../support/docs.ts";
import { freshKey } from "../../support/http.ts";
import { startOrigin } from "../../support/origin.ts";
import { freePort } from "../../support/ports.ts";
import { programPath } from "../../support/programs.ts";
import { projectDir } from "../../support/wrangler.ts";
import { clientOf, until } from "../../support/e2e/scene.ts";

interface Demo {
  readonly output: () => string;
  readonly exited: Promise<number | null>;
  /** The gateway's URL, once it has said so. */
  readonly url: () => Promise<string>;
  readonly end: () => Promise<number | null>;
}

const running: ChildProcess[] = [];
const folders: string[] = [];
afterEach(async () => {
  // Each ends what it has started.
  for (const child of running.splice(0)) {
    if (child.exitCode === null && child.signalCode === null && child.kill("SIGTERM")) await once(child, "exit");
  }
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

function start(state: string, port: number, env: Readonly<Record<string, string>> = {}): Demo {
  const child = spawn(join(projectDir, "node_modules/.bin/node"), ["src/demo/start.ts"], {
    cwd: projectDir,
    env: { ...process.env, NODE_OPTIONS: "", ORIGIN: "", ADMIN_TOKEN: "", STATE: state, PORT: String(port), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (output += bytes.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    output: () => output,
    exited,
    url: () =>
      until(
        () => Promise.resolve(/^Onceway {3}(\S+)$/m.exec(output)?.[1] ?? null),
        `the gateway of npm start:\n${output}`,
        60_000,
      ),
    end: () => {
      child.kill("SIGINT");
      return exited;
    },
  };
}

async function stateFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "onceway-demo-"));
  folders.push(folder);
  return folder;
}

it("runs once per state folder: a second one says who uses it and what to do, and harms nothing", async () => {
  const state = await stateFolder();
  const port = await freePort();
  const first = start(state, port);
  const url = await first.url();
  // A small terminal shows the addresses, which come last.
  const printed = first.output().slice(first.output().indexOf("# First request"));
  expect(printed.split("\n").length).toBeLessThanOrEqual(24);
  expect(printed.indexOf("curl")).toBeLessThan(printed.indexOf("Onceway   "));
  const message = { path: "/v1/payments", key: freshKey(), headers: [["Content-Type", "application/json"]] as const };
  const answer = await clientOf(url).send(message);
  expect(answer.status).toBe(201);

  const second = start(state, port);
  expect(await second.exited).toBe(2);
  expect(second.output()).toContain(`is in use by the npm start at ${url}, process `);
  expect(second.output()).toContain("stop it, or use another folder: STATE=");
  expect((await clientOf(url).send(message)).body).toEqual(answer.body);

  // With its own folder it runs beside the first on the next free port, and says so.
  const third = start(await stateFolder(), port);
  expect(await third.url()).not.toBe(url);
  expect(third.output()).toContain(`Port ${port} is in use. Starting the gateway on `);
  expect(await third.end()).toBe(0);

  // The lock ends with its holder.
  expect(await first.end()).toBe(0);
  const again = start(state, port);
  expect((await clientOf(await again.url()).send(message)).body).toEqual(answer.body);
  expect(await again.end()).toBe(0);
});

it("ends with all its processes when npm is killed", async () => {
  const state = await stateFolder();
  const port = await freePort();
  const npm = spawn("npm", ["start"], {
    cwd: projectDir,
    env: { ...process.env, NODE_OPTIONS: "", ORIGIN: "", ADMIN_TOKEN: "", STATE: state, PORT: String(port) },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let output = "";
  npm.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()));
  // The pipe ends with the last process that holds it.
  const ended = once(npm.stdout, "end");
  await until(() => Promise.resolve(output.includes("Press Ctrl-C") ? true : null), `npm start:\n${output}`, 60_000);
  npm.kill("SIGKILL");
  await ended;
  // Of the API, of wrangler and of workerd, nothing answers any more.
  for (const url of output.match(/^(?:Onceway|in front of|demo page) +(\S+)/gm) ?? []) {
    await expect(fetch(/http\S+/.exec(url)?.[0] ?? "")).rejects.toThrow("fetch failed");
  }
  expect(output.match(/^(?:Onceway|in front of|demo page) +(\S+)/gm)).toHaveLength(3);
  // Its state may be used again.
  const again = start(state, port);
  await again.url();
  expect(await again.end()).toBe(0);
});

const OPERATING = "src/operator/README.md";

/** What `export` lines of a block set. */
function exportsOf(block: string): Readonly<Record<string, string>> {
  const lines = block.matchAll(/^export (\w+)=(\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
}

async function runBlock(block: string, url: string): Promise<string> {
  const script = `set -e\n${block.replaceAll("http://127.0.0.1:8787", url)}`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd: projectDir, timeout: 60_000 });
  return stdout;
}

describe("the documentation's commands", () => {
  it("find, preview, resolve and forget a record with curl, and prove a gateway with `npx onceway try`", async () => {
    const env = exportsOf(blockWith(OPERATING, "npm start"));
    const url = await start(await stateFolder(), await freePort(), env).url();

    const printed = (await runBlock(blockWith(OPERATING, "api()"), url)).split("\n").map((line) => line.trim());
    expect(printed.filter((line) => line !== "")).toEqual([
      expect.stringContaining("try again"),
      expect.stringContaining('"state":"failed"'),
      expect.stringContaining('"timeline"'),
      expect.stringContaining('"status":201'),
      expect.stringContaining('"state":"completed"'),
      "done",
      expect.not.stringContaining('"code"'),
      expect.stringContaining('"shards"'),
    ]);

    const tried = await runBlock(blockWith("src/cli/README.md", "npx onceway try http"), url);
    expect(tried).toContain("✓ The second request got the first one's answer, byte for byte");
    expect(tried).toContain("refused with 422 key-reused");
  });

  it("put the gateway in front of an API of one's own", async () => {
    const block = blockWith("src/demo/README.md", ":3000");
    const [, name = ""] = /^(\w+)=http:\/\/127\.0\.0\.1:3000 npm start$/m.exec(block) ?? [];
    const origin = await startOrigin();
    try {
      const url = await start(await stateFolder(), await freePort(), { [name]: origin.url }).url();
      const message = { path: "/anything", key: freshKey() };
      const first = await clientOf(url).send(message);
      expect((await clientOf(url).send(message)).body).toEqual(first.body);
      expect(await origin.effects(message.key)).toBe(1);
    } finally {
      await origin.close();
    }
  });

  it("scrape metrics: Prometheus reads the configuration", { tags: "needs/promtool" }, async () => {
    const file = join(await stateFolder(), "prometheus.yml");
    await writeFile(file, blockWith("src/kernel/traffic/README.md", "scrape_configs"));
    // Not the token's file, which is the reader's.
    const args = ["check", "config", "--syntax-only", file];
    const { stdout } = await promisify(execFile)(programPath("promtool"), args);
    expect(stdout).toContain("SUCCESS");
  });
});
