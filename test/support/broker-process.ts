// A broker of queue messages in its own process, as a test of crashes needs one: at least once, with a journal on disk. It
// delivers batches to the gateway's queue handler, delivers again what was not acknowledged, loses some acknowledgements,
// delivers some messages twice at the same time, and takes dead letters. Every line of its journal is on disk before it acts on it.

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import type { BrokerOptions, JournalLine } from "./broker.ts";
import { listen } from "./origin-server.ts";
import { strikesOfParent } from "./strikes.ts";

const options: BrokerOptions = JSON.parse(process.argv[2] ?? "");

const resultSchema = v.object({
  outcome: v.string(),
  explicitAcks: v.array(v.string()),
  retryMessages: v.array(v.object({ msgId: v.string(), delaySeconds: v.optional(v.number()) })),
  retryBatch: v.object({ retry: v.boolean(), delaySeconds: v.optional(v.number()) }),
});

const sendSchema = v.object({ order: v.literal("send"), bodies: v.array(v.unknown()) });

interface Message {
  readonly id: string;
  readonly timestamp: number;
  readonly body: unknown;
  attempts: number;
  visibleAt: number;
}

const strikes = strikesOfParent();
const journal = openSync(options.journal, "a");
const messages = new Map<string, Message>();
let sent = 0;

function write(line: JournalLine): void {
  writeSync(journal, `${JSON.stringify({ ...line, at: Date.now() })}\n`);
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

/** The next messages that are due, in no certain order. */
function take(): Message[] {
  const now = Date.now();
  const due = [...messages.values()].filter(({ visibleAt }) => visibleAt <= now);
  if (random() < 0.5) due.reverse();
  const batch = due.slice(0, options.batch);
  for (const message of batch) {
    message.attempts += 1;
    // Another batch may deliver it meanwhile: at least once.
    message.visibleAt = now + (random() < options.duplicates ? 0 : options.visibilityMs);
    write({ kind: "delivered", id: message.id, attempts: message.attempts });
  }
  return batch;
}

async function deliver(batch: readonly Message[]): Promise<void> {
  const body = JSON.stringify({
    queue: options.queue,
    messages: batch.map(({ id, timestamp, attempts, body: content }) => ({ id, timestamp, attempts, body: content })),
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
    for (const { id } of batch) appearAgain(id, options.redeliverMs);
    return;
  }
  await strikes.at("decided");
  if (result.retryMessages.length > 0) await strikes.at("retried");
  const retried = new Map(result.retryMessages.map(({ msgId, delaySeconds = 0 }) => [msgId, delaySeconds * 1000]));
  for (const { id } of batch) {
    const isAcked = result.explicitAcks.includes(id);
    if (isAcked && random() < options.lostAcks) {
      write({ kind: "ack-lost", id });
      appearAgain(id, options.redeliverMs);
    } else if (isAcked) {
      write({ kind: "acked", id });
      messages.delete(id);
    } else {
      const delayMs = retried.get(id) ?? (result.retryBatch.delaySeconds ?? 0) * 1000;
      write({ kind: retried.has(id) || result.retryBatch.retry ? "retried" : "undecided", id, delayMs });
      appearAgain(id, delayMs);
    }
  }
}

function appearAgain(id: string, afterMs: number): void {
  const message = messages.get(id);
  if (message !== undefined) message.visibleAt = Date.now() + afterMs;
}

async function consume(): Promise<void> {
  for (;;) {
    const batch = take();
    if (batch.length > 0) await deliver(batch);
    else await pause(5);
    if (sent > 0 && messages.size === 0) {
      process.send?.({ drained: sent });
      sent = 0;
    }
  }
}

const letterSchema = v.object({ id: v.string(), data: v.object({ messageId: v.string(), reason: v.string() }) });

/** What `sendBatch` sends: each body in base64. */
const batchSchema = v.object({
  messages: v.array(
    v.pipe(
      v.object({ body: v.string() }),
      v.transform(({ body }) => v.parse(letterSchema, JSON.parse(Buffer.from(body, "base64").toString()))),
    ),
  ),
});

/** What a producer binding of workerd talks to. */
const server = createServer((request, response) => {
  void (async () => {
    const isBatch = request.url?.endsWith("/batch") === true;
    const said = await json(request);
    const letters = isBatch ? v.parse(batchSchema, said).messages : [v.parse(letterSchema, said)];
    await strikes.at("letter-arrived");
    for (const { id, data } of letters) write({ kind: "letter", id: data.messageId, letter: id, reason: data.reason });
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } }));
    await strikes.at("letter-answered");
  })().catch((error: unknown) => {
    process.stderr.write(`broker: ${String(error)}\n`);
    response.writeHead(500).end();
  });
});

process.on("message", (message) => {
  const order = v.safeParse(sendSchema, message);
  if (!order.success) return;
  for (const body of order.output.bodies) {
    const id = crypto.randomUUID().replaceAll("-", "");
    messages.set(id, { id, timestamp: Date.now(), body, attempts: 0, visibleAt: 0 });
    write({ kind: "sent", id });
    sent += 1;
  }
});
process.on("disconnect", () => {
  closeSync(journal);
  process.exit(0);
});

const { port } = await listen(server, options.letterPort);
process.send?.({ letterPort: port });
for (let one = 0; one < options.concurrency; one += 1) void consume();
