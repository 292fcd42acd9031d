// The gateway of a run across its processes: it is killed and restarted on the same state and port, stopped and continued.
// Reports each fault that took effect, with its start and end.

import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { startWorkerd } from "../support/gateway.ts";
import type { Gateway, WorkerdOptions } from "../support/gateway.ts";
import { rawRequest } from "../support/http.ts";
import { freePort } from "../support/ports.ts";
import type { Died, Outage } from "../guarantees/history.ts";

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
  const port = await freePort();
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
      gateway = await gateway.restart();
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
