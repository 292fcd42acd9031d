// Whether records slow a shard down, or fill the memory, by their number: first requests and replays with 1,000,000 completed
// records in one shard against 1,000, in interleaved rounds, and the same with 20,000 of 200 kB; peak memory with 1,000,000 over 16
// shards against 10,000. The replayed and the new keys have small bodies everywhere.
// `npm run bench -- growth [--short] [--only small|large|memory] [--rounds N] [--tmpfs] [--json FILE] [--svg DIR]`

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureMemory, measureThroughput, type Memory, type Throughput } from "./growth-measures.ts";
import { COUNTS, ERASED_AT_ONCE } from "../cost/operation-counts.ts";
import { type Bar, barGraph } from "../graph.ts";
import { spreadOf } from "../rounds.ts";
import { closeConnections } from "./post.ts";
import { grouped } from "../../support/progress.ts";
import { median } from "../quantiles.ts";
import { withFolder } from "./folder.ts";
import { withOrigin } from "./records-gateway.ts";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string" },
    tmpfs: { type: "boolean", default: false },
    json: { type: "string" },
    svg: { type: "string" },
  },
});

const many = options.short ? 50_000 : 1_000_000;
/** As many as 4 GB hold. */
const LARGE_BYTES = 200_000;
const large = options.short ? 1000 : 20_000;
const usual = options.short ? { rounds: 3, seconds: 1 } : { rounds: 9, seconds: 3 };
const sizes = { ...usual, rounds: Number(options.rounds ?? usual.rounds) };

function spread(values: readonly number[]): string {
  return `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
}

function reportThroughput({ few, many: most, rounds }: Throughput, bodies: string): void {
  console.log(
    `\nOne shard, 16 connections, state ${options.tmpfs ? "on tmpfs" : "on disk"}, ${rounds.length} rounds.\n`,
  );
  console.log(`| | ${grouped(few)} small records, per second | ${grouped(most)} ${bodies} | ratio, median (range) |`);
  console.log("| --- | --- | --- | --- |");
  for (const kind of ["first", "replay"] as const) {
    const [low, high] = (["few", "many"] as const).map((size) => median(rounds.map((round) => round[kind][size])));
    const ratios = rounds.map((round) => round[kind].many / round[kind].few);
    console.log(`| ${kind} | ${grouped(low ?? 0)} | ${grouped(high ?? 0)} | ${spread(ratios)} |`);
  }
}

function reportMemory(memory: Memory): void {
  console.log(
    `\nPeak resident memory over 16 shards: ${memory.fewMib.map((mib) => mib.toFixed(0)).join(", ")} MiB with`,
  );
  console.log(`${grouped(memory.few)} records, ${memory.manyMib.map((mib) => mib.toFixed(0)).join(", ")} MiB with`);
  console.log(`${grouped(memory.many)}: ${memory.ratio.toFixed(2)}x.`);
}

/** Throughput by records per shard. */
function graph({ few, many: most, rounds }: Throughput): string {
  const bars = (["first", "replay"] as const).flatMap((kind, tone) =>
    (["few", "many"] as const).flatMap((size): Bar[] => {
      const spreadOfSize = spreadOf(rounds.map((round) => round[kind][size]));
      const label = `${kind}, ${grouped(size === "few" ? few : most)} records`;
      return spreadOfSize === null ? [] : [{ label, spread: spreadOfSize, tone: tone === 0 ? 0 : 1 }];
    }),
  );
  const where = options.tmpfs ? "tmpfs" : "disk";
  const how = `Medians of ${rounds.length} interleaved rounds, with their range; one shard, state on ${where}`;
  return barGraph("Requests per second by records in the shard, 16 connections", how, bars, 0);
}

const wants = (what: string): boolean => options.only === undefined || options.only === what;

await withOrigin((origin) =>
  withFolder(options.tmpfs, async (folder) => {
    let throughput: Throughput | null = null;
    let largeBodies: Throughput | null = null;
    let memory: Memory | null = null;
    if (wants("small")) {
      throughput = await measureThroughput(join(folder, "small"), origin, { few: 1000, many, ...sizes });
      reportThroughput(throughput, "as small");
    }
    if (wants("large")) {
      const how = { few: 1000, many: large, bodyBytes: LARGE_BYTES, ...sizes };
      largeBodies = await measureThroughput(join(folder, "large"), origin, how);
      reportThroughput(largeBodies, `with ${grouped(LARGE_BYTES)} bytes each`);
    }
    if (wants("memory")) {
      memory = await measureMemory(join(folder, "sixteen"), origin, { few: 10_000, many, ...sizes });
      reportMemory(memory);
    }
    if (options.svg !== undefined && throughput !== null) {
      await mkdir(options.svg, { recursive: true });
      await writeFile(join(options.svg, "records.svg"), graph(throughput));
    }
    if (options.json !== undefined) {
      const rowsPerKey = COUNTS.first.rowsWritten + COUNTS.erased.rowsWritten / ERASED_AT_ONCE;
      // The first two as `npm run bench -- throughput --volume FILE` takes them over.
      const firstMillionVsThousand = throughput?.firstRatio ?? null;
      const figures = { firstMillionVsThousand, rowsPerKey, throughput, largeBodies, memory };
      await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
    }
  }),
);
closeConnections();
