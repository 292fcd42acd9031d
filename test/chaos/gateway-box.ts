// The gateway of a run, whatever process it is right now: killed and started again on the same state and port, stopped
// and continued. It reports what has really struck, from when to when.

import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { startWorkerd } from "../support/gateway.ts";
import type { Gateway, WorkerdOptions } from "../support/gateway.ts";
import type { Died, Outage } from "./history.ts";

const RESTARTS = 5;
const OUTPUT_CHARACTERS = 4_000;

export interface GatewayBox {
  readonly port: number;
  readonly stateDir: string;
  /** SIGKILL, and a new start on the same state. */
  killAndRestart(): Promise<void>;
  /** SIGSTOP, `doing` in the meantime, SIGCONT. */
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
        await pause(5);
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

/** Null: it was killed while it stood still. */
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

/** Where the system tells: everywhere else the signal is believed. */
async function isStopped(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return stat === null || / T /.test(stat.slice(stat.lastIndexOf(")")));
}

/** What binds the bucket that listens there, as `BODIES`. */
export function bucketAt(port: number): Pick<WorkerdOptions, "extraBindings" | "extraServices"> {
  return {
    extraBindings: ['(name = "BODIES", r2Bucket = "bodies")'],
    extraServices: [`(name = "bodies", external = (address = "127.0.0.1:${port}", http = ()))`],
  };
}

/**
 * A free port below those that the system hands out by itself. On one of those, a client that connects while nobody
 * listens can be given the very same port and meets itself, and the gateway could not listen there again.
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
