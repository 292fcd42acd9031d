// Whether records slow a shard down, or fill the memory, by their number: first requests and replays with 1,000,000 completed
// records in one shard against 1,000, in interleaved rounds; peak memory with 1,000,000 over 16 shards against 10,000.
// `npm run bench -- growth [--short] [--tmpfs] [--json FILE] [--svg DIR]`

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureMemory, measureThroughput, type Memory, type Throughput } from "./growth-measures.ts";
import { COUNTS, ERASED_AT_ONCE } from "../../../src/cli/operation-counts.ts";
import { type Bar, barGraph } from "../graph.ts";
import { spreadOf } from "../rounds.ts";
import { closeConnections } from "./post.ts";
import { grouped } from "../../support/progress.ts";
import { median } from "../process-memory.ts";
import { withFolder, withOrigin } from "./records-gateway.ts";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    tmpfs: { type: "boolean", default: false },
    json: { type: "string" },
    svg: { type: "string" },
  },
});

const many = options.short ? 50_000 : 1_000_000;
const sizes = options.short ? { rounds: 3, seconds: 1 } : { rounds: 9, seconds: 3 };

function spread(values: readonly number[]): string {
  return `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
}

function report(throughput: Throughput, memory: Memory): void {
  const { few, many: most, rounds } = throughput;
  console.log(`One shard, 16 connections, state ${options.tmpfs ? "on tmpfs" : "on disk"}, ${rounds.length} rounds.\n`);
  console.log(`| | ${grouped(few)} records, per second | ${grouped(most)} records | ratio, median (range) |`);
  console.log("| --- | --- | --- | --- |");
  for (const kind of ["first", "replay"] as const) {
    const [low, high] = (["few", "many"] as const).map((size) => median(rounds.map((round) => round[kind][size])));
    const ratios = rounds.map((round) => round[kind].many / round[kind].few);
    console.log(`| ${kind} | ${grouped(low ?? 0)} | ${grouped(high ?? 0)} | ${spread(ratios)} |`);
  }
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

await withOrigin((origin) =>
  withFolder(options.tmpfs, async (folder) => {
    const throughput = await measureThroughput(join(folder, "one"), origin, { few: 1000, many, ...sizes });
    const memory = await measureMemory(join(folder, "sixteen"), origin, { few: 10_000, many, ...sizes });
    report(throughput, memory);
    if (options.svg !== undefined) {
      await mkdir(options.svg, { recursive: true });
      await writeFile(join(options.svg, "records.svg"), graph(throughput));
    }
    if (options.json !== undefined) {
      const rowsPerKey = COUNTS.first.rowsWritten + COUNTS.erased.rowsWritten / ERASED_AT_ONCE;
      // The first two as `npm run bench -- throughput --volume FILE` takes them over.
      const figures = { firstMillionVsThousand: throughput.firstRatio, rowsPerKey, throughput, memory };
      await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
    }
  }),
);
closeConnections();
