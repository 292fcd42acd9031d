// A broker of queue messages in its own process, as a test of crashes needs one: at least once, with a journal on disk. It
// delivers batches to the gateway's queue handler, delivers again what was not acknowledged, loses some acknowledgements,
// delivers some messages twice at the same time, and takes dead letters or fails to. Every line of its journal is on disk before
// it acts on it.

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import type { BrokerOptions, JournalLine, SentMessage } from "./broker.ts";
import { listen } from "./origin-server.ts";
import { strikesOfParent } from "./strikes.ts";

const options: BrokerOptions = JSON.parse(process.argv[2] ?? "");

const resultSchema = v.object({
  outcome: v.string(),
  explicitAcks: v.array(v.string()),
  retryMessages: v.array(v.object({ msgId: v.string(), delaySeconds: v.optional(v.number()) })),
  retryBatch: v.object({ retry: v.boolean(), delaySeconds: v.optional(v.number()) }),
});

const orderSchema = v.variant("order", [
  v.object({
    order: v.literal("send"),
    messages: v.array(v.object({ id: v.string(), queue: v.string(), timestamp: v.number(), body: v.unknown() })),
  }),
  v.object({ order: v.literal("drain") }),
  v.object({ order: v.literal("calm") }),
]);

interface Message extends SentMessage {
  attempts: number;
  visibleAt: number;
}

/** One delivery of a message: the `attempts`th. */
interface Delivered {
  readonly message: Message;
  readonly attempts: number;
}

const strikes = strikesOfParent();
const journal = openSync(options.journal, "a");
const messages = new Map<string, Message>();
let isAwaited = false;
let isCalm = false;

function write(lines: readonly JournalLine[]): void {
  writeSync(journal, lines.map((line) => `${JSON.stringify({ ...line, at: Date.now() })}\n`).join(""));
  fsyncSync(journal);
}

