// The real gateway in its own process, on a free loopback port: under `wrangler dev`, as a user runs it, or under `workerd
// serve`, which is many times faster and changes no byte. Both can be killed like in a crash and restarted on the same state
// and port.

import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OPERATOR_PORT_BINDING } from "../../src/kernel/config/read.ts";
import { bundleWorker } from "../../src/serve/bundle.ts";
import { workerdConfig } from "../../src/serve/workerd-config.ts";
import type { VariableValue } from "../../src/serve/workerd-config.ts";
import { freePort, untilAnswers, untilRefused } from "./ports.ts";
import { spawnGroup } from "./process-group.ts";
import type { ProcessGroup } from "./process-group.ts";
import { stallNowAndThen } from "./stalls.ts";
import { gatewayMain, projectCompatibility, projectDir, spawnWrangler, writeWranglerToml } from "./wrangler.ts";

const READY_PATH = "/.well-known/idempotency";
const READY_MS = 60_000;

/** The Worker's variables: its configuration, and others that a test sets. */
export interface GatewayVars {
  readonly IDEMPOTENCY: { readonly [setting: string]: VariableValue };
  readonly ROUTES: readonly { readonly [setting: string]: VariableValue }[];
  readonly [name: string]: VariableValue;
}

export interface GatewayOptions {
  readonly vars: GatewayVars;
  /** The folder of the objects' storage; it outlives the process. */
  readonly stateDir: string;
  /** Further variables and secrets. */
  readonly bindings?: Readonly<Record<string, VariableValue>>;
  /** A free one by default. */
  readonly port?: number;
  /** The Worker's entry, `src/index.ts` by default. */
  readonly main?: string;
  /** The folder of a bundle that exists already, instead of one of `main`. */
  readonly bundle?: string;
}

export interface WranglerDevOptions extends GatewayOptions {
  readonly extraToml?: string;
}

export interface WorkerdOptions extends GatewayOptions {
  /** Cap'n Proto text, one entry each: `(name = "API", service = "api")`. */
  readonly extraBindings?: readonly string[];
  readonly extraServices?: readonly string[];
  readonly extraSockets?: readonly string[];
  /** Services that get the platform's own traces of the gateway. */
  readonly streamingTails?: readonly string[];
  /** Lets services use what is experimental in workerd, such as calls of queue handlers. */
  readonly experimental?: boolean;
  /** The operators' port. By default operators use the clients' port. */
  readonly operatorPort?: number;
  /** Where V8's inspector listens; nowhere by default. */
  readonly inspectorPort?: number;
  /** A program and its arguments that run workerd; none by default. */
  readonly under?: readonly string[];
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** Id of the started process, which leads the process group. */
  readonly pid: number;
  readonly stateDir: string;
  /** Everything the process has printed. */
  output(): string;
  /** SIGKILL to the whole process group; resolves when the port refuses connections. */
  kill9(): Promise<void>;
  stop(): Promise<void>;
  /** Starts it again with the same options, state and port. End it first. `changes` replaces options, such as `vars`. */
  restart(changes?: Partial<GatewayOptions>): Promise<Gateway>;
}

/** Makes a folder for a gateway's state in the system's temporary folder. */
export function makeStateDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), "onceway-state-"));
}

export async function startWranglerDev(options: WranglerDevOptions): Promise<Gateway> {
  const port = options.port ?? (await freePort());
  const inspectorPort = await freePort();
  const workDir = await mkdtemp(join(tmpdir(), "onceway-dev-"));
  const config = await writeWranglerToml(workDir, {
    main: options.main ?? gatewayMain,
    vars: { ...options.vars, ...options.bindings },
    extraToml: options.extraToml,
  });
  const where = ["--ip", "127.0.0.1", "--port", String(port), "--inspector-port", String(inspectorPort)];
  const args = ["dev", "--config", config, "--local", "--persist-to", options.stateDir, ...where];
  const group = await spawnWrangler([...args, "--show-interactive-dev-session=false"], workDir);
  const restart: Gateway["restart"] = (changes) => startWranglerDev({ ...options, port, ...changes });
  return whenReady({ group, port, workDir, stateDir: options.stateDir, restart });
}

const bundles = new Map<string, Promise<string>>();

/** Made once a process: its sources do not change while tests run. */
function bundleOf(main: string): Promise<string> {
  const bundle = bundles.get(main) ?? bundleWorker(main, projectCompatibility());
  bundles.set(main, bundle);
  return bundle;
}

export async function startWorkerd(options: WorkerdOptions): Promise<Gateway> {
  const port = options.port ?? (await freePort());
  await mkdir(options.stateDir, { recursive: true });
  const workDir = await mkdtemp(join(tmpdir(), "onceway-workerd-"));
  const compatibility = projectCompatibility();
  const bundle = options.bundle ?? (await bundleOf(options.main ?? gatewayMain));
  for (const name of await readdir(bundle)) await symlink(join(bundle, name), join(workDir, name));
  const config = join(workDir, "gateway.capnp");
  const text = await workerdConfig({
    modulesDir: workDir,
    stateDir: options.stateDir,
    address: `127.0.0.1:${port}`,
    operatorAddress: options.operatorPort === undefined ? null : `127.0.0.1:${options.operatorPort}`,
    compatibility,
    objects: [{ name: "KEY_SHARD", className: "KeyShard" }],
    secrets: [],
    vars: {
      ...options.vars,
      ...options.bindings,
      ...(options.operatorPort === undefined ? null : { [OPERATOR_PORT_BINDING]: String(options.operatorPort) }),
    },
    extraBindings: options.extraBindings ?? [],
    extraServices: options.extraServices ?? [],
    extraSockets: options.extraSockets ?? [],
  });
  const tails = `streamingTails = [${(options.streamingTails ?? []).map((name) => `"${name}"`).join(", ")}],`;
  await writeFile(config, text.replace(`  globalOutbound =`, `  ${tails}\n  globalOutbound =`));
  const workerd = join(projectDir, "node_modules/.bin/workerd");
  const inspector = options.inspectorPort === undefined ? [] : [`--inspector-addr=127.0.0.1:${options.inspectorPort}`];
  const experimental = options.experimental === true ? ["--experimental"] : [];
  const args = ["serve", config, ...inspector, ...experimental];
  const [command, ...before] = [...(options.under ?? []), workerd];
  const group = await spawnGroup(command, [...before, ...args], { cwd: workDir, env: process.env });
  const restart: Gateway["restart"] = (changes) => startWorkerd({ ...options, port, ...changes });
  return whenReady({ group, port, workDir, stateDir: options.stateDir, restart });
}

interface Started {
  readonly group: ProcessGroup;
  readonly port: number;
  readonly workDir: string;
  readonly stateDir: string;
  readonly restart: Gateway["restart"];
}

async function whenReady({ group, port, workDir, stateDir, restart }: Started): Promise<Gateway> {
  let endStalls = (): void => undefined;
  const end = async (how: () => Promise<void>): Promise<void> => {
    endStalls();
    await how();
    await untilRefused(port);
    await rm(workDir, { recursive: true, force: true });
  };
  const failure = (): string | null => (group.hasExited() ? "the process has ended" : null);
  try {
    await untilAnswers({ port, path: READY_PATH, timeoutMs: READY_MS, failure });
  } catch (error) {
    await end(group.kill9);
    throw new Error(`the gateway did not start: ${String(error)}\n${group.output()}`, { cause: error });
  }
  endStalls = stallNowAndThen(group.pid);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: group.pid,
    stateDir,
    output: group.output,
    kill9: () => end(group.kill9),
    stop: () => end(group.stop),
    restart,
  };
}
