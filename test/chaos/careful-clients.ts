// Clients that send nothing blindly: after each try without a result they ask what became of their key, and do what they are told. Where a new key is safe
// they begin the operation afresh with one.

import { setTimeout as pause } from "node:timers/promises";
import { ask, isFinal, type Run, type Task } from "./clients.ts";
import type { Ending } from "../guarantees/history.ts";
import { beginAfresh, giveUp, lookUp } from "./keys.ts";
import { makeOperation } from "./operation.ts";
import type { Random } from "./random.ts";
import { hasLookUps } from "./routes.ts";

const TRIES = 8;
const MAX_WAIT_MS = 1_800;

/** Nobody else uses its keys before the final phase. */
export async function runCarefulClient(run: Run, random: Random): Promise<void> {
  while (!run.isOver()) {
    const operation = makeOperation(random, run.dimensions);
    const [scope] = operation.scopes;
    if (scope !== undefined && hasLookUps(operation.path) && !operation.isAccepting && !operation.isHuge)
      await finish(run, { operation, scope }, random);
    await pause(random.int(0, 150));
  }
}

async function finish(run: Run, first: Task, random: Random): Promise<void> {
  let task = first;
  /** One of its requests may still be on its way. */
  let isOut = false;
  for (let left = TRIES; left > 0 && !run.isOver(); left -= 1) {
    const leaves = random.chance(0.15);
    const { ending } = await ask(
      run,
      task,
      leaves ? { when: "after", ms: random.int(0, 900) } : { when: "never" },
      {},
      random,
    );
    isOut ||= ending.kind === "none" || !ending.complete;
    if (isFinal(task, ending)) break;
    const { report, ending: answer } = await lookUp(run, task);
    const isSafe = report?.safeNewKey === true || saysSafe(ending);
    if (isSafe && !isOut && random.chance(0.8)) {
      task = beginAfresh(run, task, "safe", random);
    } else if (isSafe && (await giveUp(run, task, random))) {
      run.kept.push(task);
      task = beginAfresh(run, task, "abandoned", random);
      isOut = false;
    } else if (report?.next === "read-api") break;
    else await pause(Math.min(MAX_WAIT_MS, waitIn(answer) + random.int(0, 200)));
  }
  run.kept.push(task);
}

function saysSafe(ending: Ending): boolean {
  return ending.kind === "answer" && ending.safeNewKey === true;
}

function waitIn(ending: Ending): number {
  return ending.kind === "answer" ? (ending.retryAfterMs ?? 0) : 0;
}
