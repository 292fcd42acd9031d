// The peer: Fastify with node-idempotency on its own Redis, once for each way of writing the log, and the same Fastify without
// it. `test/bench/install.sh` installs them; they are not dependencies of the project.

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, untilAnswers } from "../support/ports.ts";
import { type ProcessGroup, spawnGroup } from "../support/process-group.ts";

export interface Peer {
  readonly name: string;
  readonly url: string;
  readonly pids: readonly number[];
}

const FOLDER = fileURLToPath(new URL("peer/", import.meta.url));
const READY_MS = 10_000;

export const PEER_BARE = "Fastify";

export async function startPeers(
  originUrl: string,
  stateDir: string,
): Promise<{ readonly peers: readonly Peer[]; stop(): Promise<void> }> {
  if (!existsSync(join(FOLDER, "node_modules"))) throw new Error("the peer is not installed: test/bench/install.sh");
  const groups: ProcessGroup[] = [];
  const stop = async (): Promise<void> => {
    for (const group of groups.toReversed()) await group.stop();
  };
  const fastify = async (name: string, redisPort: number | null, redis: readonly number[]): Promise<Peer> => {
    const port = await freePort();
    const args = [join(FOLDER, "server.mjs"), String(port), originUrl, String(redisPort ?? "")];
    const group = await spawnGroup(process.execPath, args, { cwd: FOLDER, env: process.env });
    groups.push(group);
    await untilUp(group, port);
    return { name, url: `http://127.0.0.1:${port}`, pids: [group.pid, ...redis] };
  };
  const peers: Peer[] = [];
  try {
    peers.push(await fastify(PEER_BARE, null, []));
    for (const policy of ["always", "everysec"]) {
      const redis = await startRedis(policy, join(stateDir, policy));
      groups.push(redis.group);
      peers.push(await fastify(`${PEER_BARE} ${policy}`, redis.port, [redis.group.pid]));
    }
    return { peers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startRedis(
  policy: string,
  dir: string,
): Promise<{ readonly group: ProcessGroup; readonly port: number }> {
  await mkdir(dir, { recursive: true });
  const port = await freePort();
  const settings = { port, bind: "127.0.0.1", dir, appendonly: "yes", appendfsync: policy };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  // No snapshots in addition to the log.
  const group = await spawnGroup("redis-server", [...args, "--save", ""], { cwd: dir, env: process.env });
  return { group, port };
}

function untilUp(group: ProcessGroup, port: number): Promise<void> {
  const failure = (): string | null => (group.hasExited() ? `the peer has ended:\n${group.output()}` : null);
  return untilAnswers({ port, path: "/ready", timeoutMs: READY_MS, failure });
}
