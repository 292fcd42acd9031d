// `npm start`: runs the gateway on this machine, in front of the demo's own origin or of the API that ORIGIN names, and prints
// commands to try. It ends everything that it started on Ctrl-C or when wrangler ends. Only one may use a state folder at a time.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { reachOrigin } from "../cli/reach-origin.ts";
import { lockState, NoFlock, type StateLock } from "../serve/state-lock.ts";
import { demoConfiguration, demoSecrets } from "./configuration.ts";
import { demoExamples, firstExamples, ownOriginExamples } from "./examples.ts";
import { type RunningDemo, startDemo } from "./demo.ts";
import { startWranglerDev } from "./wrangler-dev.ts";

const GATEWAY_PORT = 8787;
const ORIGIN_PORT = 8788;
const PAGE_PORT = 8789;
const LOOK_FOR_PARENT_MS = 500;

const projectDir = fileURLToPath(new URL("../../", import.meta.url));

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

/** `null`: the demo's own origin. */
function readOrigin(given: string | undefined): URL | null {
  if (given === undefined || given === "") return null;
  const url = URL.parse(given);
  const isUsable = url !== null && /^https?:$/.test(url.protocol);
  if (!isUsable || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    return fail(
      `ORIGIN must be an http or https URL without query, fragment or credentials, such as http://127.0.0.1:3000, not ${JSON.stringify(given)}.`,
    );
  }
  return url;
}

function readPort(given: string | undefined): number {
  if (given === undefined || given === "") return GATEWAY_PORT;
  const port = Number(given);
  if (!/^\d+$/.test(given) || port < 1 || port > 65_535)
    return fail(`PORT must be a number from 1 to 65535, not ${JSON.stringify(given)}.`);
  return port;
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === "https:" ? 443 : 80);
}

/** `null` if the machine has no `flock` (macOS has none); then nothing prevents a second start on the same folder. */
function lockOrExit(dir: string): StateLock | null {
  try {
    return lockState(dir, "use another folder: STATE=.wrangler/second npm start");
  } catch (error) {
    if (!(error instanceof NoFlock)) return fail(error instanceof Error ? error.message : String(error));
    process.stderr.write(
      `Warning: cannot lock ${dir}, because this machine has no flock. Do not start a second gateway on this folder.\n`,
    );
    return null;
  }
}

/** The wanted loopback port, or the next one that is free. Skips the `reserved` ports, even while nothing listens on them. */
async function findPort(wanted: number, reserved: readonly number[]): Promise<number> {
  for (let candidate = wanted; candidate <= 65_535; candidate += 1) {
    if (!reserved.includes(candidate) && (await isFree(candidate))) return candidate;
  }
  return fail(`There is no free port from ${wanted} on. Choose a lower one with PORT=….`);
}

function isFree(candidate: number): Promise<boolean> {
  const server = createServer();
  return new Promise((done) => {
    server.once("error", () => done(false));
    server.listen(candidate, "127.0.0.1", () => server.close(() => done(true)));
  });
}

