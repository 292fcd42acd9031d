// The client of an origin with state (stand-in-process.ts): starts it, and reads what it has done.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import * as v from "valibot";

export interface StandInOptions {
  /** How long what was done does not show in reads. */
  readonly lagMs: number;
  /** How long a request with the fate `late` waits before it acts. */
  readonly lateMs: number;
}

/**
 * What becomes of a request, as its header `x-fate` says: `lost` before it has acted, `acted` and its answer is lost, `late`: its connection is lost, and
 * it acts later. Without the header it acts and is answered.
 */
export type Fate = "lost" | "acted" | "late";

export interface StandInEffect {
  readonly id: string;
  readonly path: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

const journal = v.object({
  effects: v.array(
    v.object({ id: v.string(), path: v.string(), at: v.number(), fields: v.record(v.string(), v.unknown()) }),
  ),
  reads: v.array(v.object({ path: v.string(), at: v.number(), authorization: v.string() })),
  arrivals: v.array(v.object({ path: v.string(), at: v.number(), attempt: v.string() })),
});

export interface StandIn {
  readonly url: string;
  journal(): Promise<v.InferOutput<typeof journal>>;
  close(): Promise<void>;
}

export async function startStandIn(options: StandInOptions): Promise<StandIn> {
  const file = fileURLToPath(new URL("./stand-in-process.ts", import.meta.url));
  // No inherited flags: it must not load the test runner.
  const child = fork(file, [JSON.stringify(options)], { execArgv: [] });
  const message: unknown = await new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the stand-in ended with code ${code} before it was ready`)));
  });
  const { url } = v.parse(v.object({ url: v.string() }), message);
  return {
    url,
    journal: async () => v.parse(journal, await (await fetch(`${url}/journal`)).json()),
    async close() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}
