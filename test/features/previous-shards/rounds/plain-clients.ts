// Clients that send as fast as they are answered: new keys, and recent keys again. The clients of test/chaos, with their pauses and
// the faults that they plan for the origin, run beside them.

import { ask, type Run, type Task } from "../../../chaos/clients.ts";
import type { Operation } from "../../../chaos/operation.ts";
import type { Random } from "../../../chaos/random.ts";
import { routesOf } from "../../../chaos/routes.ts";

const NEVER = { when: "never" } as const;
/** So many of the latest keys are asked for again; older ones have mostly expired. */
const POOL = 400;
const TRIES = 3;

export async function runPlainClient(run: Run, random: Random): Promise<void> {
  while (!run.isOver()) {
    const again = run.tasks.length > 0 && random.chance(0.45) ? recentTask(run, random) : undefined;
    if (again !== undefined) {
      await ask(run, again, NEVER, {}, random);
      continue;
    }
    const task = { operation: plainOperation(run, random), scope: "Bearer ann" };
    run.tasks.push(task);
    await insist(run, task, random);
  }
}

function recentTask({ tasks }: Run, random: Random): Task | undefined {
  return tasks[tasks.length - random.int(1, Math.min(POOL, tasks.length))];
}

async function insist(run: Run, task: Task, random: Random): Promise<void> {
  for (let asked = 0; asked < TRIES && !run.isOver(); asked += 1) {
    const { ending } = await ask(run, task, NEVER, {}, random);
    if (ending.kind === "answer") return;
  }
}

/** The origin carries it out and answers at once. */
function plainOperation({ dimensions }: Run, random: Random): Operation {
  const { path, json, selected, none, duplicate } = random.pick(routesOf(dimensions));
  return {
    key: `${path.slice(1)}-${random.hex(16)}`,
    path,
    scopes: ["Bearer ann"],
    plan: "[]",
    verifications: "[]",
    isUndone: false,
    credentials: 1,
    bodyBytes: random.int(2, 300),
    isHuge: false,
    comparesNone: none === true,
    isAccepting: false,
    hasTokens: false,
    isCall: false,
    isSigned: false,
    waits: duplicate !== "reject",
    isJson: json === true,
    isSelected: selected === true,
  };
}
