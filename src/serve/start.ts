// `npm run serve`: the gateway of wrangler.toml on plain workerd, with its records on this machine's disk. It only wires:
// check, lock, bundle, run. Starts nothing while the configuration has a problem.

import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { problemCount, readWranglerFile } from "../cli/wrangler-file.ts";
import { checkWranglerConfig } from "../config/check-file.ts";
import { describeConfig } from "../config/describe.ts";
import type { ConfigProblem } from "../config/resolved.ts";
import { bundleWorker } from "./bundle.ts";
import { unhealthy } from "./health.ts";
import { addressOf, readOptions, type ServeOptions, USAGE } from "./options.ts";
import { readSecrets, type Secrets } from "./secrets.ts";
import { listenerProblems, type SelfHosting, selfHosting } from "./self-hosting.ts";
import { lockState, type StateLock } from "./state-lock.ts";
import { stopSignals } from "./stop-signals.ts";
import { supervise } from "./supervise.ts";
import { whyNotListen } from "./why-not-listen.ts";
import { workerdConfig } from "./workerd-config.ts";

const FINE = 0;
const FAILED = 1;
const WRONG_ARGUMENTS = 2;

const WORKERD = fileURLToPath(new URL("../../node_modules/workerd/bin/workerd", import.meta.url));

const log = (line: string): void => console.log(`onceway: ${line}`);

async function main(): Promise<number> {
  let options: ServeOptions;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${messageOf(error)}\n\n${USAGE}`);
    return WRONG_ARGUMENTS;
  }
  switch (options.command) {
    case "help":
      console.log(USAGE);
      return FINE;
    case "health":
      return health(addressOf(options.host, options.port));
    case "serve":
      return serve(options);
  }
}

async function health(address: string): Promise<number> {
  const reason = await unhealthy(address);
  if (reason === null) {
    console.log(`${address}: well`);
    return FINE;
  }
  console.error(`${address}: ${reason}`);
  return FAILED;
}

async function serve(options: ServeOptions): Promise<number> {
  const plan = readPlan(options);
  if (plan === null) return FAILED;
  const signals = stopSignals(process, () => performance.now());
  const stateDir = resolve(options.state);
  try {
    // Records hold what the origin told its clients.
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    const lock = lockState(stateDir, "name another directory with --state");
    lock.note(`process ${process.pid}`);
    const configPath = await prepare(plan, stateDir, options);
    const isClean = await supervise(
      {
        command: (port) => ({
          bin: WORKERD,
          configPath,
          address: addressOf(options.host, port),
          env: { ...process.env, ...plan.secrets.values },
          lockFd: lock.fd,
          graceMs: options.graceMs,
        }),
        port: options.port,
        whyNotListen: (port) => whyNotListen(options.host, port, "--port"),
        onListening: (port, pid) =>
          announce(addressOf(options.host, port), operatorAddressOf(options), stateDir, lock, pid),
        log,
      },
      signals,
    );
    if (isClean) log("stopped");
    return isClean ? FINE : FAILED;
  } catch (error) {
    console.error(messageOf(error));
    return FAILED;
  }
}

interface Plan {
  readonly hosting: SelfHosting;
  readonly secrets: Secrets;
}

/** Null when there are problems; they are printed then, all of them. */
function readPlan(options: ServeOptions): Plan | null {
  const file = options.config;
  const read = readWranglerFile(file);
  if (read.kind !== "read") return refuse([read.message]);
  const checked = checkWranglerConfig(read.toml).find(({ name }) => name === options.env);
  if (checked === undefined) return refuse([`${file}: there is no [env.${options.env}]`]);
  if (checked.config === null) return refuse(lines(file, checked.problems));

  const hosting = selfHosting(file, read.toml, { ...checked, config: checked.config });
  const secrets = readSecrets({
    file: options.secretsFile,
    required: [...hosting.requiredSecrets, ...options.secretNames],
    environment: process.env,
    taken: hosting.objects.map(({ name }) => name),
  });
  const listener = listenerProblems(checked.config, options.operatorPort);
  const problems = [...lines(file, [...hosting.problems, ...listener]), ...secrets.problems.map(lineOf)];
  if (problems.length > 0) return refuse(problems);
  console.log(describeConfig(checked.config));
  for (const warning of hosting.warnings) console.warn(`${file}: warning: ${warning}`);
  return { hosting, secrets };
}

function refuse(problems: readonly string[]): null {
  for (const problem of problems) console.error(problem);
  console.error(problemCount(problems.length));
  return null;
}

function lines(file: string, problems: readonly ConfigProblem[]): readonly string[] {
  return problems.map((problem) => `${file}: ${lineOf(problem)}`);
}

function lineOf({ path, message }: ConfigProblem): string {
  return `${path}: ${message}`;
}

/** Puts the program and its configuration beside the records, so that what runs can be looked at; returns its path. */
async function prepare({ hosting, secrets }: Plan, stateDir: string, options: ServeOptions): Promise<string> {
  const modulesDir = join(stateDir, "program");
  const bundle = await bundleWorker(hosting.main, hosting.compatibility);
  rmSync(modulesDir, { recursive: true, force: true });
  cpSync(bundle, modulesDir, { recursive: true });
  const objectsDir = join(stateDir, "objects");
  mkdirSync(objectsDir, { recursive: true });
  const names = Object.keys(secrets.values);
  const text = await workerdConfig({
    modulesDir,
    stateDir: objectsDir,
    address: addressOf(options.host, options.port),
    operatorAddress: operatorAddressOf(options),
    compatibility: hosting.compatibility,
    objects: hosting.objects,
    // A secret stands in for a variable of the same name.
    vars: Object.fromEntries(Object.entries(hosting.vars).filter(([name]) => !names.includes(name))),
    secrets: names,
    extraBindings: [],
    extraServices: [],
  });
  const configPath = join(modulesDir, "gateway.capnp");
  writeFileSync(configPath, text);
  return configPath;
}

function operatorAddressOf({ operatorHost, operatorPort }: ServeOptions): string | null {
  return operatorPort === null ? null : addressOf(operatorHost, operatorPort);
}

function announce(
  address: string,
  operatorAddress: string | null,
  stateDir: string,
  lock: StateLock,
  pid: number | undefined,
): void {
  lock.note(`process ${process.pid} and its workerd, process ${pid}`);
  if (operatorAddress !== null) log(`operators come in at http://${operatorAddress}, and nowhere else`);
  log(`listening on http://${address}, records in ${stateDir}, workerd is process ${pid}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Whoever read the log has gone; the gateway has not.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
process.exitCode = await main();
