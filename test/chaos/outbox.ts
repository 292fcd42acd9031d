// The outbox in a run: operators send events and dead letters again while everything fails. In the end they do it until none is left,
// because a destination that has failed rests for longer than the run lasts.

import { setTimeout as pause } from "node:timers/promises";
import type { OutboxLook } from "../guarantees/history.ts";
import { ask, type OperatorRun } from "./operators.ts";
import type { Random } from "./random.ts";
import { eventsLeft } from "../guarantees/recorders/ledger.ts";

/** Longer than it takes until the alarm looks for the calls of an instance that was lost. */
const RELAYED_MS = 45_000;

export async function runOutboxOperator(
  run: Pick<OperatorRun, "port" | "isOver">,
  destinations: readonly string[],
  random: Random,
): Promise<void> {
  while (!run.isOver()) {
    await pause(random.int(500, 4_000));
    await resend(await run.port(), random.pick(destinations));
  }
}

async function resend(port: number, destination: string): Promise<void> {
  await ask(port, "POST", "/outbox/resend", JSON.stringify({ destination, reason: "chaos", confirm: true }));
}

/** Everything is taken from now on: what is published has to arrive. */
export async function relayAll(
  port: () => number | Promise<number>,
  stateDir: string,
  destinations: readonly string[],
  report: (look: OutboxLook) => void,
): Promise<void> {
  const giveUpAt = Date.now() + RELAYED_MS;
  for (;;) {
    for (const destination of destinations) await resend(await port(), destination);
    await pause(500);
    const left = await eventsLeft(stateDir);
    if (left?.length === 0 || Date.now() > giveUpAt) {
      report({ type: "outbox", at: Date.now(), left: left ?? ["unread"] });
      return;
    }
  }
}
