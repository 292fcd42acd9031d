// Operators who close previous layouts in the middle of a round, each through the deployment that is in use. Kills interrupt them, so some objects
// of a layout are closed and others are open.

import { setTimeout as pause } from "node:timers/promises";
import { ADMIN_TOKEN } from "../chaos/operators.ts";
import type { Random } from "../chaos/random.ts";

/** Closing makes every object of the layout that does not exist yet, so it is not done all the time. */
const PAUSE_MS = [500, 5_000] as const;
const PATIENCE_MS = 5_000;

export interface ClosingRun {
  /** A deployment in use: its port, and the previous layouts that it lists. */
  readonly deployment: () => Promise<{ readonly port: number; readonly previous: readonly string[] }>;
  readonly isOver: () => boolean;
}

/** Resolves to how many times a gateway has said that it closed a layout. */
export async function closeLayouts({ deployment, isOver }: ClosingRun, random: Random): Promise<number> {
  let closed = 0;
  while (!isOver()) {
    await pause(random.int(...PAUSE_MS));
    const { port, previous } = await deployment();
    if (previous.length === 0) continue;
    const url = `http://127.0.0.1:${port}/_onceway/layouts/${random.pick(previous)}/close`;
    const init = { method: "POST", headers: { authorization: `Bearer ${ADMIN_TOKEN}` } };
    const status = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) }).then(
      async (response) => {
        await response.body?.cancel();
        return response.status;
      },
      // Killed meanwhile. What it has closed stays closed.
      () => null,
    );
    if (status === 200) closed += 1;
  }
  return closed;
}
