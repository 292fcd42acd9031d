// A consumer in a process of its own, which is killed and stopped. It acts through `once`, counts its effects at another process, and
// says on its output where it is, what it asks the gateway, and what became of each message.

import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Kafka, logLevel } from "kafkajs";
import { InFlightError, once, OutcomeUnknownError, readPosition } from "../../../../src/client/index.ts";
import { recordClaims } from "../../../guarantees/recorders/claim-calls.ts";
import type { ConsumerOptions, Point } from "./consumer.ts";
import { Redis, type Reply } from "./redis.ts";

const options: ConsumerOptions = JSON.parse(process.argv[2] ?? "");
const { gateway, name, stop, stream, group } = options;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const recorder = recordClaims(`${name} of ${group}`, gateway.group, (line) => say(`call ${JSON.stringify(line)}`));

async function at(point: Point, key: string): Promise<void> {
  if (stop === null || stop.point !== point || stop.key !== key) return;
  say(`at ${point} ${key}`);
  while (stop.until === null || !existsSync(stop.until)) await pause(20);
}

async function act(key: string, attempt: number): Promise<void> {
  const headers = { "idempotency-key": key, "idempotency-attempt": String(attempt) };
  await (await fetch(options.effects, { method: "POST", headers, body: "{}" })).text();
}

/** Whether the message is over. */
async function handle(
  key: string,
  payload: string,
  position?: { stream: string; partition: number; offset: number },
): Promise<boolean> {
  await at("read", key);
  const own = { ...gateway, fetch: recorder.fetch, holder: name, ...(position === undefined ? {} : { position }) };
  try {
    const { replayed } = await once(own, key, payload, async ({ attempt }) => {
      await at("claimed", key);
      await act(key, attempt);
      await at("acted", key);
      return { attempt, attemptId: recorder.attemptOf(key) };
    });
    await at("completed", key);
    say(`${replayed ? "replayed" : "done"} ${key}`);
    return true;
  } catch (error) {
    say(`${error instanceof Error ? error.name : String(error)} ${key}`);
    if (error instanceof InFlightError) await pause(Math.min(error.retryAfterMs, 200));
    return error instanceof OutcomeUnknownError;
  }
}

/** The entries of a stream in a reply: their ids, and their fields in pairs. */
function entriesIn(
  reply: Reply | undefined,
): readonly { readonly id: string; readonly key: string; readonly payload: string }[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap((entry: Reply) => {
    const [id, fields] = Array.isArray(entry) ? entry : [];
    const [, key, , payload] = Array.isArray(fields) ? fields : [];
    return [{ id: String(id), key: String(key), payload: String(payload) }];
  });
}

async function consumeRedis(): Promise<never> {
  const redis = new Redis(options.port);
  for (;;) {
    const read = await redis.send(
      "XREADGROUP",
      "GROUP",
      group,
      name,
      "COUNT",
      10,
      "BLOCK",
      100,
      "STREAMS",
      stream,
      ">",
    );
    const [ofStream] = Array.isArray(read) ? read : [];
    const fresh = entriesIn(Array.isArray(ofStream) ? ofStream[1] : undefined);
    // What another consumer has read and not acknowledged for some time is this one's.
    const claimed = await redis.send("XAUTOCLAIM", stream, group, name, 400, "0", "COUNT", 10);
    for (const { id, key, payload } of [...fresh, ...entriesIn(Array.isArray(claimed) ? claimed[1] : undefined)]) {
      if (await handle(key, payload)) await redis.send("XACK", stream, group, id);
    }
  }
}

async function consumeKafka(): Promise<void> {
  const kafka = new Kafka({ brokers: [`127.0.0.1:${options.port}`], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: group, sessionTimeout: 6000, heartbeatInterval: 500 });
  await consumer.connect();
  await consumer.subscribe({ topics: [stream], fromBeginning: true });
  /** Where each partition is to be read on; `null`: the broker's own position counts. */
  const begins = new Map<number, Promise<number | null>>();
  const begin = async (partition: number): Promise<number | null> => {
    const next = options.fromStart ? 0 : await readPosition({ ...gateway, fetch: recorder.fetch }, stream, partition);
    if (next !== null) consumer.seek({ topic: stream, partition, offset: String(next) });
    return next;
  };
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    for (const partition of payload.memberAssignment[stream] ?? []) {
      begins.set(partition, begin(partition));
    }
  });
  await consumer.run({
    autoCommit: false,
    eachMessage: async (delivery) => {
      const { topic, partition, message } = delivery;
      const offset = Number(message.offset);
      // Fetched before the position was known.
      if (offset < ((await begins.get(partition)) ?? 0)) return;
      const key = String(message.key);
      while (!(await handle(key, String(message.value), { stream: topic, partition, offset })))
        await delivery.heartbeat();
      await consumer.commitOffsets([{ topic, partition, offset: String(offset + 1) }]);
    },
  });
}

if (options.broker === "redis") await consumeRedis();
else await consumeKafka();
