// What is compared: the processes that run side by side, and the requests of each variant.

import { Agent, type ClientRequest, request as httpRequest } from "node:http";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { startWorkerd, type WorkerdOptions } from "../support/gateway.ts";
import { startPeers } from "./peer.ts";
import { findProcess } from "./process-memory.ts";
import { BODY, fill, HEADERS } from "./requests-of-load.ts";
import type { Load } from "./wrk.ts";

export interface Variant extends Pick<Load, "url" | "path" | "keys" | "body" | "prefer"> {
  readonly name: string;
  /** Of known keys; new keys get one of their own in each run. */
  readonly prefix: string | null;
  /** Whether every answer is 2xx, or none is. */
  readonly succeeds: boolean;
  /** Whose processor time is counted. */
  readonly pids: readonly number[];
  /** The variant is meaningless with fewer connections. */
  readonly leastConnections: number;
  /** Begins what else happens while the variant is measured; returns what ends it. */
  readonly meanwhile?: () => () => Promise<void>;
}

export interface Scene {
  readonly variants: readonly Variant[];
  stop(): Promise<void>;
}

export interface SceneOptions {
  readonly originUrl: string;
  readonly stateDir: string;
  readonly coldKeys: number;
  readonly withPeers: boolean;
  /** Only these variants are prepared. */
  readonly isChosen: (name: string) => boolean;
  /** The folder of another checkout, whose gateway runs beside this one; `null`: none. */
  readonly beside: string | null;
  /** Whether each variant of a gateway has a process of its own, so that all can run at once. */
  readonly areApart?: boolean;
}

const HOT_KEYS = 100;
const HELD_KEYS = 16;

/** Longer than any run: nothing of an object per key falls due while another variant is measured. */
const LONG = { timeout: "14m", lock: "59m" };

const ROUTES = [{ path: "/v1/*" }, { path: "/wait/*", duplicate: "wait" }, { path: "/held/*", ...LONG }] as const;

/** Another checkout may not know it. */
const OBSERVED = { path: "/observed/*", mode: "observe", observe: { effect: "/id" } } as const; // feature: observe

/** Keys that no memory of the Worker holds: they come in turn, and they are twice as many as it has room for. */
export const COLD = "replay cold";

/** What the name of a variant ends with that runs in another checkout's gateway. */
export const BEFORE = " before";

