// Many clients that retry as real ones do: the same request with the same key until they know, with some patience, some
// haste, duplicates, connections reset in every phase, and mistakes.

import { setTimeout as pause } from "node:timers/promises";
import type { Ending, Exchange } from "./history.ts";
import type { Operation } from "./operation.ts";
import { makeOperation, requestBody } from "./operation.ts";
import type { Random } from "./random.ts";
import { AMBIGUOUS, REFUSED } from "./routes.ts";
import { exchange } from "./send.ts";
import type { Leaving } from "./send.ts";

/** A client comes no later than this, whatever it is told: the run is short. */
const LONGEST_WAIT_MS = 1_800;
/** Records among which clients come back; older ones have expired. */
const POOL = 300;

/** One key of one scope, as a client keeps it in mind. */
export interface Errand {
  readonly operation: Operation;
  readonly scope: string;
}

export interface Desk {
  readonly port: number;
  /** Every errand of the run. */
  readonly errands: Errand[];
  readonly report: (exchange: Exchange) => void;
  readonly isOver: () => boolean;
}

let sent = 0;

export async function runClient(desk: Desk, random: Random): Promise<void> {
  while (!desk.isOver()) {
    if (random.chance(0.3) && desk.errands.length > 0) await comeBack(desk, random);
    else await begin(desk, random);
    await pause(random.int(0, 150));
  }
}

async function begin(desk: Desk, random: Random): Promise<void> {
  const operation = makeOperation(random);
  const errands = operation.scopes.map((scope) => ({ operation, scope }));
  desk.errands.push(...errands);
  await Promise.all(errands.map((errand) => insist(desk, errand, random)));
}

/** To a key of this run, whoever began it: for its answer, or by mistake for something else. */
async function comeBack(desk: Desk, random: Random): Promise<void> {
  const recent = desk.errands.length - random.int(1, Math.min(POOL, desk.errands.length));
  const errand = desk.errands[recent];
  if (errand === undefined) return;
  if (random.chance(0.15)) await ask(desk, errand, { when: "never" }, { print: "other" });
  else await insist(desk, errand, random);
}

/** Asks until there is an answer, or until patience ends. */
async function insist(desk: Desk, errand: Errand, random: Random): Promise<void> {
  const most = random.weighted([
    [1, 1],
    [1, 3],
    [4, 12],
  ] as const);
  for (let asked = 0; asked < most && !desk.isOver(); asked += 1) {
    const copies = random.chance(0.15) ? random.int(2, 6) : 1;
    const endings = await Promise.all(
      Array.from({ length: copies }, async () => {
        if (copies > 1) await pause(random.int(0, 30));
        return (await ask(desk, errand, leaving(random), { odd: random.chance(0.3) })).ending;
      }),
    );
    const final = endings.find(isFinal);
    if (final !== undefined) {
      // One that does not believe it asks again at once.
      if (random.chance(0.3)) await ask(desk, errand, leaving(random), {});
      if (random.chance(0.08)) await ask(desk, errand, { when: "never" }, { print: "other" });
      return;
    }
    await pause(waitBefore(endings, random));
  }
}

function leaving(random: Random): Leaving {
  return random.weighted<() => Leaving>([
    [75, () => ({ when: "never" })],
    [4, () => ({ when: "sending" })],
    [6, () => ({ when: "after", ms: random.int(0, 12) })],
    [10, () => ({ when: "after", ms: random.int(0, 1_200) })],
    [5, () => ({ when: "head" })],
  ])();
}

interface Wording {
  readonly print?: "first" | "other";
  readonly odd?: boolean;
  readonly calm?: boolean;
}

export async function ask(desk: Desk, errand: Errand, leave: Leaving, wording: Wording): Promise<Exchange> {
  const { operation, scope } = errand;
  const { print = "first", odd = false, calm = false } = wording;
  sent += 1;
  const { key, path, plan } = operation;
  const call = { port: desk.port, id: `q${sent}`, key, scope, path, print, plan, calm };
  const done = await exchange({ ...call, body: requestBody(operation, print, odd) }, leave);
  desk.report(done);
  return done;
}

/** Asking again would change nothing. */
export function isFinal(ending: Ending): boolean {
  if (ending.kind === "none" || !ending.complete) return false;
  switch (ending.code) {
    case null:
      return ending.origin !== null && !REFUSED.includes(ending.status) && !AMBIGUOUS.includes(ending.status);
    case "outcome-unknown":
    case "response-not-kept":
      return true;
    default:
      return false;
  }
}

function waitBefore(endings: readonly Ending[], random: Random): number {
  const told = endings.map((ending) => (ending.kind === "answer" ? (ending.retryAfterMs ?? 0) : 0));
  const wait = Math.min(LONGEST_WAIT_MS, Math.max(150, ...told));
  // Some come too soon, as real ones do.
  return random.chance(0.25) ? random.int(0, 100) : wait * (0.8 + 0.5 * random.next());
}
