// One round of evidence for queues: messages, and a SIGKILL of the gateway at each named point, several times. What became of the
// messages is read from the journals of the broker and of the origin, never from an answer.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { HistoryEvent, Outage } from "../../../guarantees/history.ts";
import { watchLag } from "../../../guarantees/recorders/lag.ts";
import { type Consumer, QUEUE, type QueueScene, startQueueScene } from "./scene.ts";
import { historyOf } from "./history.ts";

export type { Consumer } from "./scene.ts";

/** Where the gateway is killed: what the other processes see of its work, and which of them. */
const SEEN_BY = {
  /** A batch has been sent to it: before the claims, or soon after. */
  delivered: "broker",
  /** The request is at the origin, which has not acted. */
  "origin-arrived": "origin",
  /** The origin has acted and not answered. */
  "origin-acted": "origin",
  /** The origin has answered: before the result is written, or soon after. */
  "origin-answered": "origin",
  /** The origin is asked whether it has acted. */
  "origin-asked": "origin",
  /** All of a batch is decided, and nothing of that has reached the broker's journal. */
  decided: "broker",
  /** A message is in its back-off. */
  retried: "broker",
  /** A dead letter has reached its queue and is not accepted. */
  "letter-arrived": "broker",
  /** It is accepted, and its message not acknowledged. */
  "letter-answered": "broker",
} as const satisfies Readonly<Record<string, "broker" | "origin">>;

export type Point = keyof typeof SEEN_BY;

const ALWAYS: readonly Point[] = ["delivered", "origin-arrived", "origin-acted", "origin-answered", "decided"];

/** Points that come only after an attempt has been lost. */
const AFTER_A_LOSS: Readonly<Record<Consumer, readonly Point[]>> = {
  unprotected: [],
  retry: ["retried"],
  verify: ["retried", "origin-asked"],
  hold: ["retried"],
};

/** Points that come without a loss, if the gateway decides. */
const OF_LETTERS: readonly Point[] = ["letter-arrived", "letter-answered"];

export function pointsOf(consumer: Consumer): readonly Point[] {
  return [...ALWAYS, ...(consumer === "unprotected" ? [] : OF_LETTERS), ...AFTER_A_LOSS[consumer]];
}

export interface RoundOptions {
  readonly consumer: Consumer;
  /** How often the gateway is killed at each point. */
  readonly kills: number;
  readonly points: readonly Point[];
  readonly seed: number;
  /** Called after each kill. */
  readonly report?: (killed: Readonly<Partial<Record<Point, number>>>) => void;
}

export interface Round {
  readonly history: readonly HistoryEvent[];
  readonly killed: Readonly<Partial<Record<Point, number>>>;
  readonly seconds: number;
}

/** Sent together; the next ones when these are over. */
const MESSAGES = 20;

export async function runRound(options: RoundOptions): Promise<Round> {
  const begun = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "onceway-queues-"));
  const broker = { batch: 5, concurrency: 3, lostAcks: 0.05, duplicates: 0.05, seed: options.seed };
  const outages: Outage[] = [];
  const report = (outage: Outage): void => void outages.push(outage);
  const settings = { consumer: options.consumer, giveUpMs: 64_000, timeoutMs: 2_000 };
  const scene = await startQueueScene({ folder, broker, report, ...settings });
  const stopWatching = watchLag(report);
  try {
    const killed: Partial<Record<Point, number>> = {};
    const state = { isOver: false };
    const send = async (): Promise<void> => {
      for (let sent = 0; !state.isOver; sent += MESSAGES) {
        await scene.broker.send(
          QUEUE,
          Array.from({ length: MESSAGES }, (_, n) => messageOf(sent + n, options.consumer)),
        );
      }
    };
    const killing = killAtPoints(options, scene, killed).finally(() => (state.isOver = true));
    await Promise.all([killing, send()]);
    return {
      history: await historyOf(scene, settings, outages),
      killed,
      seconds: Math.round((performance.now() - begun) / 1000),
    };
  } finally {
    stopWatching();
    await scene.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Some messages are rejected by the origin, although it acts, so that there are dead letters. */
const REJECTED_EVERY = 5;

function messageOf(order: number, consumer: Consumer): object {
  const isRejected = consumer !== "unprotected" && order % REJECTED_EVERY === 0;
  return isRejected ? { order, origin: "422" } : { order };
}

/**
 * A point that follows a loss comes within this time, or not at all: on a busy machine the lock is over before the gateway runs again,
 * so no message is in its back-off. Then there is another loss.
 */
const AFTER_LOSS_MS = 8000;

async function killAtPoints(
  { consumer, points, kills, report = () => undefined }: RoundOptions,
  scene: QueueScene,
  killed: Partial<Record<Point, number>>,
): Promise<void> {
  for (let round = 0; round < kills; round += 1) {
    for (const point of points) {
      const needsLoss = AFTER_A_LOSS[consumer].includes(point);
      // Armed before the loss, because what follows that may come at once.
      const strike = scene[SEEN_BY[point]].strike(point, needsLoss ? 1 : 1 + (round % 4));
      let whileDown = needsLoss ? null : await strike;
      while (whileDown === null) {
        await scene.crash(await scene.origin.strike("origin-acted", 1));
        whileDown = await Promise.race([strike, pause(AFTER_LOSS_MS, null)]);
      }
      await scene.crash(whileDown);
      killed[point] = (killed[point] ?? 0) + 1;
      report(killed);
    }
  }
}