export async function startScene(options: SceneOptions): Promise<Scene> {
  const { originUrl, stateDir, coldKeys, withPeers, isChosen, beside, areApart } = options;
  const stops: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of stops.toReversed()) await one();
  };
  const worker = async (name: string, vars: object, more: Program = {}): Promise<Process> => {
    const own = { stateDir: join(stateDir, name), vars: { IDEMPOTENCY: {}, ROUTES: [], ...vars } };
    const gateway = await startWorkerd({ ...own, ...more });
    stops.push(() => gateway.stop());
    return { url: gateway.url, pids: [findProcess(gateway.pid, "workerd")] };
  };
  const gateway = async (name: string, all: readonly Requests[], main?: string): Promise<readonly Variant[]> => {
    if (all.length === 0) return [];
    const isObserved = all.some((one) => one.name === "observed"); // feature: observe
    const vars = {
      IDEMPOTENCY: { origin: originUrl, shards: 64 },
      ROUTES: [
        ...ROUTES,
        ...(isObserved ? [OBSERVED] : []), // feature: observe
      ],
    };
    const process = await worker(name, vars, main === undefined ? {} : { main });
    // Those that a variant of hot keys replays, and those of the cold one.
    await fill(process.url, "/v1/payments", "hot", HOT_KEYS);
    if (all.some(({ keys }) => keys === coldKeys)) await fill(process.url, "/v1/payments", "cold", coldKeys);
    if (all.some(({ keys }) => keys === HELD_KEYS)) stops.push(holdKeys(process.url));
    return all.map((one) => variant(one.name, process, one));
  };
  const ours = async (folder: string, suffix: string, main?: string): Promise<readonly Variant[]> => {
    const all = gatewayVariants(options).filter(({ name }) => isChosen(name));
    const groups = areApart === true ? all.map((one) => [one]) : [all];
    const variants: Variant[] = [];
    for (const [at, group] of groups.entries()) variants.push(...(await gateway(`${folder}-${at}`, group, main)));
    return variants.map((one) => variant(one.name + suffix, one, one));
  };
  const alone = async (name: string, vars: object, program?: Program): Promise<readonly Variant[]> =>
    isChosen(name) ? [variant(name, await worker(name, vars, program))] : [];
  try {
    const perKey = { origin: originUrl, shards: "per-key", ...LONG };
    const variants = [
      ...(await alone("straight", { ORIGIN: originUrl }, { main: FORWARD })),
      ...(await alone("floor", { ORIGIN: originUrl }, { main: FLOOR })),
      ...(await alone("KV", { ORIGIN: originUrl }, { main: KV, extraBindings: [KV_BINDING] })),
      ...(await ours("gateway", "")),
      ...(beside === null ? [] : await ours("before", BEFORE, join(resolve(beside), "src/index.ts"))),
      ...(await alone("per-key", { IDEMPOTENCY: perKey, ROUTES })),
    ];
    if (!withPeers) return { variants, stop };
    const fastify = await startPeers(originUrl, join(stateDir, "peer"));
    stops.push(() => fastify.stop());
    const peers = fastify.peers.map(({ name, ...process }) => variant(name, process));
    return { variants: [...variants, ...peers.filter(({ name }) => isChosen(name))], stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const FORWARD = fileURLToPath(new URL("forward/index.ts", import.meta.url));
const FLOOR = fileURLToPath(new URL("floor/index.ts", import.meta.url));
const KV = fileURLToPath(new URL("kv/index.ts", import.meta.url));
const KV_BINDING = '(name = "KV", kvNamespace = (name = "gateway", entrypoint = "Store"))';

/** A Worker that is not this checkout's gateway, or has more bindings than a gateway. */
type Program = Pick<WorkerdOptions, "main" | "extraBindings">;

/** What one gateway is asked. */
function gatewayVariants({ coldKeys }: SceneOptions): readonly Requests[] {
  return [
    { name: "first" },
    { name: "replay hot", keys: HOT_KEYS, prefix: "hot" },
    { name: COLD, keys: coldKeys, prefix: "cold" },
    { name: "conflict", path: "/held/payments", keys: HELD_KEYS, prefix: "held", succeeds: false },
    { name: "mismatch", keys: HOT_KEYS, prefix: "hot", body: '{"amount":1}', succeeds: false },
    { name: "wait", path: "/wait/payments", keys: "pairs", leastConnections: 2 },
    { name: "unprotected", path: "/open/payments" },
    { name: "observed", path: "/observed/payments" }, // feature: observe
  ];
}

/** A variant without its process. */
type Requests = Pick<Variant, "name"> & Partial<Variant>;

type Process = Pick<Variant, "url" | "pids">;

function variant(name: string, process: Process, more: Partial<Variant> = {}): Variant {
  const firsts = { path: "/v1/payments", keys: "new", prefix: null, body: BODY } as const;
  return { ...firsts, succeeds: true, leastConnections: 1, ...more, ...process, name };
}

/** Keys whose first request the origin never answers, so that each further one is a conflict. */
function holdKeys(url: string): () => void {
  const agent = new Agent({ keepAlive: true });
  const held = Array.from({ length: HELD_KEYS }, (_, at): ClientRequest => {
    const headers = { ...HEADERS, "idempotency-key": `held${at}` };
    const outgoing = httpRequest(`${url}/held/payments`, { method: "POST", headers, agent });
    // It ends with the gateway at the latest.
    outgoing.on("error", () => undefined);
    outgoing.end(BODY);
    return outgoing;
  });
  return () => {
    for (const outgoing of held) outgoing.destroy();
    agent.destroy();
  };
}
