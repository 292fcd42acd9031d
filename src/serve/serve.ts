// `onceway serve`: runs the gateway of a configuration on plain workerd, with its records on this machine's disk. It checks the
// configuration, locks the state directory, bundles the Worker and runs it. It starts nothing if the configuration is invalid.

import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { inLanguage, type FileLanguage } from "../cli/findings/findings.ts";
import { problemCount, readWranglerFile, usualFile } from "../cli/wrangler-file.ts";
import { checkWranglerConfig } from "../cli/check/file.ts";
import { OPERATOR_PORT_BINDING, PROCESS_BINDING } from "../kernel/config/read.ts";
import { readConfig } from "../features/settings.ts";
import { describeConfig } from "../cli/check/describe.ts";
import { UNNAMED } from "../kernel/config/read-operators.ts";
import type { ConfigProblem } from "../kernel/config/resolved.ts";
import { bundleInto } from "./bundle.ts";
import { DRAIN_MODULE, DRAIN_SOCKET, writeDrainModule } from "./drain.ts";
import { hostAndPort, readOptions, type ServeOptions, USAGE } from "./options.ts";
import { readSecrets, type ServeSecrets } from "./secrets.ts";
import { type SelfHosting, selfHosting } from "./self-hosting.ts";
import { lockState, type StateLock } from "./state-lock.ts";
import { stopSignals } from "./stop-signals.ts";
import { superviseWorkerd } from "./supervise.ts";
import { findTools } from "./tools.ts";
import { workerdConfig } from "./workerd-config.ts";

const OK = 0;
const FAILED = 1;
const USAGE_ERROR = 2;

/** Longer than a busy gateway takes to answer, shorter than any load balancer's or container's check waits. */
const HEALTH_TIMEOUT_MS = 2_000;

const log = (line: string): void => console.log(`onceway: ${line}`);

/** Resolves with the exit code when the gateway has stopped. */
export async function runServe(args: readonly string[]): Promise<number> {
  // The gateway keeps running when the process that reads its log ends (`onceway serve | head`).
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  let options: ServeOptions;
  try {
    options = readOptions(args);
  } catch (error) {
    console.error(`${messageOf(error)}\n\n${USAGE}`);
    return USAGE_ERROR;
  }
  switch (options.command) {
    case "help":
      console.log(USAGE);
      return OK;
    case "health":
      return health(hostAndPort(options.host, options.port));
    case "serve":
      return serve(options);
  }
}

async function health(address: string): Promise<number> {
  const problem = await healthProblem(address);
  if (problem === null) {
    console.log(`${address}: healthy`);
    return OK;
  }
  console.error(`${address}: ${problem}`);
  return FAILED;
}

/**
 * `null` if the gateway at `host:port` answers; otherwise what is wrong. Asks for the published policy, because the Worker makes
 * it from its configuration alone: no object is touched and no origin is called.
 */
