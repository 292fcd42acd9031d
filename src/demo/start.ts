// `npm start`: the gateway on this machine, in front of the demo's own origin, or of the API that ORIGIN names. Prints
// what to try. Ends what it started, and only that, on Ctrl-C or when wrangler ends. Its records belong to one at a time.

import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { lockState, NoFlock, type StateLock } from "../serve/state-lock.ts";
import { demoConfiguration, demoSecrets } from "./configuration.ts";
import { demoExamples, ownOriginExamples } from "./examples.ts";
import { startDemoOrigin } from "./origin.ts";
import type { DemoOrigin } from "./origin.ts";
import { isReachable, nextFreePort } from "./ports.ts";
import { startWranglerDev } from "./wrangler-dev.ts";

const GATEWAY_PORT = 8787;
const ORIGIN_PORT = 8788;
const REACH_MS = 2_000;

const projectDir = fileURLToPath(new URL("../../", import.meta.url));

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

/** Null: the demo's own origin. */
function readOrigin(given: string | undefined): URL | null {
  if (given === undefined || given === "") return null;
  const url = URL.parse(given);
  const isUsable = url !== null && /^https?:$/.test(url.protocol);
  if (!isUsable || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    return fail(
      `ORIGIN must be an http or https URL with no more than a path, such as http://127.0.0.1:3000, and not ${JSON.stringify(given)}.`,
    );
  }
  return url;
}

function readPort(given: string | undefined): number {
  if (given === undefined || given === "") return GATEWAY_PORT;
  const port = Number(given);
  if (!/^\d+$/.test(given) || port < 1 || port > 65_535)
    return fail(`PORT must be a number from 1 to 65535, and not ${JSON.stringify(given)}.`);
  return port;
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === "https:" ? 443 : 80);
}

/** Null where the machine has no `flock` (as macOS has none): then nobody is kept from starting twice. */
function lockOrEnd(dir: string): StateLock | null {
  try {
    return lockState(dir, "give this one a folder of its own: STATE=.wrangler/second npm start");
  } catch (error) {
    if (!(error instanceof NoFlock)) return fail(error instanceof Error ? error.message : String(error));
    process.stderr.write(`Warning: ${dir} cannot be locked (no flock here). Do not start a second one on it.\n`);
    return null;
  }
}

function findPort(wanted: number, spokenFor: readonly number[]): Promise<number> {
  return nextFreePort(wanted, spokenFor).catch((error) => fail(`${String(error)}. Name a lower one with PORT=….`));
}

const ownOrigin = readOrigin(process.env["ORIGIN"]);
const wantedPort = readPort(process.env["PORT"]);
// Never the origin's own port, even while nobody listens there: the gateway would stand in front of itself.
const port = await findPort(wantedPort, ownOrigin === null ? [] : [portOf(ownOrigin)]);
const originPort = ownOrigin === null ? await findPort(ORIGIN_PORT, [port]) : portOf(ownOrigin);
const originUrl = ownOrigin?.href.replace(/\/$/, "") ?? `http://127.0.0.1:${originPort}`;

const urls = { gateway: `http://127.0.0.1:${port}`, origin: originUrl, suffix: randomBytes(3).toString("hex") };
const examples = ownOrigin === null ? demoExamples(urls) : ownOriginExamples(urls);

// Each origin has its own records: an answer of one must not be replayed for another.
const stateName = ownOrigin === null ? "demo" : originUrl.replaceAll(/[^a-z0-9.-]+/gi, "_");
const wranglerDir = join(projectDir, ".wrangler");
const givenState = process.env["STATE"] ?? "";
const stateDir = join(givenState === "" ? join(wranglerDir, "demo-state") : resolve(givenState), stateName);
await mkdir(stateDir, { recursive: true });
const lock = lockOrEnd(stateDir);
lock?.note(`the npm start at ${urls.gateway}, process ${process.pid}`);

let demoOrigin: DemoOrigin | null = null;
if (ownOrigin === null) {
  demoOrigin = await startDemoOrigin({ port: originPort, examples }).catch((error) =>
    fail(`The demo API cannot listen on port ${originPort}: ${String(error)}. Start again, and another port is taken.`),
  );
} else if (!(await isReachable(ownOrigin.hostname.replace(/^\[|\]$/g, ""), originPort, REACH_MS))) {
  process.stderr.write(`Warning: nobody answers at ${originUrl} yet. The gateway starts all the same.\n`);
}

await mkdir(wranglerDir, { recursive: true });
const workDir = await mkdtemp(join(wranglerDir, "demo-"));
const configPath = join(workDir, "wrangler.toml");
await writeFile(configPath, demoConfiguration({ projectDir, originUrl, isOwnOrigin: ownOrigin !== null }));
process.stdout.write(
  port === wantedPort ? "Starting the gateway …\n" : `Port ${wantedPort} is taken. Starting the gateway on ${port} …\n`,
);
// Where wrangler looks for secrets: beside the configuration. A token that nobody chose is another at every start.
const given = process.env["ADMIN_TOKEN"] ?? "";
const adminToken = given === "" ? randomBytes(16).toString("hex") : given;
await writeFile(join(workDir, ".dev.vars"), demoSecrets({ ...process.env, ADMIN_TOKEN: adminToken }), { mode: 0o600 });
const wrangler = startWranglerDev({ projectDir, configPath, stateDir, port, lockFd: lock?.fd ?? null });
lock?.note(`the npm start at ${urls.gateway}, process ${process.pid} and its wrangler, process ${wrangler.pid}`);

const stopping = new AbortController();
function stop(): void {
  if (stopping.signal.aborted) return;
  stopping.abort();
  void wrangler.stop();
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
// Whoever read what it prints has gone (`npm start | head`): without this the gateway would stay behind.
process.stdout.on("error", stop);

if (await wrangler.ready()) {
  process.stdout.write(`
Onceway   ${urls.gateway}
in front of ${originUrl}
console   ${urls.gateway}/_onceway
token     ${given === "" ? adminToken : "ADMIN_TOKEN, as given"}

${examples}

Ctrl-C ends it. Requests:

`);
} else if (!stopping.signal.aborted) {
  process.stderr.write(`${wrangler.startOutput()}\nwrangler ended before the gateway answered.\n`);
}

const code = await wrangler.exited;
await demoOrigin?.close();
await rm(workDir, { recursive: true, force: true });
process.exit(stopping.signal.aborted ? 0 : code);
