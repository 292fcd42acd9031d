// One round of evidence for accepted requests: requests, and a SIGKILL of the gateway at each named point, several times. What became
// of them is in the history: what the clients, the origin and the database say.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { HistoryEvent } from "../../../guarantees/history.ts";
import { type Operation, RecordingClient } from "../../../guarantees/recorders/client.ts";
import { watchLag } from "../../../guarantees/recorders/lag.ts";
import { type AcceptedRequest, historyOf, untilAccepted } from "./history.ts";
import { type AcceptedScene, PATH, startAcceptedScene, type UnknownRule } from "./scene.ts";

export type { UnknownRule } from "./scene.ts";

/** Where the gateway is killed. */
export const POINTS = [
  /** A request has been sent: before its claim, or soon after. */
  "sent",
  /** A client has its 202. */
  "accepted",
  /** The request is at the origin, which has not acted. */
  "origin-arrived",
  /** The origin has acted and not answered. */
  "origin-acted",
  /** The origin has answered: before the result is written, or soon after. */
  "origin-answered",
  /** An attempt was refused, and the request waits for its next one. */
  "refused",
  /** The origin is asked whether it has acted, which needs `verify` and a lost attempt. */
  "origin-asked",
] as const;
export type Point = (typeof POINTS)[number];

export function pointsOf(unknown: UnknownRule): readonly Point[] {
  return POINTS.filter((point) => point !== "origin-asked" || unknown === "verify");
}

export interface RoundOptions {
  readonly unknown: UnknownRule;
  readonly points: readonly Point[];
  /** How often the gateway is killed at each point. */
  readonly kills: number;
}

export interface Round {
  readonly history: readonly HistoryEvent[];
  readonly killed: Readonly<Partial<Record<Point, number>>>;
  readonly seconds: number;
}

/** How many requests are on their way at a time. */
const SENDERS = 6;
/** Every so many requests, one is refused twice before the origin acts. */
const REFUSED_EVERY = 4;
const PAUSE_MS = 100;

export async function runRound(options: RoundOptions): Promise<Round> {
  const begun = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "onceway-accepted-"));
  const recorded: HistoryEvent[] = [];
  const report = (event: HistoryEvent): void => void recorded.push(event);
  const settings = { unknown: options.unknown, timeoutMs: 2_000 };
  const scene = await startAcceptedScene({ folder, report, ...settings });
  const client = new RecordingClient(scene.url, report);
  const stopWatching = watchLag(report);
  try {
    const sending = new Sending(client);
    const killed = await killAtPoints(options, scene, sending).finally(() => sending.end());
    await sending.done;
    const history = await historyOf(scene, settings, client, sending.accepted, recorded);
    return { history, killed, seconds: Math.round((performance.now() - begun) / 1000) };
  } finally {
    stopWatching();
    await scene.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function operationOf(number: number): Operation {
  const key = `key-${number}`;
  const body = JSON.stringify({ order: key, refusals: number % REFUSED_EVERY === 0 ? 2 : 0 });
  // Its own credential, so that a search for it finds this request alone: its end tells it from one that begins alike.
  return { path: PATH, key, body, credential: `Bearer credential-of-${key}-alone` };
}

/** The clients. */
class Sending {
  readonly accepted: AcceptedRequest[] = [];
  readonly done: Promise<unknown>;
  readonly #client: RecordingClient;
  #sent = 0;
  #isOver = false;
  readonly #listeners = new Map<"sent" | "accepted", () => void>();

  constructor(client: RecordingClient) {
    this.#client = client;
    this.done = Promise.all(Array.from({ length: SENDERS }, () => this.#send()));
  }

  /** Resolves at the next such moment of a client. */
  next(moment: "sent" | "accepted"): Promise<void> {
    return new Promise((resolve) => this.#listeners.set(moment, resolve));
  }

  end(): void {
    this.#isOver = true;
  }

  async #send(): Promise<void> {
    while (!this.#isOver) {
      const number = this.#sent++;
      const accepting = untilAccepted(this.#client, operationOf(number));
      this.#tell("sent");
      this.accepted.push(await accepting);
      this.#tell("accepted");
      // So that the records that a round leaves can all be judged.
      await pause(PAUSE_MS);
    }
  }

  #tell(moment: "sent" | "accepted"): void {
    this.#listeners.get(moment)?.();
    this.#listeners.delete(moment);
  }
}

async function killAtPoints(
  { points, kills }: RoundOptions,
  scene: AcceptedScene,
  sending: Sending,
): Promise<Partial<Record<Point, number>>> {
  const killed: Partial<Record<Point, number>> = {};
  for (let round = 0; round < kills; round += 1) {
    for (const point of points) {
      if (point === "sent" || point === "accepted") {
        await sending.next(point);
        await scene.crash();
      } else {
        // Armed before the loss, because the question may come at once.
        const strike = scene.origin.strike(point, point === "origin-asked" ? 1 : 1 + (round % 4));
        if (point === "origin-asked") await scene.crash(await scene.origin.strike("origin-acted", 1));
        await scene.crash(await strike);
      }
      killed[point] = (killed[point] ?? 0) + 1;
    }
  }
  return killed;
}
