// One round: the clients of test/chaos send through several deployments at once, chosen at random for each request, while the
// process is killed at the named points. The deployments in use change with the number of requests sent: the first layout
// alone, a second one beside it, a third, a fourth without the first, the fourth alone, and the configuration rolled back to the
// first two. Everything goes into a history that the checker of test/chaos reads.

import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { type Run, runClient, settleAll } from "../../../chaos/clients.ts";
import type { Dimensions } from "../../../chaos/dimensions.ts";
import type { HistoryEvent } from "../../../guarantees/history.ts";
import { watchLag, watchPulse } from "../../../guarantees/recorders/lag.ts";
import { awaitAlarms } from "../../../guarantees/recorders/ledger.ts";
import { ADMIN_TOKEN, runOperator } from "../../../chaos/operators.ts";
import { startChaosOrigin } from "../../../chaos/origin-client.ts";
import { createRandom, type Random } from "../../../chaos/random.ts";
import { AMBIGUOUS, gatewayVars, policiesOf, REFUSED } from "../../../chaos/routes.ts";
import type { VariableValue } from "../../../../src/serve/workerd-config.ts";
import { makeStateDir } from "../../../support/gateway.ts";
import { freePort } from "../../../support/ports.ts";
import { Progress } from "../../../support/progress.ts";
import { runPlainClient } from "./plain-clients.ts";
import { closeLayouts } from "./closers.ts";
import { type Deployment, type Service, withLayout } from "./deployments.ts";
import { startKillingBox } from "./killing-box.ts";
import { type Point, POINTS } from "./points.ts";

const NAMES = ["32", "64", "96", "128"] as const;
type Name = (typeof NAMES)[number];

interface LayoutSettings extends Readonly<Record<string, VariableValue>> {
  readonly shards: number;
  readonly previous_shards?: readonly number[];
}

/** What the deployments have as their layouts. */
export const PLANS = {
  /** Each has its own, and lists those before it. */
  listed: {
    32: { shards: 32 },
    64: { shards: 64, previous_shards: [32] },
    96: { shards: 96, previous_shards: [32, 64] },
    128: { shards: 128, previous_shards: [32, 64, 96] },
  },
  /** Each has its own and knows of no other, as before there was `previous_shards`. The checker must find what that breaks. */
  strangers: { 32: { shards: 32 }, 64: { shards: 64 }, 96: { shards: 96 }, 128: { shards: 128 } },
  /** The last two have forgotten the second, which is safe: the closed objects of the first name it. */
  forgetful: {
    32: { shards: 32 },
    64: { shards: 64, previous_shards: [32] },
    96: { shards: 96, previous_shards: [32] },
    128: { shards: 128, previous_shards: [32, 96] },
  },
  /** All have the same. The checker must find nothing, whatever the code. */
  one: { 32: { shards: 32 }, 64: { shards: 32 }, 96: { shards: 32 }, 128: { shards: 32 } },
} as const satisfies Readonly<Record<string, Readonly<Record<Name, LayoutSettings>>>>;
export type Plan = keyof typeof PLANS;

/** Which deployments are in use from which part of the requests on. */
const PHASES: readonly { readonly from: number; readonly names: readonly Name[] }[] = [
  { from: 0, names: ["32"] },
  { from: 0.1, names: ["32", "64"] },
  { from: 0.35, names: ["32", "64", "96"] },
  { from: 0.55, names: ["64", "96", "128"] },
  { from: 0.75, names: ["128"] },
  { from: 0.88, names: ["32", "64"] },
];

const OPERATORS = 2;

/** How often layouts are closed in a round, if there are any. */
const CLOSES = 4;

/** How many times its requests a round sends at most until each point has stopped it, and layouts were closed so often. */
const MOST_TIMES = 5;

export interface RoundOptions {
  readonly seed: string;
  readonly requests: number;
  readonly clients: number;
  readonly dimensions: Dimensions;
  /** How often to kill the process at each point, as far as the round reaches it. */
  readonly kills: Readonly<Record<Point, number>>;
  /** The entry of all services. */
  readonly main: string;
  readonly plan: Plan;
  /** The history is written here, one JSON object per line. */
  readonly file: string;
}

export interface RoundResult {
  /** How often the process was killed at each point. */
  readonly killed: Readonly<Record<Point, number>>;
  readonly requests: number;
  /** How often an operator closed a layout. */
  readonly closed: number;
}

/** A deployment, and the previous layouts that it lists. */
interface PlannedWorker extends Deployment {
  readonly previous: readonly string[];
}

