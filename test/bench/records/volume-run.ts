// A run of the volume measurement: it remembers in its folder how far it has come, so that it can be stopped at any time and
// goes on where it stood.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import type { Gateway } from "../../support/gateway.ts";
import { freshKey } from "../../support/http.ts";
import { Progress as ProgressLine } from "../../support/progress.ts";
import { post } from "./post.ts";
import { type Probed, probeWhile } from "./prober.ts";
import { findProcess, watchMemory } from "../process-memory.ts";
import { startGateway } from "./records-gateway.ts";
import { ask, freshKeyIn, loadAll, makeShards } from "./shard-files.ts";

export const SHARDS = 64;

/** Older than the retention of a day and the width of a bucket: expired when it is loaded. */
export const EXPIRED_AGE_MS = 30 * 3_600_000;

const EXPIRED = "FROM records WHERE number > 2147483647 AND number < ((? / 1000 + 1) << 31)";

const progressSchema = v.object({
  records: v.number(),
  shards: v.array(v.object({ file: v.string(), shard: v.string(), template: v.string() })),
  isLoaded: v.boolean(),
  loadSeconds: v.number(),
  eraseSeconds: v.number(),
  peakMib: v.number(),
});
type Progress = v.InferOutput<typeof progressSchema>;

export class VolumeRun {
  readonly #folder: string;
  readonly #origin: string;
  progress: Progress;

  constructor(folder: string, origin: string, records: number) {
    this.#folder = folder;
    this.#origin = origin;
    const none = { records, shards: [], isLoaded: false, loadSeconds: 0, eraseSeconds: 0, peakMib: 0 };
    const saved: unknown = existsSync(this.#file) ? JSON.parse(readFileSync(this.#file, "utf8")) : none;
    this.progress = v.parse(progressSchema, saved);
    if (this.progress.records !== records) {
      throw new Error(`${folder} holds a run of ${this.progress.records} records: name another folder`);
    }
  }

  get #file(): string {
    return join(this.#folder, "progress.json");
  }

  #save(changes: Partial<Progress>): void {
    this.progress = { ...this.progress, ...changes };
    // Whole or not at all, whenever the run is stopped.
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.progress, null, 2));
    renameSync(`${this.#file}.new`, this.#file);
  }

  #start(): Promise<Gateway> {
    return startGateway(this.#origin, join(this.#folder, "state"), SHARDS);
  }

  async load(): Promise<void> {
    if (this.progress.isLoaded) return;
    if (this.progress.shards.length === 0) {
      const shards = await makeShards(() => this.#start(), SHARDS);
      this.#save({ shards: [...shards] });
    }
    const each = Math.ceil(this.progress.records / SHARDS);
    const jobs = this.progress.shards.map(({ file, shard, template }) => {
      // Loaded in the order of their numbers and in whole transactions, so their count is the next one's number.
      const from = Number(ask(file, `SELECT count(*) AS n ${EXPIRED}`, Date.now()));
      return { file, template, seed: shard, from, to: each, ageMs: EXPIRED_AGE_MS };
    });
    let done = jobs.reduce((sum, { from }) => sum + from, 0);
    const bar = new ProgressLine("load", each * SHARDS, { unit: "records", from: done });
    let at = performance.now();
    await loadAll(jobs, (records) => {
      done += records;
      const now = performance.now();
      this.#save({ loadSeconds: this.progress.loadSeconds + (now - at) / 1000 });
      at = now;
      bar.show(done);
    });
    bar.end();
    this.#save({ isLoaded: true });
  }

  /** The records that have expired and are still there, about: they are erased in the order of their slots, which are digests. */
  #left(): number {
    const now = Date.now();
    return this.progress.shards.reduce((sum, { file }) => {
      const first = ask(file, `SELECT number & 2147483647 AS n ${EXPIRED} ORDER BY number LIMIT 1`, now);
      const share = typeof first === "number" ? 1 - first / 2 ** 31 : 0;
      return sum + share * (this.progress.records / SHARDS);
    }, 0);
  }

  /** Lets the gateway erase everything. Tells how its shards answered meanwhile; `null` when nothing was left to erase. */
  async erase(): Promise<Probed | null> {
    const { records, shards } = this.progress;
    let left = this.#left();
    if (left === 0) return null;
    const gateway = await this.#start();
    try {
      const key = freshKey();
      await post(gateway.url, key);
      const bar = new ProgressLine("erase", records, { unit: "records", from: records - left });
      let probed: Probed | null = null;
      const { peakMib } = await watchMemory(findProcess(gateway.pid, "workerd"), async () => {
        probed = await probeWhile(gateway.url, key, async () => {
          let at = performance.now();
          // The first claim of an instance sets its alarm to what is due.
          for (const { shard } of shards) await post(gateway.url, await freshKeyIn(shard, SHARDS));
          while (left > 0) {
            await pause(200);
            left = this.#left();
            bar.show(records - left);
            const now = performance.now();
            this.#save({ eraseSeconds: this.progress.eraseSeconds + (now - at) / 1000 });
            at = now;
          }
        });
      });
      bar.end();
      this.#save({ peakMib: Math.max(this.progress.peakMib, peakMib) });
      return probed;
    } finally {
      await gateway.stop();
    }
  }
}
