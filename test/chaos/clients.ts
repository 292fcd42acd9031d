// Many clients that retry as real ones do: the same request with the same key until they know, with some patience, some
// haste, duplicates, connections reset in every phase, and mistakes.

import { setTimeout as pause } from "node:timers/promises";
import type { Dimensions } from "./dimensions.ts";
import type { Decision, Ending, Exchange } from "./history.ts";
import type { Operation } from "./operation.ts";
import { makeOperation, requestBody } from "./operation.ts";
import type { Random } from "./random.ts";
import { AMBIGUOUS, POLICIES, REFUSED } from "./routes.ts";
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
  readonly dimensions: Dimensions;
  /** Every errand of the run. */
  readonly errands: Errand[];
  readonly report: (event: Exchange | Decision) => void;
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
  const operation = makeOperation(random, desk.dimensions);
  const errands = operation.scopes.map((scope) => ({ operation, scope }));
  desk.errands.push(...errands);
  const isHerd = operation.waits && desk.dimensions.has("herds") && random.chance(0.08);
  await Promise.all(
    errands.map((errand) => Promise.all([insist(desk, errand, random), isHerd ? herd(desk, errand, random) : null])),
  );
}

/** Duplicates that come together, wait, and mostly leave before they have heard anything. */
async function herd(desk: Desk, errand: Errand, random: Random): Promise<void> {
  await Promise.all(
    Array.from({ length: random.int(10, 30) }, async () => {
      await pause(random.int(0, 60));
      const leaves = random.chance(0.8);
      await ask(desk, errand, leaves ? { when: "after", ms: random.int(20, 500) } : { when: "never" }, {}, random);
    }),
  );
}

/** To a key of this run, whoever began it: for its answer, or by mistake for something else. */
async function comeBack(desk: Desk, random: Random): Promise<void> {
  const recent = desk.errands.length - random.int(1, Math.min(POOL, desk.errands.length));
  const errand = desk.errands[recent];
  if (errand === undefined) return;
  if (random.chance(0.15)) await ask(desk, errand, { when: "never" }, { print: "other" }, random);
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
        const leave = leaving(desk, errand, random);
        return (await ask(desk, errand, leave, { odd: random.chance(0.3) }, random)).ending;
      }),
    );
    const final = endings.find((ending) => isFinal(errand, ending));
    if (final !== undefined) {
      // One that does not believe it asks again at once.
      if (random.chance(0.3)) await ask(desk, errand, leaving(desk, errand, random), {}, random);
      if (random.chance(0.08)) await ask(desk, errand, { when: "never" }, { print: "other" }, random);
      return;
    }
    await pause(waitBefore(endings, random));
  }
}

function leaving({ dimensions }: Desk, { operation }: Errand, random: Random): Leaving {
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
  readonly print?: "first" | "other";
  readonly odd?: boolean;
  readonly calm?: boolean;
}

export async function ask(
  desk: Desk,
  errand: Errand,
  leave: Leaving,
  wording: Wording,
  random: Random,
): Promise<Exchange> {
  const { operation, scope } = errand;
  const { print = "first", odd = false, calm = false } = wording;
  sent += 1;
  const { key, path, plan, questions, credentials, comparesNone } = operation;
  const credential = credentials === 1 ? scope : `${scope} as ${random.int(1, credentials)}`;
  // Where no bodies are compared there is nothing else to ask for.
  const meant = comparesNone ? "first" : print;
  const call = { port: desk.port, id: `q${sent}`, key, scope, credential, path, print: meant, plan, questions, calm };
  const done = await exchange({ ...call, body: requestBody(operation, print, odd) }, leave);
  desk.report(done);
  return done;
}

/** Asking again would change nothing. */
export function isFinal({ operation }: Errand, ending: Ending): boolean {
  if (ending.kind === "none" || !ending.complete) return false;
  switch (ending.code) {
    case null:
      return ending.origin !== null && !REFUSED.includes(ending.status) && !AMBIGUOUS.includes(ending.status);
    case "outcome-unknown":
      return POLICIES[operation.path]?.unknown === "hold";
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
