// One round of evidence for queues: a broker, an origin and the gateway in processes of their own, messages, and a SIGKILL of the
// gateway at each named point, several times. What became of the messages is read from the journals of the broker and of the
// origin, never from an answer.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Broker, startBroker } from "../support/broker.ts";
import { type EffectsOrigin, startEffects } from "../support/effects.ts";
import { type Gateway, startWorkerd } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { judge, type Verdict } from "./verdict.ts";

/** Where the gateway is killed: what the other processes see of its work. */
export const POINTS = {
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
} as const;
export type Point = keyof typeof POINTS;

/** Points that a rule, or a consumer without the gateway, never reaches. */
export function pointsOf(consumer: Consumer): readonly Point[] {
  const never: readonly Point[] =
    consumer === "hold" ? ["origin-asked"] : consumer === "verify" ? LETTERS : [...LETTERS, "origin-asked"];
  const noRetries: readonly Point[] = consumer === "unprotected" ? ["retried"] : [];
  const all = Object.keys(POINTS).filter((point) => isPoint(point));
  return all.filter((point) => !never.includes(point) && !noRetries.includes(point));
}

const LETTERS: readonly Point[] = ["letter-arrived", "letter-answered"];

function isPoint(name: string): name is Point {
  return Object.hasOwn(POINTS, name);
}

/** The rule for unknown outcomes, or no gateway at all. */
export type Consumer = "hold" | "verify" | "retry" | "unprotected";

export interface RoundOptions {
  readonly consumer: Consumer;
  /** How often the gateway is killed at each point. */
  readonly kills: number;
  readonly points: readonly Point[];
  /** How many messages are sent for each kill. */
  readonly messagesPerKill: number;
  readonly seed: number;
}

export interface Round {
  readonly verdict: Verdict;
  readonly killed: Readonly<Partial<Record<Point, number>>>;
  readonly seconds: number;
}

const QUEUE = "orders";
const LOCK_MS = 1200;

export async function runRound(options: RoundOptions): Promise<Round> {
  const begun = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "onceway-queues-"));
  const ports = { origin: await freePort(), deliver: await freePort(), letters: await freePort() };
  const origin = await startEffects({ port: ports.origin, journal: join(folder, "origin.journal"), workMs: 5 });
  const gateway = await startConsumer(options.consumer, folder, ports);
  const unprotected =
    options.consumer === "unprotected" ? `?unprotected=${encodeURIComponent(`${origin.url}/orders`)}` : "";
  const broker = await startBroker({
    queue: QUEUE,
    deliverTo: `http://127.0.0.1:${ports.deliver}/${unprotected}`,
    letterPort: ports.letters,
    journal: join(folder, "broker.journal"),
    batch: 5,
    concurrency: 3,
    visibilityMs: 4_000,
    redeliverMs: 100,
    lostAcks: 0.05,
    duplicates: 0.05,
    seed: options.seed,
  });
  const box = { gateway };
  try {
    const killed: Partial<Record<Point, number>> = {};
    const killing = killAtPoints(options, { broker, origin, box, killed });
    const state = { isOver: false };
    const send = async (): Promise<void> => {
      const wanted = options.points.length * options.kills * options.messagesPerKill;
      // Until every kill has been made: a point such as a question is only reached after another kill.
      for (let sent = 0; !state.isOver || sent < wanted; sent += 20) {
        await broker.send(Array.from({ length: 20 }, (_, n) => ({ order: sent + n })));
      }
    };
    void killing.then(() => (state.isOver = true));
    await Promise.all([killing, send()]);
    const verdict = judge(await broker.readJournal(), await origin.readJournal());
    return { verdict, killed, seconds: (performance.now() - begun) / 1000 };
  } finally {
    await Promise.all([broker.close(), origin.close(), box.gateway.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

interface Scene {
  readonly broker: Broker;
  readonly origin: EffectsOrigin;
  readonly box: { gateway: Gateway };
  readonly killed: Partial<Record<Point, number>>;
}

async function killAtPoints({ points, kills }: RoundOptions, { broker, origin, box, killed }: Scene): Promise<void> {
  for (let round = 0; round < kills; round += 1) {
    for (const point of points) {
      const at = POINTS[point] === "broker" ? broker : origin;
      if (FOLLOWS[point] !== undefined) await kill(origin, "origin-acted", 1, box);
      await kill(at, point, FOLLOWS[point] === undefined ? 1 + (round % 4) : 1, box);
      killed[point] = (killed[point] ?? 0) + 1;
    }
  }
}

/** Points that are only reached after an attempt has been lost. */
const FOLLOWS: Readonly<Partial<Record<Point, true>>> = {
  "origin-asked": true,
  retried: true,
  "letter-arrived": true,
  "letter-answered": true,
};

async function kill(at: Broker | EffectsOrigin, point: Point, passes: number, box: Scene["box"]): Promise<void> {
  const go = await at.strike(point, passes);
  await box.gateway.kill9();
  go();
  box.gateway = await box.gateway.restart();
}

/** The gateway beside the deliverer, or the deliverer alone in the same process. */
async function startConsumer(
  consumer: Consumer,
  folder: string,
  ports: { readonly origin: number; readonly deliver: number; readonly letters: number },
): Promise<Gateway> {
  const script = await readFile(new URL("../support/deliverer.js", import.meta.url), "utf8");
  const unknown = consumer === "unprotected" ? "hold" : consumer;
  const verify = unknown === "verify" ? { verify: "/by-key/{key}" } : {};
  return startWorkerd({
    stateDir: join(folder, "state"),
    vars: {
      IDEMPOTENCY: {
        origin: `http://127.0.0.1:${ports.origin}`,
        shards: 3,
        timeout: "1s",
        lock: `${LOCK_MS}ms`,
        wait: "1s",
      },
      ROUTES: [],
      QUEUES: [
        {
          queue: QUEUE,
          to: "/orders",
          unknown,
          ...verify,
          give_up: { after: "64s" },
          dead_letter: { binding: "ORDERS_DEAD" },
        },
      ],
    },
    extraBindings: ['(name = "ORDERS_DEAD", queue = "letters")'],
    extraServices: [
      `(name = "letters", external = (address = "127.0.0.1:${ports.letters}", http = ()))`,
      `(name = "deliverer", worker = (modules = [(name = "deliverer.js", esModule = ${JSON.stringify(script)})],
        compatibilityDate = "2026-10-01", compatibilityFlags = ["service_binding_extra_handlers"],
        bindings = [(name = "GATEWAY", service = "gateway")], globalOutbound = "internet"))`,
    ],
    extraSockets: [`(name = "deliver", address = "127.0.0.1:${ports.deliver}", http = (), service = "deliverer")`],
    experimental: true,
  });
}
