// The end of a run: no faults any more, and every key of the run is asked until it is settled, however it was left.

import { setTimeout as pause } from "node:timers/promises";
import { ask, isFinal } from "./clients.ts";
import type { Desk, Errand } from "./clients.ts";
import type { Random } from "./random.ts";

const POLL_MS = 150;
const GIVE_UP_MS = 20_000;
/** Few: nothing is to be late here because of the crowd. */
const CLIENTS = 8;

export async function settleAll(desk: Desk, random: Random): Promise<void> {
  const left = [...desk.errands];
  const unsettled: Errand[] = [];
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let errand = left.pop(); errand !== undefined; errand = left.pop()) {
        if (!(await settle(desk, errand, random))) unsettled.push(errand);
      }
    }),
  );
  // Once more, one by one: on a busy machine a large request may not get through in time beside others.
  for (const errand of unsettled) await settle(desk, errand, random);
}

/** False: not in all this time. After the second one the checker has enough to say what is wrong. */
async function settle(desk: Desk, errand: Errand, random: Random): Promise<boolean> {
  const giveUpAt = Date.now() + GIVE_UP_MS;
  while (Date.now() < giveUpAt) {
    const { ending } = await ask(desk, errand, { when: "never" }, { calm: true }, random);
    // Somebody may have used the key for something else first: that answer is as final as any.
    const isReused = ending.kind === "answer" && ending.code === "key-reused";
    if (isFinal(errand, ending) || isReused) return true;
    await pause(POLL_MS);
  }
  return false;
}