/** A reproducible number in [0, 1) (mulberry32). */
function random(): number {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
let seed = options.seed;

/** By chance, with this probability. */
function happens(probability: number): boolean {
  return random() < probability && !isCalm;
}

/** The next messages of a queue that are due, in no certain order. */
function take(): Delivered[] {
  const now = Date.now();
  const visible = [...messages.values()].filter(({ visibleAt }) => visibleAt <= now);
  const queues = [...new Set(visible.map(({ queue }) => queue))];
  const chosen = queues[Math.floor(random() * queues.length)];
  const due = visible.filter(({ queue }) => queue === chosen);
  if (random() < 0.5) due.reverse();
  const batch = due.slice(0, options.batch).map((message) => {
    message.attempts += 1;
    // Another batch may deliver it meanwhile: at least once.
    message.visibleAt = now + (happens(options.duplicates) ? 0 : options.visibilityMs);
    return { message, attempts: message.attempts };
  });
  if (batch.length > 0) {
    write(batch.map(({ message: { id }, attempts }) => ({ kind: "delivered", id, attempts })));
  }
  return batch;
}

async function deliver(batch: readonly Delivered[]): Promise<void> {
  const body = JSON.stringify({
    queue: batch[0]?.message.queue,
    messages: batch.map(({ message: { id, timestamp, body: content }, attempts }) => ({
      id,
      timestamp,
      attempts,
      body: content,
    })),
  });
  let result;
  try {
    const answer = fetch(options.deliverTo, {
      method: "POST",
      body,
      signal: AbortSignal.timeout(options.visibilityMs),
    });
    const [response] = await Promise.all([answer, strikes.at("delivered")]);
    result = v.parse(resultSchema, await response.json());
  } catch {
    // The consumer was lost, so nobody knows what it did: its messages come again.
    write(batch.map(({ message: { id }, attempts }) => ({ kind: "lost", id, attempts })));
    for (const { message } of batch) appearAgain(message, options.redeliverMs);
    return;
  }
  await strikes.at("decided");
  if (result.retryMessages.length > 0) await strikes.at("retried");
  const retried = new Map(result.retryMessages.map(({ msgId, delaySeconds = 0 }) => [msgId, delaySeconds * 1000]));
  const { retryBatch } = result;
  const acks = new Set(result.explicitAcks);
  const batchDelayMs = (retryBatch.delaySeconds ?? 0) * 1000;
  const lines = batch.map(({ message: { id }, attempts }): JournalLine => {
    if (acks.has(id)) return { kind: happens(options.lostAcks) ? "ack-lost" : "acked", id, attempts };
    const isRetried = retried.has(id) || retryBatch.retry;
    return { kind: isRetried ? "retried" : "undecided", id, attempts, delayMs: retried.get(id) ?? batchDelayMs };
  });
  write(lines);
  for (const [at, line] of lines.entries()) {
    const message = batch[at]?.message;
    if (line.kind === "acked") messages.delete(line.id);
    else if (message !== undefined) appearAgain(message, "delayMs" in line ? line.delayMs : options.redeliverMs);
  }
}

function appearAgain(message: Message, afterMs: number): void {
  message.visibleAt = Date.now() + afterMs;
}

async function consume(): Promise<void> {
  for (;;) {
    const batch = take();
    if (batch.length > 0) await deliver(batch);
    else await pause(5);
    tellIfDrained();
  }
}

function tellIfDrained(): void {
  if (!isAwaited || messages.size > 0) return;
  isAwaited = false;
  process.send?.({ drained: true });
}

const letterSchema = v.object({
  id: v.string(),
  time: v.string(),
  data: v.object({
    messageId: v.string(),
    reason: v.string(),
    status: v.nullable(v.number()),
    firstSentAt: v.string(),
    body: v.optional(v.unknown()),
  }),
});

/** What `sendBatch` sends: each body in base64. */
const batchSchema = v.object({
  messages: v.array(
    v.pipe(
      v.object({ body: v.string() }),
      v.transform(({ body }) => v.parse(letterSchema, JSON.parse(Buffer.from(body, "base64").toString()))),
    ),
  ),
});

function lineOf({ id: letter, time, data }: v.InferOutput<typeof letterSchema>): JournalLine {
  const { messageId: id, reason, status, firstSentAt } = data;
  const body = data.body === undefined ? null : JSON.stringify(data.body);
  return { kind: "letter", id, letter, reason, status, time, firstSentAt, body };
}

/** What a producer binding of workerd talks to. */
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  void (async () => {
    const isBatch = request.url?.endsWith("/batch") === true;
    // A request breaks off when its gateway is killed.
    const said = await json(request).catch(() => null);
    if (said === null) return;
    const letters = isBatch ? v.parse(batchSchema, said).messages : [v.parse(letterSchema, said)];
    await strikes.at("letter-arrived");
    const fails = happens(options.lostLetters ?? 0);
    if (fails && random() < 0.5) return void response.writeHead(503).end();
    write(letters.map(lineOf));
    if (fails) return void request.socket.resetAndDestroy();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } }));
    await strikes.at("letter-answered");
  })().catch((error: unknown) => {
    process.stderr.write(`broker: ${String(error)}\n`);
    response.writeHead(500).end();
  });
});

process.on("message", (message) => {
  const { success, output } = v.safeParse(orderSchema, message);
  if (!success) return;
  switch (output.order) {
    case "send":
      for (const one of output.messages) messages.set(one.id, { ...one, attempts: 0, visibleAt: 0 });
      return write(
        output.messages.map(({ id, queue, timestamp: sentAt, body }) => {
          return { kind: "sent", id, queue, sentAt, body: JSON.stringify(body) };
        }),
      );
    case "drain":
      isAwaited = true;
      return;
    case "calm":
      isCalm = true;
  }
});
process.on("disconnect", () => {
  closeSync(journal);
  process.exit(0);
});

const { port } = await listen(server, options.letterPort);
process.send?.({ letterPort: port });
for (let one = 0; one < options.concurrency; one += 1) void consume();
