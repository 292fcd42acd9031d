// Operators who close previous layouts in the middle of a round, each through the deployment that is in use. Kills interrupt them, so some objects
// of a layout are closed and others are open.

import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import { ADMIN_TOKEN } from "../../../chaos/operators.ts";
import type { Random } from "../../../chaos/random.ts";

/** Closing makes every object of the layout that does not exist yet, so it is not done all the time. */
const PAUSE_MS = [50, 400] as const;
/** A gateway that is killed ends the call at once, so this is only for one that hangs. */
const PATIENCE_MS = 30_000;

/** How many objects of the layout are open still. */
const CLOSED = v.object({ open: v.number() });

export interface ClosingRun {
  /** A deployment in use: its port, and the previous layouts that it lists. */
  readonly deployment: () => Promise<{ readonly port: number; readonly previous: readonly string[] }>;
  readonly isOver: () => boolean;
  /** Called when a gateway has said that it closed a layout, in whole or in part. */
  readonly onClosed: () => void;
}

export async function closeLayouts({ deployment, isOver, onClosed }: ClosingRun, random: Random): Promise<void> {
  const whole = new Set<string>();
  while (!isOver()) {
    await pause(random.int(...PAUSE_MS));
    const { port, previous } = await deployment();
    if (previous.length === 0) continue;
    // The oldest that has an open object, as a layout is refused while an older one has; when none has, again one that is closed.
    const layout = previous.find((one) => !whole.has(one)) ?? random.pick(previous);
    const url = `http://127.0.0.1:${port}/_onceway/layouts/close`;
    const init = {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      body: JSON.stringify({ layout }),
    };
    const open = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) })
      .then(async (response) => (response.ok ? v.parse(CLOSED, await response.json()).open : null))
      // Killed meanwhile. What it has closed stays closed.
      .catch(() => null);
    if (open !== null) onClosed();
    if (open === 0) whole.add(layout);
  }
}
