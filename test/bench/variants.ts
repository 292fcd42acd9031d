// What is compared: the processes that run side by side, and the requests of each variant.

import { Agent, type ClientRequest, request as httpRequest } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startWorkerd } from "../support/gateway.ts";
import { startPeers } from "./peer.ts";
import { findProcess } from "./process-memory.ts";
import { BODY, fill, HEADERS } from "./requests-of-load.ts";
import type { Load } from "./wrk.ts";

export interface Variant extends Pick<Load, "url" | "path" | "keys" | "body"> {
  readonly name: string;
  /** Of known keys; new keys get one of their own in each run. */
  readonly prefix: string | null;
  /** Whether every answer is 2xx, or none is. */
  readonly succeeds: boolean;
  /** Whose processor time is counted. */
  readonly pids: readonly number[];
  /** The variant is meaningless with fewer connections. */
  readonly leastConnections: number;
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
}

const HOT_KEYS = 100;
const HELD_KEYS = 16;

/** Longer than any run: nothing of an object per key falls due while another variant is measured. */
const LONG = { timeout: "14m", lock: "59m" };

const ROUTES = [{ path: "/v1/*" }, { path: "/wait/*", duplicate: "wait" }, { path: "/held/*", ...LONG }] as const;

export async function startScene({ originUrl, stateDir, coldKeys, withPeers }: SceneOptions): Promise<Scene> {
  const stops: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of stops.toReversed()) await one();
  };
  const worker = async (name: string, vars: object, main?: string): Promise<Process> => {
    const gateway = await startWorkerd({
      stateDir: join(stateDir, name),
      vars: { IDEMPOTENCY: {}, ROUTES: [], ...vars },
      ...(main === undefined ? {} : { main: fileURLToPath(new URL(main, import.meta.url)) }),
    });
    stops.push(() => gateway.stop());
    return { url: gateway.url, pids: [findProcess(gateway.pid, "workerd")] };
  };
  try {
    const straight = await worker("straight", { ORIGIN: originUrl }, "forward/index.ts");
    const floor = await worker("floor", { ORIGIN: originUrl }, "floor/index.ts");
    const ours = await worker("gateway", { IDEMPOTENCY: { origin: originUrl, shards: 64 }, ROUTES });
    const perKey = { origin: originUrl, shards: "per-key", ...LONG };
    const objects = await worker("per-key", { IDEMPOTENCY: perKey, ROUTES });
    await fill(ours.url, "/v1/payments", "hot", HOT_KEYS);
    await fill(ours.url, "/v1/payments", "cold", coldKeys);
    stops.push(holdKeys(ours.url));
    const variants = [
      variant("straight", straight),
      variant("floor", floor),
      variant("first", ours),
      variant("replay hot", ours, { keys: HOT_KEYS, prefix: "hot" }),
      variant("replay cold", ours, { keys: coldKeys, prefix: "cold" }),
      variant("conflict", ours, { path: "/held/payments", keys: HELD_KEYS, prefix: "held", succeeds: false }),
      variant("mismatch", ours, { keys: HOT_KEYS, prefix: "hot", body: '{"amount":1}', succeeds: false }),
      variant("wait", ours, { path: "/wait/payments", keys: "pairs", leastConnections: 2 }),
      variant("unprotected", ours, { path: "/open/payments" }),
      variant("per-key", objects),
    ];
    if (!withPeers) return { variants, stop };
    const fastify = await startPeers(originUrl, join(stateDir, "peer"));
    stops.push(() => fastify.stop());
    return { variants: [...variants, ...fastify.peers.map(({ name, ...process }) => variant(name, process))], stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Process = Pick<Variant, "url" | "pids">;

function variant(name: string, process: Process, more: Partial<Variant> = {}): Variant {
  const firsts = { path: "/v1/payments", keys: "new", prefix: null, body: BODY } as const;
  return { name, ...firsts, succeeds: true, leastConnections: 1, ...process, ...more };
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
