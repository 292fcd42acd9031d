// The gateway of a run across its processes: it is killed and restarted on the same state and port, stopped and continued.
// Reports each fault that took effect, with its start and end.

import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { startWorkerd } from "../support/gateway.ts";
import type { Gateway, WorkerdOptions } from "../support/gateway.ts";
import { rawRequest } from "../support/http.ts";
import type { Died, Outage } from "../guarantees/history.ts";

const RESTARTS = 5;
const STOP_LOOKS = 40;
const OUTPUT_CHARACTERS = 4_000;

export interface GatewayBox {
  readonly port: number;
  readonly stateDir: string;
  /** SIGKILL, then a restart on the same state. */
  killAndRestart(): Promise<void>;
  /** SIGSTOP, then `doing`, then SIGCONT. */
  stopDuring(doing: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export async function startGatewayBox(
  options: Omit<WorkerdOptions, "port">,
  report: (event: Outage | Died) => void,
): Promise<GatewayBox> {
  const port = await quietPort();
  const { stateDir } = options;
  let gateway = await startWorkerd({ ...options, port });
  await assertConfigured(gateway);
  const look = (): void => {
    if (isAlive(gateway.pid)) return;
    report({ type: "died", at: Date.now(), output: gateway.output().slice(-OUTPUT_CHARACTERS) });
  };
  return {
    port,
    stateDir,
    async killAndRestart() {
      look();
      const from = Date.now();
      await gateway.kill9();
      gateway = await restart(gateway);
      report({ type: "outage", kind: "killed", from, to: Date.now() });
    },
    async stopDuring(doing) {
      const { pid } = gateway;
      const from = Date.now();
      process.kill(pid, "SIGSTOP");
      try {
        // On a busy machine it takes a while.
        for (let left = STOP_LOOKS; left > 0 && !(await isStopped(pid)); left -= 1) await pause(5);
        const struck = await isStopped(pid);
        await doing();
        if (struck) report({ type: "outage", kind: "stopped", from, to: Date.now() });
      } finally {
        continueProcess(gateway.pid === pid ? pid : null);
      }
    },
    async close() {
      look();
      await gateway.stop();
    },
  };
}

/** A run with an invalid configuration would only wait. */
async function assertConfigured(gateway: Gateway): Promise<void> {
  const { port } = gateway;
  const policy = await rawRequest({ host: "127.0.0.1", port, method: "GET", target: "/.well-known/idempotency" });
  if (policy.status === 200) return;
  await gateway.stop();
  throw new Error(`the gateway does not answer with its policy: ${gateway.output().slice(-OUTPUT_CHARACTERS)}`);
}

async function restart(gateway: Gateway): Promise<Gateway> {
  for (let left = RESTARTS; ; left -= 1) {
    try {
      return await gateway.restart();
    } catch (error) {
      if (left === 0) throw error;
      await pause(100);
    }
  }
}

/** Null: the process was killed while it was stopped. */
function continueProcess(pid: number | null): void {
  if (pid !== null) process.kill(pid, "SIGCONT");
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Reads the state from /proc; on systems without it, assumes that the signal worked. */
async function isStopped(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return stat === null || / T /.test(stat.slice(stat.lastIndexOf(")")));
}

/** Binds the bucket on this port as `BODIES`. */
export function bucketAt(port: number): Pick<WorkerdOptions, "extraBindings" | "extraServices"> {
  return {
    extraBindings: ['(name = "BODIES", r2Bucket = "bodies")'],
    extraServices: [`(name = "bodies", external = (address = "127.0.0.1:${port}", http = ()))`],
  };
}

/**
 * A free port below the system's ephemeral range. With a port from that range, a client that connects while nobody
 * listens can be assigned the same port, connect to itself, and keep the gateway from listening there again.
 */
export async function quietPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
