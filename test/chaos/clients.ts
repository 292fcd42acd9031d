// Many clients that retry as real ones do: the same request with the same key until they have a final answer, sometimes too
// soon, with duplicates, with connections reset in every phase, and with mistakes.

import { setTimeout as pause } from "node:timers/promises";
import type { Issuer } from "../support/issuer.ts";
import type { ChaosAgents } from "./agents.ts";
import type { Dimensions } from "./dimensions.ts";
import type {
  Decision,
  Ending,
  Exchange,
  KeyQuestion,
  Look,
  NewKey,
  ObservedCall,
  ObservedReport,
} from "../guarantees/history.ts";
import type { Operation } from "./operation.ts";
import { giveUpSometimes } from "./keys.ts";
import { followMonitor, lookAtEnd, preferenceOf } from "./monitors.ts";
import { credentialOf, makeOperation, requestBody } from "./operation.ts";
import type { Random } from "./random.ts";
import { AMBIGUOUS, hasLookUps, POLICIES, REFUSED } from "./routes.ts";
import { exchange } from "./send.ts";
import type { Leaving } from "./send.ts";

/** Longest wait before a retry, whatever Retry-After says, because the run is short. */
const MAX_WAIT_MS = 1_800;
/** Clients return to one of so many recent records; older ones have expired. */
const POOL = 300;

const POLL_MS = 150;
const GIVE_UP_MS = 20_000;
/** Few, so that load does not delay the final phase. */
const FINAL_CLIENTS = 8;

/** One key of one scope that a client works on. */
export interface Task {
  readonly operation: Operation;
  readonly scope: string;
}

export interface Run {
  /** Where the next request goes. May resolve late, while nobody is there. */
  readonly port: () => number | Promise<number>;
  readonly dimensions: Dimensions;
  /** Every task of the run. */
  readonly tasks: Task[];
  /** Tasks that their own clients alone may ask about until the final phase. */
  readonly kept: Task[];
  /** Signs tokens; null: no route wants any. */
  readonly issuer: Pick<Issuer, "token"> | null;
  /** Signs requests; null: no route wants any signed. */
  readonly agents: Pick<ChaosAgents, "sign"> | null;
  /** The monitor of each task that was accepted. */
  readonly monitors: Map<Task, string>;
  readonly report: (event: Exchange | Decision | Look | KeyQuestion | NewKey | ObservedCall | ObservedReport) => void;
  readonly isOver: () => boolean;
}

let sent = 0;

export async function runClient(run: Run, random: Random): Promise<void> {
  while (!run.isOver()) {
    if (random.chance(0.3) && run.tasks.length > 0) await comeBack(run, random);
    else await begin(run, random);
    await pause(random.int(0, 150));
  }
}

async function begin(run: Run, random: Random): Promise<void> {
  const operation = makeOperation(random, run.dimensions);
  const tasks = operation.scopes.map((scope) => ({ operation, scope }));
  run.tasks.push(...tasks);
  const isHerd = operation.waits && run.dimensions.has("herds") && random.chance(0.08);
  await Promise.all(
    tasks.map((task) => Promise.all([insist(run, task, random), isHerd ? herd(run, task, random) : null])),
  );
}

/** Duplicates that come together and wait; most leave before they get an answer. */
async function herd(run: Run, task: Task, random: Random): Promise<void> {
  await Promise.all(
    Array.from({ length: random.int(10, 30) }, async () => {
      await pause(random.int(0, 60));
      const leaves = random.chance(0.8);
      await ask(run, task, leaves ? { when: "after", ms: random.int(20, 500) } : { when: "never" }, {}, random);
    }),
  );
}

/** Returns to a key of this run: for its answer, or by mistake with a different request. */
async function comeBack(run: Run, random: Random): Promise<void> {
  const recent = run.tasks.length - random.int(1, Math.min(POOL, run.tasks.length));
  const task = run.tasks[recent];
  if (task === undefined) return;
  if (random.chance(0.15)) await ask(run, task, { when: "never" }, { fingerprint: "other" }, random);
  else await insist(run, task, random);
}