/** The parent and, where the system says so (Linux), its parent. */
function parents(): string {
  try {
    // proc_pid_stat(5): pid (name) state ppid …; a name may contain anything.
    const [, grandparent = ""] =
      readFileSync(`/proc/${process.ppid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return `${process.ppid} ${grandparent}`;
  } catch {
    return String(process.ppid);
  }
}

const ownOrigin = readOrigin(process.env["ORIGIN"]);
const wantedPort = readPort(process.env["PORT"]);
// Never the origin's own port, even while nothing listens there: the gateway would become its own origin.
const port = await findPort(wantedPort, ownOrigin === null ? [] : [portOf(ownOrigin)]);
const originPort = ownOrigin === null ? await findPort(ORIGIN_PORT, [port]) : portOf(ownOrigin);
const originUrl = ownOrigin?.href.replace(/\/$/, "") ?? `http://127.0.0.1:${originPort}`;

const urls = { gateway: `http://127.0.0.1:${port}`, origin: originUrl, suffix: randomBytes(3).toString("hex") };
const isDemo = ownOrigin === null;

// Each origin has its own records, because a response of one must not be replayed for another.
const stateName = ownOrigin === null ? "demo" : originUrl.replaceAll(/[^a-z0-9.-]+/gi, "_");
const wranglerDir = join(projectDir, ".wrangler");
const givenState = process.env["STATE"] ?? "";
const stateDir = join(givenState === "" ? join(wranglerDir, "demo-state") : resolve(givenState), stateName);
await mkdir(stateDir, { recursive: true });
const lock = lockOrExit(stateDir);
lock?.note(`the npm start at ${urls.gateway}, process ${process.pid}`);

if (ownOrigin !== null && (await reachOrigin(ownOrigin)) !== null) {
  process.stderr.write(`Warning: nothing listens at ${originUrl} yet. The gateway starts anyway.\n`);
}

await mkdir(wranglerDir, { recursive: true });
const workDir = await mkdtemp(join(wranglerDir, "demo-"));
const configPath = join(workDir, "wrangler.toml");
// Without ADMIN_TOKEN, each start makes a new token.
const given = process.env["ADMIN_TOKEN"] ?? "";
const adminToken = given === "" ? randomBytes(16).toString("hex") : given;
let demo: RunningDemo | null = null;
if (ownOrigin === null) {
  const pagePort = await findPort(PAGE_PORT, [port, originPort]);
  const database = join(workDir, "origin.sqlite");
  demo = await startDemo({
    ports: { origin: originPort, page: pagePort },
    database,
    gateway: urls.gateway,
    adminToken,
    examples: demoExamples(urls),
  }).catch((error: unknown) =>
    fail(`The demo API or its page cannot start: ${String(error)}. Start again to use other ports.`),
  );
}
await writeFile(configPath, demoConfiguration({ projectDir, originUrl, routes: ownOrigin === null ? "demo" : "own" }));
process.stdout.write(
  port === wantedPort
    ? "Starting the gateway …\n"
    : `Port ${wantedPort} is in use. Starting the gateway on ${port} …\n`,
);
// wrangler reads secrets from .dev.vars beside the configuration.
await writeFile(join(workDir, ".dev.vars"), demoSecrets({ ...process.env, ADMIN_TOKEN: adminToken }), { mode: 0o600 });
const wrangler = startWranglerDev({
  projectDir,
  configPath,
  stateDir,
  port,
  lockFd: lock?.fd ?? null,
  showsRequests: true,
});
lock?.note(`the npm start at ${urls.gateway}, process ${process.pid} and its wrangler, process ${wrangler.pid}`);

const stopping = new AbortController();
function stop(): void {
  if (stopping.signal.aborted) return;
  stopping.abort();
  void wrangler.stop();
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
// npm may be killed without a word (SIGKILL, a closed terminal): then this process, or the shell that npm starts it in, has another parent.
const family = parents();
setInterval(() => {
  if (parents() !== family) stop();
}, LOOK_FOR_PARENT_MS).unref();
// The process that reads the output may end first (`npm start | head`). Without this, the gateway would keep running.
process.stdout.on("error", stop);

if (await wrangler.ready()) {
  // The addresses last: what comes before them scrolls away.
  process.stdout.write(`
${isDemo ? firstExamples(urls) : ownOriginExamples(urls)}

Onceway   ${urls.gateway}
in front of ${originUrl}${demo === null ? "" : `\ndemo page ${demo.pageUrl} (buttons that kill the API in the middle of a call, and more commands)`}
console   ${urls.gateway}/_onceway
token     ${given === "" ? adminToken : "the value of ADMIN_TOKEN"}

Press Ctrl-C to stop. Requests:

`);
} else if (!stopping.signal.aborted) {
  process.stderr.write(`${wrangler.startOutput()}\nwrangler ended before the gateway answered.\n`);
}

const code = await wrangler.exited;
await demo?.close();
await rm(workDir, { recursive: true, force: true });
process.exit(stopping.signal.aborted ? 0 : code);
