// A broker with messages, a gateway, a process that counts effects, and consumers that are killed and stopped.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Kafka, logLevel } from "kafkajs";
import { DAY_MS } from "../../../../src/kernel/config/units.ts";
import type { ClaimCall, HistoryEvent, PositionLook } from "../../../guarantees/history.ts";
import { metaOf } from "../../../guarantees/policy.ts";
import { type ClaimLine, claimCallsIn } from "../../../guarantees/recorders/claim-calls.ts";
import { awaitAlarms } from "../../../guarantees/recorders/ledger.ts";
import { startEffects } from "../../../support/effects.ts";
import { makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freePort } from "../../../support/ports.ts";
import { type ProcessGroup, spawnGroup } from "../../../support/process-group.ts";
import type { ConsumerOptions } from "./consumer.ts";
import { startKafka } from "./kafka.ts";
import { Redis, startRedis } from "./redis.ts";

const TOKEN = "c".repeat(40);
const CONSUMER = fileURLToPath(new URL("consumer-process.ts", import.meta.url));

export interface Consumer {
  readonly group: ProcessGroup;
  /** Resolves when it has said this. */
  said(text: string): Promise<void>;
  /** What it has asked the gateway, up to this moment. */
  calls(): readonly (ClaimCall | PositionLook)[];
  /** What became of each message, the last of each. */
  ends(): ReadonlyMap<string, string>;
}

export interface ClaimsRound {
  readonly dir: string;
  readonly stateDir: string;
  start(options: Pick<ConsumerOptions, "name" | "stop"> & Partial<ConsumerOptions>): Promise<Consumer>;
  /** Sends one more message, after those of the beginning. */
  sendOne(): Promise<void>;
  /** What all its consumers have asked and done, when each of these messages is completed or unknown. */
  history(keys: readonly string[]): Promise<readonly HistoryEvent[]>;
  close(): Promise<void>;
}

/** The group at the gateway. */
const GROUP = "orders";

export const keyOf = (number: number): string => `order-${number}`;

/** `lock`: at least a second, and short, because every lost claim waits for its end. */
export async function startRound(
  broker: ConsumerOptions["broker"],
  unknown: "hold" | "retry",
  messages: number,
): Promise<ClaimsRound> {
  const dir = await mkdtemp(join(tmpdir(), "onceway-claims-"));
  const stateDir = await makeStateDir();
  const [server, effects, gateway] = await Promise.all([
    broker === "redis" ? startRedis(dir) : startKafka(dir),
    startEffects({ port: await freePort(), journal: join(dir, "effects"), workMs: 5 }),
    startWorkerd({
      stateDir,
      vars: {
        IDEMPOTENCY: { origin: "http://127.0.0.1:9", shards: 2 },
        ROUTES: [{ path: "/protected" }],
        CONSUMERS: [{ name: GROUP, token: "ORDERS_TOKEN", unknown, lock: "1500ms" }],
      },
      bindings: { ORDERS_TOKEN: TOKEN },
    }),
  ]);
  await (broker === "redis" ? makeStream(server.port) : null);
  await (broker === "redis" ? fillRedis(server.port, 0, messages) : fillKafka(server.port, 0, messages));
  const consumers: Consumer[] = [];
  return {
    dir,
    stateDir,
    async start(options) {
      const all: ConsumerOptions = {
        broker,
        port: server.port,
        stream: "orders",
        group: "workers",
        gateway: { url: `${gateway.url}/_claims`, token: TOKEN, group: GROUP },
        effects: effects.url,
        fromStart: false,
        ...options,
      };
      const consumer = await startConsumer(all, dir);
      consumers.push(consumer);
      return consumer;
    },
    sendOne: () => (broker === "redis" ? fillRedis(server.port, messages, 1) : fillKafka(server.port, messages, 1)),
    async history(keys) {
      const acts = (await effects.effects()).map(({ key, attempt, at }) => {
        return { type: "consumer-effect", group: GROUP, key, attempt, at } as const;
      });
      return [
        metaOf("claims", { policies: {}, groups: { [GROUP]: { unknown, retentionMs: DAY_MS } } }),
        ...consumers.flatMap((consumer) => consumer.calls()),
        ...acts,
        { type: "claims-end", group: GROUP, keys },
        await awaitAlarms(stateDir),
      ];
    },
    async close() {
      await Promise.all([server.group.kill9(), effects.close(), gateway.stop()]);
      await rm(dir, { recursive: true, force: true });
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

async function startConsumer(options: ConsumerOptions, cwd: string): Promise<Consumer> {
  const waiting = new Set<() => void>();
  let output = "";
  const onOutput = (text: string): void => {
    output += text;
    for (const look of waiting) look();
  };
  const env = { ...process.env, KAFKAJS_NO_PARTITIONER_WARNING: "1" };
  const group = await spawnGroup(process.execPath, [CONSUMER, JSON.stringify(options)], { cwd, env, onOutput });
  return {
    group,
    said: async (text) => {
      const found = Promise.withResolvers<void>();
      const look = (): void => void (output.includes(text) && found.resolve());
      waiting.add(look);
      look();
      await Promise.race([found.promise, group.exited]);
      waiting.delete(look);
      if (!output.includes(text)) throw new Error(`the consumer has ended without "${text}":\n${output}`);
    },
    calls: () => claimCallsIn(output.split("\n").flatMap(lineIn), Date.now()),
    ends: () => new Map(output.split("\n").flatMap((line) => endIn(line))),
  };
}

/** The last line may be cut off. */
function lineIn(text: string): readonly ClaimLine[] {
  if (!text.startsWith("call ") || !text.endsWith("}")) return [];
  const line: ClaimLine = JSON.parse(text.slice("call ".length));
  return [line];
}

function endIn(line: string): readonly (readonly [string, string])[] {
  const [, end, key] = /^(done|replayed|OutcomeUnknownError|SupersededError|KeyReusedError) (\S+)$/.exec(line) ?? [];
  return end === undefined || key === undefined ? [] : [[key, end]];
}

const payloadOf = (number: number): string => JSON.stringify({ number });

async function makeStream(port: number): Promise<void> {
  const redis = new Redis(port);
  await redis.send("XGROUP", "CREATE", "orders", "workers", "0", "MKSTREAM");
  redis.close();
}

async function fillRedis(port: number, from: number, messages: number): Promise<void> {
  const redis = new Redis(port);
  for (let number = from; number < from + messages; number += 1) {
    await redis.send("XADD", "orders", "*", "key", keyOf(number), "payload", payloadOf(number));
  }
  redis.close();
}

async function fillKafka(port: number, from: number, messages: number): Promise<void> {
  const producer = new Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: logLevel.NOTHING }).producer();
  await producer.connect();
  const list = Array.from({ length: messages }, (_, at) => ({
    key: keyOf(from + at),
    value: payloadOf(from + at),
    partition: 0,
  }));
  await producer.send({ topic: "orders", messages: list });
  await producer.disconnect();
}