async function healthProblem(address: string): Promise<string | null> {
  try {
    const response = await fetch(`http://${address}/.well-known/idempotency`, {
      redirect: "manual",
      signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.status === 200 ? null : `answers ${response.status}`;
  } catch (error) {
    return messageOf(error instanceof Error && error.cause instanceof Error ? error.cause : error);
  }
}

async function serve(options: ServeOptions): Promise<number> {
  const plan = readPlan(options);
  if (plan === null) return FAILED;
  const signals = stopSignals(process, () => performance.now());
  const stateDir = resolve(options.state);
  // workerd inherits it: the databases are its files.
  process.umask(0o077);
  try {
    mkdirSync(stateDir, { recursive: true });
    closeToOthers(stateDir);
    const lock = lockState(stateDir, "choose another directory with --state");
    lock.note(`process ${process.pid}`);
    const configPath = await prepare(plan, stateDir, options);
    const isClean = await superviseWorkerd(
      {
        command: (port) => ({
          bin: findTools(plan.hosting.main).workerd,
          configPath,
          address: hostAndPort(options.host, port),
          env: { ...process.env, ...plan.secrets.values },
          lockFd: lock.fd,
          graceMs: options.graceMs,
        }),
        host: options.host,
        port: options.port,
        onListening: (port, pid) => {
          const address = hostAndPort(options.host, port);
          announce(address, consoleLine(plan, address, operatorAddressOf(options)), stateDir, lock, pid);
        },
        log,
      },
      signals,
    );
    if (isClean) log("stopped");
    return isClean ? OK : FAILED;
  } catch (error) {
    console.error(messageOf(error));
    return FAILED;
  }
}

/**
 * Only this user may read the records, because they contain callers' credentials and the origin's responses, and only this user may
 * lock them. A directory that another user has made (a container's volume, for example) stays as it is: what is created in it is closed.
 */
function closeToOthers(directory: string): void {
  const { uid, mode } = statSync(directory);
  if (uid === process.getuid?.() && (mode & 0o077) !== 0) chmodSync(directory, mode & 0o700);
}

interface Plan {
  readonly hosting: SelfHosting;
  readonly secrets: ServeSecrets;
  /** `null`: nobody is an operator, and nothing is there. */
  readonly operatorPath: string | null;
}

/** `null` if there are problems; it prints them all. */
function readPlan(options: ServeOptions): Plan | null {
  const file = options.config ?? usualFile();
  const read = readWranglerFile(file);
  if (read.kind !== "read") return refuse([read.message]);
  const checked = checkWranglerConfig(read.table).find(({ name }) => name === options.env);
  if (checked === undefined) return refuse([`${file}: has no environment [env.${options.env}]`]);
  if (checked.config === null) return refuse(lines(file, checked.problems, read.language));

  const hosting = selfHosting(file, read.table, { ...checked, config: checked.config });
  const secrets = readSecrets({
    file: options.secretsFile,
    required: [...hosting.requiredSecrets, ...options.secretNames],
    environment: process.env,
    taken: hosting.objects.map(({ name }) => name),
  });
  const problems = [...lines(file, hosting.problems, read.language), ...secrets.problems.map(lineOf)];
  if (problems.length > 0) return refuse(problems);
  // As the Worker will read it: only here are its secrets known.
  const reading = readConfig({ ...hosting.vars, ...secrets.values });
  if (!reading.ok) return refuse(lines(file, reading.problems, read.language));
  console.log(describeConfig(checked.config));
  for (const warning of hosting.warnings) console.warn(`${file}: warning: ${warning}`);
  const { operators, operatorPath } = checked.config;
  const isOn =
    operators.length > 0 || "ACCESS" in hosting.vars || UNNAMED.some((name) => secrets.values[name] !== undefined);
  return { hosting, secrets, operatorPath: isOn ? operatorPath : null };
}

function refuse(problems: readonly string[]): null {
  for (const problem of problems) console.error(problem);
  console.error(problemCount(problems.length));
  return null;
}

function lines(file: string, problems: readonly ConfigProblem[], language: FileLanguage): readonly string[] {
  return problems.map((problem) => `${file}: ${inLanguage(language, lineOf(problem))}`);
}

function lineOf({ path, message }: ConfigProblem): string {
  return `${path}: ${message}`;
}

/** Writes the program and workerd's configuration into the state directory, for inspection. Returns the configuration's path. */
async function prepare({ hosting, secrets }: Plan, stateDir: string, options: ServeOptions): Promise<string> {
  const modulesDir = join(stateDir, "program");
  rmSync(modulesDir, { recursive: true, force: true });
  mkdirSync(modulesDir);
  await bundleInto(modulesDir, hosting.main, hosting.compatibility);
  writeDrainModule(modulesDir, hosting.objects);
  const objectsDir = join(stateDir, "objects");
  mkdirSync(objectsDir, { recursive: true });
  closeToOthers(objectsDir);
  const names = Object.keys(secrets.values);
  const text = await workerdConfig({
    modulesDir,
    stateDir: objectsDir,
    address: hostAndPort(options.host, options.port),
    operatorAddress: operatorAddressOf(options),
    compatibility: hosting.compatibility,
    objects: hosting.objects,
    // A secret overrides a variable of the same name.
    vars: {
      ...Object.fromEntries(Object.entries(hosting.vars).filter(([name]) => !names.includes(name))),
      ...(options.operatorPort === null ? null : { [OPERATOR_PORT_BINDING]: String(options.operatorPort) }),
      ...(options.process === null ? null : { [PROCESS_BINDING]: String(options.process) }),
    },
    secrets: names,
    extraBindings: [],
    extraServices: [],
    extraSockets: [DRAIN_SOCKET],
    main: DRAIN_MODULE,
  });
  const configPath = join(modulesDir, "gateway.capnp");
  writeFileSync(configPath, text);
  return configPath;
}

function operatorAddressOf({ operatorHost, operatorPort }: ServeOptions): string | null {
  return operatorPort === null ? null : hostAndPort(operatorHost, operatorPort);
}

function consoleLine({ operatorPath }: Plan, address: string, operatorAddress: string | null): string {
  if (operatorPath === null) {
    const example = existsSync(".dev.vars") ? " (here: --secrets .dev.vars)" : "";
    return `no console and no operator API, because nobody has a token: write ADMIN_TOKEN=… to a file, and start with --secrets FILE${example}`;
  }
  if (operatorAddress === null) return `the operator API and the console are at http://${address}${operatorPath}`;
  return `the operator API and the console are on http://${operatorAddress} only`;
}

function announce(
  address: string,
  operators: string,
  stateDir: string,
  lock: StateLock,
  pid: number | undefined,
): void {
  lock.note(`process ${process.pid} and its workerd, process ${pid}`);
  log(operators);
  log(`listening on http://${address}, records in ${stateDir}, workerd is process ${pid}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
