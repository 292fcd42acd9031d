// Notices when the machine is too busy: this process does not get the processor in time, the gateway is slow to answer a
// request that needs no storage, or the disk is slow to do a small write. Deadlines of milliseconds may then be missed.

import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { rawRequest } from "../../support/http.ts";
import { watchStalls } from "../../support/stalls.ts";
import type { Outage } from "../history.ts";

const EVERY_MS = 50;
const LATE_MS = 150;

type Report = (outage: Outage) => void;

/** Watches this process, and the gateways that it stops. Returns a function that stops watching. */
export function watchLag(report: Report): () => void {
  let last = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - last > EVERY_MS + LATE_MS) report({ type: "outage", kind: "lag", from: last, to: now });
    last = now;
  }, EVERY_MS);
  timer.unref();
  const unwatchStalls = watchStalls((from, to) => report({ type: "outage", kind: "stopped", from, to }));
  return () => {
    clearInterval(timer);
    unwatchStalls();
  };
}

/** Watches the gateway and the disk below its state. Returns a function that stops watching. */
export async function watchPulse(port: number, stateDir: string, report: Report): Promise<() => Promise<void>> {
  const disk = await open(join(stateDir, "pulse"), "w");
  const end = new AbortController();
  const timed = async (kind: "lag" | "slow-disk", doing: () => Promise<unknown>): Promise<void> => {
    const from = Date.now();
    await doing().catch(() => undefined);
    const to = Date.now();
    if (to - from > LATE_MS) report({ type: "outage", kind, from, to });
  };
  const beat = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await timed("lag", () => rawRequest({ host: "127.0.0.1", port, method: "GET", target: PULSE_PATH }));
      await timed("slow-disk", async () => {
        await disk.write("pulse", 0);
        await disk.sync();
      });
      await pause(EVERY_MS * 2);
    }
  };
  const beating = beat();
  return async () => {
    end.abort();
    await beating;
    await disk.close();
  };
}

const PULSE_PATH = "/.well-known/idempotency";
