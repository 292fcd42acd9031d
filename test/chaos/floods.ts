// One caller sends many slow requests at once to a route that accepts them, each with another credential that it has made up, and others
// send one each and want their turn. Each caller has an address and by it a lane of its own, and the route an object of its own. All ask their monitors whether they still wait, so that the history says
// who certainly waited while somebody else's attempt began.

import { setTimeout as pause } from "node:timers/promises";
import { ask, type Run, type Task } from "./clients.ts";
import type { Ending } from "../guarantees/history.ts";
import { readMonitor } from "./monitors.ts";
import type { Operation } from "./operation.ts";
import type { Random } from "./random.ts";
import { TURNS_PATH } from "./routes.ts";
import { FLOODER, LANE_CALLERS } from "./callers.ts";
import { CALM, type Step } from "./steps.ts";

/** With four at a time they take about two and a half seconds. */
const FLOOD = 20;
const OTHERS = 3;
const SLOW_MS = [400, 600] as const;
const TRIES = 4;
const POLL_MS = 60;
const FLOOD_POLL_MS = 600;
/** Longer than a flood takes. */
const ASKED_MS = 10_000;

/** Floods until the run is over. Returns what has to be settled then. */
export async function runFloods(run: Run, random: Random): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  for (let round = 0; !run.isOver(); round += 1) {
    const flood = Array.from({ length: FLOOD }, () => slowTask(`${FLOODER} ${random.hex(8)}`, random));
    const others = Array.from({ length: OTHERS }, (_, nth) =>
      slowTask(LANE_CALLERS[(round * OTHERS + nth) % LANE_CALLERS.length] ?? "", random),
    );
    tasks.push(...flood, ...others);
    await Promise.all(flood.map((task) => send(run, task, random)));
    // One after the other, so that it is known who came first. Those of the flood that still wait then begin later.
    const asked: Promise<void>[] = [];
    for (const task of others) {
      await send(run, task, random);
      asked.push(askWhileWaiting(run, task, POLL_MS));
      await pause(5);
    }
    const isServed = Promise.all(asked).then(() => true);
    await Promise.all(flood.map((task) => askWhileWaiting(run, task, FLOOD_POLL_MS, isServed)));
    await isServed;
    await pause(random.int(3_000, 5_000));
    // Who has his result has nothing in flight when he comes again.
    await Promise.all(others.map((task) => send(run, task, random)));
  }
  return tasks;
}

async function send(run: Run, task: Task, random: Random): Promise<void> {
  for (let left = TRIES; left > 0 && !run.isOver(); left -= 1) {
    const { ending } = await ask(run, task, { when: "never" }, {}, random);
    const monitor = monitorIn(ending);
    if (monitor !== null) run.monitors.set(task, monitor);
    if (ending.kind === "answer") return;
    await pause(100);
  }
}

function monitorIn(ending: Ending): string | null {
  return ending.kind === "answer" ? ending.monitor : null;
}

/** Asks its monitor until that says that an attempt has begun, or until `isOver`. */
async function askWhileWaiting(run: Run, task: Task, everyMs: number, isOver?: Promise<boolean>): Promise<void> {
  const monitor = run.monitors.get(task);
  if (monitor === undefined) return;
  const giveUpAt = Date.now() + ASKED_MS;
  while (!run.isOver() && Date.now() < giveUpAt) {
    const { ending } = await readMonitor(run, task, monitor);
    // While the gateway is down there is no answer.
    if (ending.kind === "answer" && ending.isUnbegun !== true) return;
    if (await Promise.race([pause(everyMs, false), ...(isOver === undefined ? [] : [isOver])])) return;
  }
}

function slowTask(scope: string, random: Random): Task {
  const step: Step = { ...CALM, delayMs: random.int(...SLOW_MS) };
  const operation: Operation = {
    key: `${TURNS_PATH.slice(1)}-${random.hex(16)}`,
    path: TURNS_PATH,
    scopes: [scope],
    plan: JSON.stringify([step]),
    verifications: "[]",
    isUndone: false,
    credentials: 1,
    bodyBytes: random.int(2, 300),
    isHuge: false,
    comparesNone: false,
    // It prefers nothing.
    isAccepting: false,
    hasTokens: false,
    isCall: false,
    isSigned: false,
    waits: true,
    isJson: false,
    isSelected: false,
  };
  return { operation, scope };
}
