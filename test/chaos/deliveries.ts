// Messages of queues at work while everything fails: producers send them, a broker in its own process delivers them to the gateway, and
// at the end of a run operators release what is parked. What became of each delivery is read from the broker's journal.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { workerBeside } from "../support/beside.ts";
import { type Broker, newMessageId, startBroker } from "../support/broker.ts";
import type { WorkerdOptions } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import type { HistoryEvent, Message } from "../guarantees/history.ts";
import { type ParkedRecord, parkedRecords } from "../guarantees/recorders/ledger.ts";
import { sha256 } from "../guarantees/recorders/marks.ts";
import { change, type RecordName } from "./operators.ts";
import { LETTER_BINDING, type Produced, produce, queueOf } from "./queues.ts";
import type { Random } from "./random.ts";

export interface ChaosQueues {
  readonly broker: Broker;
  /** What the gateway's process needs for them. */
  readonly bound: Required<Pick<WorkerdOptions, "extraBindings" | "extraServices" | "extraSockets" | "experimental">>;
  /** The record of each message that has a key, oldest first. */
  readonly records: RecordName[];
}

/** `takesAll`: the queue of dead letters never fails, because nobody could end the rest of a destination that has failed. */
export async function startQueues(folder: string, random: Random, takesAll: boolean): Promise<ChaosQueues> {
  const [deliver, letters] = [await freePort(), await freePort()];
  const broker = await startBroker({
    deliverTo: `http://127.0.0.1:${deliver}/`,
    letterPort: letters,
    journal: join(folder, "broker.journal"),
    batch: 5,
    concurrency: 8,
    // Longer than a batch may take, and shorter than some stops of the gateway.
    visibilityMs: 3_000,
    redeliverMs: 500,
    lostAcks: 0.1,
    duplicates: 0.1,
    lostLetters: takesAll ? 0 : 0.2,
    seed: random.int(0, 2 ** 31),
  });
  const { extraServices, ...beside } = await workerBeside("deliverer", deliver);
  const queue = `(name = "letters", external = (address = "127.0.0.1:${letters}", http = ()))`;
  const extraBindings = [`(name = "${LETTER_BINDING}", queue = "letters")`];
  return {
    broker,
    bound: { ...beside, extraBindings, extraServices: [queue, ...extraServices] },
    records: [],
  };
}

export interface ProducerRun {
  readonly queues: ChaosQueues;
  readonly report: (message: Message) => void;
  readonly isOver: () => boolean;
}

export async function runProducer({ queues, report, isOver }: ProducerRun, random: Random): Promise<void> {
  while (!isOver()) {
    for (const [nth, produced] of produce(random).entries()) {
      // One that is sent again finds the first one in flight, unknown or settled.
      if (nth > 0) await pause(random.pick([0, random.int(0, 1_500)]));
      send(queues, produced, report);
    }
    await pause(random.int(0, 700));
  }
}

function send({ broker, records }: ChaosQueues, produced: Produced, report: ProducerRun["report"]): void {
  const { rule, key, poison, fingerprint, body } = produced;
  const { queue, path, scope } = queueOf(rule);
  const [id, sentAt, text] = [newMessageId(), Date.now(), JSON.stringify(body)];
  const [bytes, bodySha256] = [Buffer.byteLength(text), sha256(text)];
  report({ type: "message", id, queue, path, scope, key, poison, fingerprint, bytes, bodySha256, sentAt });
  if (poison === null) records.push({ key, scope });
  broker.post([{ id, queue, timestamp: sentAt, body }]);
}

/** How long the last messages, and those that are released, may take without faults. */
const SETTLED_MS = 30_000;

/** A released message whose attempt a slow machine has timed out is parked again. */
const RELEASED_MS = 5_000;

export interface SettlingRun {
  readonly port: () => number | Promise<number>;
  readonly queues: ChaosQueues;
  readonly stateDir: string;
  readonly report: (event: HistoryEvent) => void;
}

/** The end of a run, without faults: every message is settled or parked, and operators release those that are parked. */
export async function settleMessages(run: SettlingRun, random: Random): Promise<void> {
  const giveUpAt = Date.now() + SETTLED_MS;
  const { broker, records } = run.queues;
  broker.calm();
  await Promise.race([broker.drained(), pause(SETTLED_MS)]);
  const scopes = new Map(records.map(({ key, scope }) => [key, scope]));
  const released = new Map<string, number>();
  const isReleased = (id: string): boolean => Date.now() < (released.get(id) ?? 0) + RELEASED_MS;
  for (;;) {
    const parked = await parkedRecords(run.stateDir);
    if (parked?.length === 0 || Date.now() > giveUpAt) {
      const keys = parked?.map(({ key }) => key) ?? ["unread"];
      run.report({ type: "parked", at: Date.now(), keys, isReleased: true });
      return;
    }
    for (const { id, key } of parked?.filter((one) => mayBeUnknown(one) && !isReleased(one.id)) ?? []) {
      const record = { id, key, scope: scopes.get(key) ?? "" };
      if ((await change(run, record, "release", random)) === "changed") released.set(id, Date.now());
    }
    await pause(200);
  }
}

/** Not while its lock lasts, or the object tries it. */
function mayBeUnknown({ state }: ParkedRecord): boolean {
  return state === "unknown";
}