/** Retries until there is a final answer or the client gives up. */
async function insist(run: Run, task: Task, random: Random): Promise<void> {
  const most = random.weighted([
    [1, 1],
    [1, 3],
    [4, 12],
  ] as const);
  const asksAboutKeys = run.dimensions.has("look-ups") && hasLookUps(task.operation.path);
  for (let asked = 0; asked < most && !run.isOver(); asked += 1) {
    const copies = random.chance(0.15) ? random.int(2, 6) : 1;
    const endings = await Promise.all(
      Array.from({ length: copies }, async () => {
        if (copies > 1) await pause(random.int(0, 30));
        const leave = leaving(run, task, random);
        return (await ask(run, task, leave, { odd: random.chance(0.3) }, random)).ending;
      }),
    );
    if (task.operation.isAccepting) await followMonitor(run, task, endings, random);
    const final = endings.find((ending) => isFinal(task, ending));
    if (final !== undefined) {
      // Some clients ask again at once.
      if (random.chance(0.3)) await ask(run, task, leaving(run, task, random), {}, random);
      if (random.chance(0.08)) await ask(run, task, { when: "never" }, { fingerprint: "other" }, random);
      return;
    }
    const afresh = asksAboutKeys ? await giveUpSometimes(run, task, random) : null;
    if (afresh !== null) {
      run.tasks.push(afresh);
      return insist(run, afresh, random);
    }
    await pause(waitBefore(endings, random));
  }
}

function leaving({ dimensions }: Run, { operation }: Task, random: Random): Leaving {
  if (operation.isHuge && dimensions.has("stalls") && random.chance(0.6)) {
    return { when: "stalled", ms: random.int(300, 3_500), leaves: random.chance(0.4) };
  }
  return random.weighted<() => Leaving>([
    [75, () => ({ when: "never" })],
    [4, () => ({ when: "sending" })],
    [6, () => ({ when: "after", ms: random.int(0, 12) })],
    [10, () => ({ when: "after", ms: random.int(0, 1_200) })],
    [5, () => ({ when: "head" })],
  ])();
}

interface Wording {
  readonly fingerprint?: "first" | "other";
  readonly odd?: boolean;
  readonly calm?: boolean;
}

export async function ask(run: Run, task: Task, leave: Leaving, wording: Wording, random: Random): Promise<Exchange> {
  const { operation, scope } = task;
  const { fingerprint = "first", odd = false, calm = false } = wording;
  sent += 1;
  const id = `q${sent}`;
  const { key, path, plan, verifications, credentials, comparesNone } = operation;
  const caller = credentials === 1 ? scope : `${scope} as ${random.int(1, credentials)}`;
  const credential = await credentialOf(run.issuer, operation, caller);
  // Where bodies are not compared, every request is a retry.
  const meant = comparesNone ? "first" : fingerprint;
  const call = {
    port: await run.port(),
    id,
    key,
    scope,
    credential,
    path,
    fingerprint: meant,
    plan,
    verifications,
    calm,
    prefer: preferenceOf(task, random),
    agents: operation.isSigned ? run.agents : null,
  };
  const done = await exchange({ ...call, body: requestBody(operation, fingerprint, odd, id) }, leave);
  run.report(done);
  return done;
}

/** Whether another retry would change nothing. */
export function isFinal({ operation }: Task, ending: Ending): boolean {
  if (ending.kind === "none" || !ending.complete) return false;
  switch (ending.code) {
    case null:
      return ending.origin !== null && !REFUSED.includes(ending.status) && !AMBIGUOUS.includes(ending.status);
    case "outcome-unknown":
      return POLICIES[operation.path]?.unknown === "hold" || operation.isUndone;
    case "response-not-kept":
    case "key-expired":
    case "key-abandoned":
      return true;
    default:
      return false;
  }
}

function waitBefore(endings: readonly Ending[], random: Random): number {
  const reported = endings.map((ending) => (ending.kind === "answer" ? (ending.retryAfterMs ?? 0) : 0));
  const wait = Math.min(MAX_WAIT_MS, Math.max(150, ...reported));
  // Some retry too soon, as real clients do.
  return random.chance(0.25) ? random.int(0, 100) : wait * (0.8 + 0.5 * random.next());
}

/** The end of a run, without faults: asks for every key until it is settled. */
export async function settleAll(run: Run, random: Random): Promise<void> {
  const left = [...run.tasks];
  const unsettled: Task[] = [];
  await Promise.all(
    Array.from({ length: FINAL_CLIENTS }, async () => {
      for (let task = left.pop(); task !== undefined; task = left.pop()) {
        if (!(await settle(run, task, random))) unsettled.push(task);
      }
    }),
  );
  // Tries again one by one, because on a busy machine a large request may time out beside others.
  for (const task of unsettled) await settle(run, task, random);
}

/** False if the key was not settled in time. After the second failure the checker reports it. */
async function settle(run: Run, task: Task, random: Random): Promise<boolean> {
  const giveUpAt = Date.now() + GIVE_UP_MS;
  while (Date.now() < giveUpAt) {
    const { ending } = await ask(run, task, { when: "never" }, { calm: true }, random);
    // A different request may have used the key first: this answer is final too.
    const isReused = ending.kind === "answer" && ending.code === "key-reused";
    if (isFinal(task, ending) || isReused) {
      await lookAtEnd(run, task);
      return true;
    }
    await pause(POLL_MS);
  }
  return false;
}
