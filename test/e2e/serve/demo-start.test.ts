// `npm start` as a user runs it, in processes of their own: two of them never write into one state.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { freshKey } from "../../support/http.ts";
import { freePort } from "../../support/ports.ts";
import { projectDir } from "../../support/wrangler.ts";
import { clientOf, until } from "../support/scene.ts";

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

function start(state: string, port: number): Demo {
  const child = spawn(join(projectDir, "node_modules/.bin/node"), ["src/demo/start.ts"], {
    cwd: projectDir,
    env: { ...process.env, NODE_OPTIONS: "", ORIGIN: "", ADMIN_TOKEN: "", STATE: state, PORT: String(port) },
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
  const message = { path: "/v1/payments", key: freshKey(), headers: [["Content-Type", "application/json"]] as const };
  const answer = await clientOf(url).send(message);
  expect(answer.status).toBe(201);

  const second = start(state, port);
  expect(await second.exited).toBe(2);
  expect(second.output()).toContain(`is in use by the npm start at ${url}, process `);
  expect(second.output()).toContain("stop that one, or give this one a folder of its own: STATE=");
  expect((await clientOf(url).send(message)).body).toEqual(answer.body);

  // With its own folder it runs beside the first on the next free port, and says so.
  const third = start(await stateFolder(), port);
  expect(await third.url()).not.toBe(url);
  expect(third.output()).toContain(`Port ${port} is taken. Starting the gateway on `);
  expect(await third.end()).toBe(0);

  // The lock ends with its holder.
  expect(await first.end()).toBe(0);
  const again = start(state, port);
  expect((await clientOf(await again.url()).send(message)).body).toEqual(answer.body);
  expect(await again.end()).toBe(0);
});