export async function runRound(options: RoundOptions): Promise<RoundResult> {
  const { seed, requests, clients, dimensions, file } = options;
  const output = createWriteStream(file);
  let sent = 0;
  const report = (event: HistoryEvent): void => {
    // Only what was answered counts: much is cut off by kills.
    if (event.type === "exchange" && event.ending.kind === "answer") sent += 1;
    output.write(`${JSON.stringify(event)}\n`);
  };
  report({
    type: "meta",
    seed,
    seconds: 0,
    startedAt: Date.now(),
    policies: policiesOf(dimensions),
    refused: REFUSED,
    ambiguous: AMBIGUOUS,
  });
  const random = createRandom(seed, "round");
  const stateDir = await makeStateDir();
  const origin = await startChaosOrigin(await freePort(), report);
  const workers = await makeWorkers(options, origin.url);
  let closed = 0;
  const box = await startKillingBox(
    { stateDir, workers, objects: objectsOf(options, origin.url), kills: options.kills },
    createRandom(seed, "kills"),
    report,
  );
  const stopWatching = watchLag(report);
  const stopPulse = await watchPulse(workers[0]?.port ?? 0, stateDir, report);
  const progress = new Progress("requests", requests);
  try {
    // How often a point is reached, and a layout closed, in so many requests depends on the machine: a round goes on until both were, within reason.
    const wanted = workers.some(({ previous }) => previous.length > 0) ? CLOSES : 0;
    const isDone = (): boolean =>
      closed >= wanted && POINTS.every((point) => options.kills[point] === 0 || box.killed()[point] > 0);
    const isOver = (): boolean => sent >= requests && (isDone() || sent >= MOST_TIMES * requests);
    const pick = async (chance: Random): Promise<PlannedWorker> => {
      await box.up();
      return pickWorker(workers, sent / requests, chance);
    };
    const port = async (): Promise<number> => (await pick(random)).port;
    const run: Run = {
      port,
      dimensions,
      tasks: [],
      kept: [],
      issuer: null,
      agents: null,
      monitors: new Map(),
      report,
      isOver,
    };
    const closing = createRandom(seed, "closers");
    await Promise.all([
      ...Array.from({ length: clients }, (_, n) =>
        (n % 4 === 0 ? runClient : runPlainClient)(run, createRandom(seed, `client ${n}`)),
      ),
      ...Array.from({ length: dimensions.has("operators") ? OPERATORS : 0 }, (_, n) =>
        runOperator(run, createRandom(seed, `operator ${n}`)),
      ),
      closeLayouts({ deployment: () => pick(closing), isOver, onClosed: () => (closed += 1) }, closing),
      box.killUntil(isOver, () => progress.show(sent)),
    ]);
    await origin.tell("calm");
    await settleAll(run, createRandom(seed, "calm"));
    report(await awaitAlarms(stateDir));
  } finally {
    progress.end();
    stopWatching();
    await stopPulse();
    await box.close();
    await origin.close();
    await rm(stateDir, { recursive: true, force: true });
    output.end();
    await finished(output);
  }
  return { killed: box.killed(), requests: sent, closed };
}

async function makeWorkers(options: RoundOptions, originUrl: string): Promise<readonly PlannedWorker[]> {
  const workers: PlannedWorker[] = [];
  for (const name of NAMES) {
    const layout: LayoutSettings = PLANS[options.plan][name];
    const previous = (layout.previous_shards ?? []).map(String);
    workers.push({ ...serviceOf(options, originUrl, name), name, port: await freePort(), previous });
  }
  return workers;
}

function objectsOf(options: RoundOptions, originUrl: string): Service {
  return serviceOf(options, originUrl, NAMES[0]);
}

function serviceOf({ dimensions, main, plan }: RoundOptions, originUrl: string, name: Name): Service {
  const vars = { ...gatewayVars(originUrl, 64, dimensions), ADMIN_TOKEN };
  return { main, vars: withLayout(vars, PLANS[plan][name]) };
}

/** After the phases, in the calm, the deployments of the last one. */
function pickWorker(workers: readonly PlannedWorker[], part: number, random: Random): PlannedWorker {
  const { names } = PHASES.findLast(({ from }) => part >= from) ?? { names: NAMES };
  const chosen = random.pick(names);
  const worker = workers.find(({ name }) => name === chosen);
  if (worker === undefined) throw new Error(`there is no deployment ${chosen}`);
  return worker;
}
