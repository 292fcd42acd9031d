// What growth.ts measures, for the main benchmark as well. All records are completed and alive. As many of them as the few are
// have keys that are known, and these are replayed in turn: the same number on both sides, so that what the gateway
// remembers of its last replays is the same.

import { join } from "node:path";
import type { Gateway } from "../../support/gateway.ts";
import { freshKey } from "../../support/http.ts";
import { Progress } from "../../support/progress.ts";
import { findProcess, watchMemory } from "../process-memory.ts";
import { median } from "../quantiles.ts";
import { startGateway } from "./records-gateway.ts";
import { keyHash } from "../../../src/kernel/request/record-name.ts";
import { shardName } from "../../../src/kernel/object/shard-address.ts";
import { idOf, loadAll, makeShards } from "./shard-files.ts";
import { runWrk } from "../wrk.ts";
import { BODY, PATH } from "./post.ts";

const CONNECTIONS = 16;

export interface GrowthOptions {
  readonly few: number;
  readonly many: number;
  readonly rounds: number;
  /** Of each variant in each round. */
  readonly seconds: number;
  /** The size of the bodies of the many; by default as small as those of the few. */
  readonly bodyBytes?: number;
}

interface Pair {
  readonly few: number;
  readonly many: number;
}

export interface Throughput extends Pair {
  /** Requests per second. */
  readonly rounds: readonly { readonly first: Pair; readonly replay: Pair }[];
  /** The median of the rounds' ratios: many to few. */
  readonly firstRatio: number;
  readonly replayRatio: number;
}

export interface Memory extends Pair {
  /** Peak resident memory of workerd, of each round. */
  readonly fewMib: readonly number[];
  readonly manyMib: readonly number[];
  readonly ratio: number;
}

interface Filling {
  readonly shards: number;
  readonly records: number;
  /** How many of them have keys that are known. */
  readonly keys: number;
  readonly bodyBytes?: number | undefined;
}

/** A gateway over shards that hold records, and the keys of some of them. */
interface Filled {
  readonly gateway: Gateway;
  readonly run: string;
  readonly keys: number;
}

/** The known keys have small bodies, whatever the others have. */
async function fill(folder: string, origin: string, { shards, records, keys, bodyBytes }: Filling): Promise<Filled> {
  const made = await makeShards(() => startGateway(origin, folder, shards), shards);
  const run = freshKey();
  const known = new Map<string, string[]>(made.map(({ shard }) => [shard, []]));
  for (let number = 0; number < keys; number += 1) {
    const key = `${run}-${number}`;
    known.get(shardName(await keyHash(key), shards))?.push(await idOf(key, shards));
  }
  const bar = new Progress("load", records - keys, { unit: "records" });
  let done = 0;
  const jobs = made.map(({ file, shard, template }) => {
    const ids = known.get(shard) ?? [];
    const to = Math.round((records - keys) / shards);
    return { file, template, seed: shard, ids, to, ageMs: 0, bodyBytes };
  });
  await loadAll(jobs, (loaded) => bar.show((done += loaded)));
  bar.end();
  return { gateway: await startGateway(origin, folder, shards), run, keys };
}

/** Requests per second. */
async function load({ gateway }: Filled, keys: "new" | number, prefix: string, seconds: number): Promise<number> {
  const settings = { url: gateway.url, path: PATH, body: BODY, connections: CONNECTIONS };
  const { requests, seconds: taken, not2xx, broken } = await runWrk({ ...settings, keys, prefix, seconds });
  if (not2xx + broken > 0) throw new Error(`${not2xx + broken} of ${requests} requests failed`);
  return requests / taken;
}

function replays(one: Filled, seconds: number): Promise<number> {
  return load(one, one.keys, `${one.run}-`, seconds);
}

function firsts(one: Filled, seconds: number): Promise<number> {
  return load(one, "new", `${freshKey()}-`, seconds);
}

/** First requests and replays in one shard that holds few records, and in one that holds many. */
export async function measureThroughput(folder: string, origin: string, options: GrowthOptions): Promise<Throughput> {
  const { few, many, seconds, bodyBytes } = options;
  const small = await fill(join(folder, "few"), origin, { shards: 1, records: few, keys: few });
  const large = await fill(join(folder, "many"), origin, { shards: 1, records: many, keys: few, bodyBytes });
  try {
    // Both are warm before anything counts.
    for (const one of [small, large]) {
      await replays(one, seconds);
      await firsts(one, 1);
    }
    const rounds: { first: Pair; replay: Pair }[] = [];
    const progress = new Progress("first requests and replays", options.rounds, { unit: "rounds" });
    for (let round = 0; round < options.rounds; round += 1) {
      // Each goes first in its turn.
      const both = async (measure: (one: Filled) => Promise<number>): Promise<Pair> => {
        if (round % 2 === 0) return { few: await measure(small), many: await measure(large) };
        const last = await measure(large);
        return { few: await measure(small), many: last };
      };
      const first = await both((one) => firsts(one, seconds));
      rounds.push({ first, replay: await both((one) => replays(one, seconds)) });
      progress.show(round + 1);
    }
    progress.end();
    const ratio = (kind: "first" | "replay"): number =>
      median(rounds.map((round) => round[kind].many / round[kind].few));
    return { few, many, rounds, firstRatio: ratio("first"), replayRatio: ratio("replay") };
  } finally {
    await Promise.all([small.gateway.stop(), large.gateway.stop()]);
  }
}

const MEMORY_ROUNDS = 3;

/** The same work over 16 shards that hold few records, and over 16 that hold many; a fresh process each time. */
export async function measureMemory(folder: string, origin: string, options: GrowthOptions): Promise<Memory> {
  const { few, many, seconds } = options;
  const peak = async (one: Filled): Promise<number> => {
    const gateway = await one.gateway.restart();
    try {
      const running = { ...one, gateway };
      const { peakMib } = await watchMemory(findProcess(gateway.pid, "workerd"), async () => {
        for (let turn = 0; turn < 2; turn += 1) {
          await firsts(running, seconds);
          await replays(running, 2 * seconds);
        }
      });
      return peakMib;
    } finally {
      await gateway.stop();
    }
  };
  const small = await fill(join(folder, "few"), origin, { shards: 16, records: few, keys: few });
  await small.gateway.stop();
  const large = await fill(join(folder, "many"), origin, { shards: 16, records: many, keys: few });
  await large.gateway.stop();
  const fewMib: number[] = [];
  const manyMib: number[] = [];
  const progress = new Progress("peak memory", MEMORY_ROUNDS, { unit: "rounds" });
  for (let round = 0; round < MEMORY_ROUNDS; round += 1) {
    fewMib.push(await peak(small));
    manyMib.push(await peak(large));
    progress.show(round + 1);
  }
  progress.end();
  return { few, many, fewMib, manyMib, ratio: median(manyMib) / median(fewMib) };
}
