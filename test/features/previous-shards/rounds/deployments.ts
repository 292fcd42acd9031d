// Several deployments of the gateway side by side, as Cloudflare runs them during a gradual deployment: Workers with
// configurations of their own, and one namespace of objects, with one storage on disk. All in one workerd process, which can be
// killed as in a crash and started again on the same state and ports.

import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PLACE_BINDING } from "../../../../src/kernel/config/read.ts";
import { bundleWorker } from "../../../../src/serve/bundle.ts";
import {
  type VariableValue,
  moduleList,
  objectNamespace,
  quoteText,
  variableList,
} from "../../../../src/serve/workerd-config.ts";
import type { GatewayVars } from "../../../support/gateway.ts";
import { untilAnswers, untilRefused } from "../../../support/ports.ts";
import { type ProcessGroup, spawnGroup } from "../../../support/process-group.ts";
import { gatewayMain, projectCompatibility, projectDir } from "../../../support/wrangler.ts";

const READY_PATH = "/.well-known/idempotency";
const READY_MS = 60_000;

/** The code and the settings of one service. */
export interface Service {
  readonly vars: GatewayVars;
  /** The Worker's entry; today's gateway by default. */
  readonly main?: string;
}

/** A Worker that clients call. */
export interface Deployment extends Service {
  readonly name: string;
  readonly port: number;
}

export interface Setup {
  /** Where the objects' databases are; it outlives the process. */
  readonly stateDir: string;
  /** Runs the objects of all deployments. */
  readonly objects: Service;
  readonly workers: readonly Deployment[];
  /** Variables of the objects that the process gets at its start, from its environment. */
  readonly fromEnvironment?: readonly string[];
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly onOutput?: (text: string) => void;
  /** Resolves if the process stops at a point, after which it may never answer. */
  readonly stopped?: Promise<void>;
}

/** What is made once: the bundles and the configuration. */
export interface Prepared {
  start(options?: RunOptions): Promise<Deployments>;
  remove(): Promise<void>;
}

export interface Deployments {
  readonly pid: number;
  output(): string;
  hasExited(): boolean;
  /** SIGKILL; resolves when nobody listens any more. */
  kill9(): Promise<void>;
  stop(): Promise<void>;
}

export async function prepareDeployments(setup: Setup): Promise<Prepared> {
  await mkdir(setup.stateDir, { recursive: true });
  const workDir = await mkdtemp(join(tmpdir(), "onceway-layouts-"));
  const config = join(workDir, "deployments.capnp");
  await writeFile(config, await configText(setup, workDir));
  const ports = setup.workers.map(({ port }) => port);
  return {
    start: (options = {}) => start(config, workDir, ports, options),
    remove: () => rm(workDir, { recursive: true, force: true }),
  };
}

async function start(
  config: string,
  cwd: string,
  ports: readonly number[],
  { env = {}, onOutput = () => undefined, stopped = new Promise<void>(() => undefined) }: RunOptions,
): Promise<Deployments> {
  const bin = join(projectDir, "node_modules/.bin/workerd");
  const group = await spawnGroup(bin, ["serve", config], { cwd, env: { ...process.env, ...env }, onOutput });
  const end = async (how: () => Promise<void>): Promise<void> => {
    await how();
    await Promise.all(ports.map(untilRefused));
  };
  const ready = untilReady(group, ports);
  ready.catch(() => undefined);
  await Promise.race([ready, stopped]).catch(async (error: unknown) => {
    await end(group.kill9);
    throw new Error(`the deployments did not start: ${String(error)}\n${group.output()}`, { cause: error });
  });
  const { pid, output, hasExited } = group;
  return { pid, output, hasExited, kill9: () => end(group.kill9), stop: () => end(group.stop) };
}

async function untilReady(group: ProcessGroup, ports: readonly number[]): Promise<void> {
  const failure = (): string | null => (group.hasExited() ? "the process has ended" : null);
  await Promise.all(ports.map((port) => untilAnswers({ port, path: READY_PATH, timeoutMs: READY_MS, failure })));
}

async function configText(
  { stateDir, objects, workers, fromEnvironment = [] }: Setup,
  workDir: string,
): Promise<string> {
  const own = '(name = "KEY_SHARD", durableObjectNamespace = "KeyShard")';
  const shared = '(name = "KEY_SHARD", durableObjectNamespace = (className = "KeyShard", serviceName = "objects"))';
  const storage = [
    `durableObjectNamespaces = [${objectNamespace("KeyShard")}]`,
    'durableObjectStorage = (localDisk = "state")',
  ];
  const given = fromEnvironment.map((name) => `(name = ${quoteText(name)}, fromEnvironment = ${quoteText(name)})`);
  const bindings = [own, ...given];
  const services = [`(name = "objects", worker = (${await workerText(objects, bindings, storage, workDir)}))`];
  // One after the other: those with the same code share a folder.
  for (const worker of workers) {
    services.push(`(name = ${quoteText(worker.name)}, worker = (${await workerText(worker, [shared], [], workDir)}))`);
  }
  services.push(
    `(name = "state", disk = (path = ${quoteText(stateDir)}, writable = true))`,
    '(name = "internet", network = (allow = ["private"]))',
  );
  const sockets = workers.map(
    ({ name, port }) =>
      `(name = ${quoteText(name)}, address = "127.0.0.1:${port}", http = (), service = ${quoteText(name)})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [${services.join(",\n")}],
  sockets = [${sockets.join(",\n")}],
);
`;
}

async function workerText(
  { main = gatewayMain, vars }: Service,
  bindings: readonly string[],
  more: readonly string[],
  workDir: string,
): Promise<string> {
  const compatibility = projectCompatibility();
  const bundle = await bundleWorker(main, compatibility);
  const folder = bundle.slice(bundle.lastIndexOf("/") + 1);
  await cp(bundle, join(workDir, folder), { recursive: true });
  const members = [
    `modules = [${(await moduleList(bundle, `${folder}/`)).join(", ")}]`,
    `compatibilityDate = ${quoteText(compatibility.date)}`,
    `compatibilityFlags = [${compatibility.flags.map(quoteText).join(", ")}]`,
    'globalOutbound = "internet"',
    `bindings = [${[...bindings, ...variableList({ [PLACE_BINDING]: "local", ...vars })].join(", ")}]`,
    ...more,
  ];
  return members.join(",\n");
}

/** Settings for one layout, written into a configuration that has the rest. */
export function withLayout(vars: GatewayVars, layout: Readonly<Record<string, VariableValue>>): GatewayVars {
  return { ...vars, IDEMPOTENCY: { ...vars.IDEMPOTENCY, ...layout } };
}
