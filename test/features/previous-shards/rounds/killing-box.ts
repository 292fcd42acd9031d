// The process of all deployments across its deaths. It is started with a plan of where to stop; when it says that it has
// stopped, it is killed with SIGKILL and started again on the same state with the next plan.

import { setTimeout as pause } from "node:timers/promises";
import type { Died, Outage } from "../../../guarantees/history.ts";
import type { Random } from "../../../chaos/random.ts";
import { type Deployment, type Deployments, prepareDeployments, type Service } from "./deployments.ts";
import { type Point, POINTS, STRIKES_VARIABLE, type Strikes, STRUCK } from "./points.ts";

const POLL_MS = 20;
const OUTPUT_CHARACTERS = 4_000;

/** After how many passes a point may stop the process: some are passed at every request, others once for each object. */
const PASSES: Readonly<Record<Point, number>> = {
  "close-arrived": 20,
  "close-written": 20,
  "close-durable": 20,
  "claim-written": 40,
  "claim-durable": 40,
  "origin-answered": 40,
  "end-written": 40,
  "sent-elsewhere": 10,
  "told-of-closed": 10,
};

export type Counts = Record<Point, number>;

export interface BoxOptions {
  readonly stateDir: string;
  readonly workers: readonly Deployment[];
  readonly objects: Service;
  /** How many kills are wanted at each point. */
  readonly kills: Readonly<Counts>;
}

export interface KillingBox {
  /** Kills at every point that is wanted until `isOver`. `eachTime` is called at every look. */
  killUntil(isOver: () => boolean, eachTime: () => void): Promise<void>;
  killed(): Readonly<Counts>;
  /** Resolves when the process is not being restarted. */
  up(): Promise<void>;
  close(): Promise<void>;
}

/** No kill at any point. */
export function noKills(): Counts {
  return { ...NO_KILLS };
}

const NO_KILLS: Readonly<Counts> = {
  "close-arrived": 0,
  "close-written": 0,
  "close-durable": 0,
  "claim-written": 0,
  "claim-durable": 0,
  "origin-answered": 0,
  "end-written": 0,
  "sent-elsewhere": 0,
  "told-of-closed": 0,
};

export async function startKillingBox(
  { stateDir, workers, objects, kills }: BoxOptions,
  random: Random,
  report: (event: Outage | Died) => void,
): Promise<KillingBox> {
  const killed = noKills();
  let struck: { readonly point: Point; readonly at: number } | null = null;
  let noticed = Promise.withResolvers<void>();
  const prepared = await prepareDeployments({ stateDir, workers, objects, fromEnvironment: [STRIKES_VARIABLE] });
  let up = Promise.withResolvers<void>();
  let running = await start(planNext());

  function planNext(): Strikes {
    const wanted = POINTS.filter((point) => killed[point] < kills[point]);
    return Object.fromEntries(wanted.map((point) => [point, random.int(1, PASSES[point])]));
  }

  async function start(strikes: Strikes): Promise<Deployments> {
    struck = null;
    noticed = Promise.withResolvers();
    const { promise: stopped } = noticed;
    const started = await prepared.start({
      env: { [STRIKES_VARIABLE]: JSON.stringify(strikes) },
      onOutput: notice,
      stopped,
    });
    up.resolve();
    return started;
  }

  function notice(text: string): void {
    const at = text.indexOf(STRUCK);
    if (at < 0) return;
    const point = POINTS.find((name) => text.startsWith(` ${name}\n`, at + STRUCK.length));
    if (point === undefined) return;
    struck = { point, at: Date.now() };
    noticed.resolve();
  }

  async function restart(from: number, strikes: Strikes): Promise<void> {
    up = Promise.withResolvers();
    await running.kill9();
    running = await start(strikes);
    report({ type: "outage", kind: "killed", from, to: Date.now() });
  }

  const look = (): void => {
    if (!running.hasExited()) return;
    report({ type: "died", at: Date.now(), output: running.output().slice(-OUTPUT_CHARACTERS) });
  };

  return {
    async killUntil(isOver, eachTime) {
      while (!isOver()) {
        eachTime();
        if (struck === null) {
          await pause(POLL_MS);
          continue;
        }
        const { point, at } = struck;
        killed[point] += 1;
        await restart(at, planNext());
      }
      // The rest of the run goes through without a kill.
      await restart(Date.now(), {});
    },
    killed: () => killed,
    up: () => up.promise,
    async close() {
      look();
      await running.stop();
      await prepared.remove();
    },
  };
}
