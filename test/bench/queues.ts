// Messages of a queue per second, unprotected beside protected: batches go straight to the queue handler, and the next one of a
// consumer is sent when its last one is acknowledged. One gateway for each variant, interleaved rounds, ratios within one round.
// `npm run bench -- queues [--rounds 9] [--seconds 2] [--consumers 4] [--batch 10] [--shards 64] [--late] [--beside DIR] [--disk]`.

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { workerBeside } from "../support/beside.ts";
import { startWorkerd } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { Progress } from "../support/progress.ts";
import { processorMicroseconds, startOrigin } from "./processes.ts";
import { findProcess } from "./process-memory.ts";
import { spreadOf } from "./rounds.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "2" },
    "warm-up": { type: "string", default: "8" },
    consumers: { type: "string", default: "4" },
    batch: { type: "string", default: "10" },
    shards: { type: "string", default: "64" },
    /** The origin takes 60 ms. */
    late: { type: "boolean", default: false },
    /** Another checkout, whose gateway is a variant too. */
    beside: { type: "string" },
    disk: { type: "boolean", default: false },
  },
});
const consumers = Number(options.consumers);
const batch = Number(options.batch);
const rounds = Number(options.rounds);

const QUEUE = "orders";
const UNPROTECTED = "unprotected";
const PROTECTED = "protected";
const BESIDE = "beside";

interface Variant {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

const stateDir = await mkdtemp(join(options.disk ? tmpdir() : "/dev/shm", "onceway-queues-"));
const origin = await startOrigin();
const path = options.late ? "/late" : "/orders";
const stops: (() => Promise<void>)[] = [];

/** `main`: the gateway's entry, if it is not this checkout's. */
async function start(name: string, main?: string): Promise<Variant> {
  const port = await freePort();
  const gateway = await startWorkerd({
    stateDir: join(stateDir, name),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: Number(options.shards) },
      ROUTES: [],
      QUEUES: [{ queue: QUEUE, to: path, dead_letter: { binding: "ORDERS_DEAD" } }],
    },
    ...(main === undefined ? {} : { main }),
    extraBindings: ['(name = "ORDERS_DEAD", service = "deliverer")'],
    ...(await workerBeside("deliverer", port)),
  });
  stops.push(() => gateway.stop());
  const unprotected = name === UNPROTECTED ? `?unprotected=${encodeURIComponent(origin.url + path)}` : "";
  return { name, url: `http://127.0.0.1:${port}/${unprotected}`, pid: findProcess(gateway.pid, "workerd") };
}

interface Sample {
  readonly variant: string;
  readonly round: number;
  readonly perSecond: number;
  readonly microseconds: number;
}

let sent = 0;

/** Delivers one batch of new messages; all of them must be acknowledged. */
async function deliver(agent: Agent, url: string): Promise<void> {
  const messages = Array.from({ length: batch }, () => {
    sent += 1;
    return { id: `message-${sent}`, timestamp: Date.now(), attempts: 1, body: { order: sent, amount: 4200 } };
  });
  const outgoing = httpRequest(url, { method: "POST", agent });
  outgoing.end(JSON.stringify({ queue: QUEUE, messages }));
  const [response] = await once(outgoing, "response");
  const answer: { readonly explicitAcks: readonly string[] } = JSON.parse(await text(response));
  if (answer.explicitAcks.length !== batch) throw new Error(`not acknowledged: ${JSON.stringify(answer)}`);
}

async function measure({ name, url, pid }: Variant, round: number, seconds: number): Promise<Sample> {
  const agent = new Agent({ keepAlive: true });
  const begun = performance.now();
  const before = processorMicroseconds([pid]);
  let batches = 0;
  const consume = async (): Promise<void> => {
    while (performance.now() - begun < seconds * 1000) {
      await deliver(agent, url);
      batches += 1;
    }
  };
  await Promise.all(Array.from({ length: consumers }, consume));
  agent.destroy();
  const messages = batches * batch;
  const perSecond = messages / ((performance.now() - begun) / 1000);
  return { variant: name, round, perSecond, microseconds: (processorMicroseconds([pid]) - before) / messages };
}

function show(values: readonly number[], digits: number): string {
  const spread = spreadOf(values);
  return spread === null
    ? ""
    : `${spread.median.toFixed(digits)} (${spread.min.toFixed(digits)} to ${spread.max.toFixed(digits)})`;
}

function printRatios(samples: readonly Sample[], of: string, to: string): void {
  const pairs = samples.flatMap((sample) => {
    const other = samples.find(({ variant, round }) => variant === to && round === sample.round);
    return sample.variant === of && other !== undefined ? [{ sample, other }] : [];
  });
  for (const metric of ["perSecond", "microseconds"] as const) {
    const quotients = pairs.map(({ sample, other }) => sample[metric] / other[metric]);
    if (quotients.length > 0) console.log(`${of} ÷ ${to}, ${metric}: ${show(quotients, 2)}`);
  }
}

try {
  const variants = [await start(UNPROTECTED), await start(PROTECTED)];
  if (options.beside !== undefined) variants.push(await start(BESIDE, resolve(options.beside, "src/index.ts")));
  const samples: Sample[] = [];
  const progress = new Progress("queues", (rounds + 1) * variants.length, { unit: "loads" });
  for (let round = 0; round <= rounds; round += 1) {
    // Each goes first in its turn.
    for (const [at] of variants.entries()) {
      const variant = variants[(at + round) % variants.length];
      if (variant === undefined) continue;
      const sample = await measure(variant, round, Number(round === 0 ? options["warm-up"] : options.seconds));
      progress.show(samples.length, `${variant.name} ${sample.perSecond.toFixed(0)}/s`);
      if (round > 0) samples.push(sample);
    }
  }
  progress.end();
  for (const { name } of variants) {
    const own = samples.filter(({ variant }) => variant === name);
    const rate = show(
      own.map(({ perSecond }) => perSecond),
      0,
    );
    console.log(
      `${name}: ${rate} messages/s, ${show(
        own.map(({ microseconds }) => microseconds),
        0,
      )} µs of processor`,
    );
  }
  printRatios(samples, PROTECTED, UNPROTECTED);
  printRatios(samples, PROTECTED, BESIDE);
} finally {
  for (const stop of stops.toReversed()) await stop();
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
