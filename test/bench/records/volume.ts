// Retention at volume: so many records are loaded into the files of 64 shards, expired, and are erased by the gateway's own
// alarms. Then one shard erases 100,000 while it is asked for a replay every few milliseconds.
// `npm run bench -- volume [--short | --full] [--records N] [--state DIR] [--tmpfs] [--json FILE]`; a run that was stopped
// goes on where it stood when it is given the same folder.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { freshKey } from "../../support/http.ts";
import { closeConnections, post } from "./post.ts";
import { type Probed, probeWhile } from "./prober.ts";
import { grouped, Progress, showPhase } from "../../support/progress.ts";
import { startGateway, withFolder, withOrigin } from "./records-gateway.ts";
import { ask, loadAll, makeShards } from "./shard-files.ts";
import { EXPIRED_AGE_MS, SHARDS, VolumeRun } from "./volume-run.ts";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    full: { type: "boolean", default: false },
    records: { type: "string" },
    state: { type: "string" },
    tmpfs: { type: "boolean", default: false },
    json: { type: "string" },
  },
});

const usual = options.full ? 10_000_000 : options.short ? 20_000 : 1_000_000;
const records = Number(options.records ?? usual);
/** What one shard erases: how many records, with how large a response each. */
const inOneShard = [
  [options.short ? 20_000 : 100_000, 100],
  [options.short ? 1_000 : 5_000, 200_000],
] as const;

/** What the prober hears of a shard that erases nothing: the machine's own unrest. */
const CALM_MS = 3000;

interface OneShard {
  readonly records: number;
  readonly bodyBytes: number;
  readonly seconds: number;
  readonly calm: Probed;
  readonly erasing: Probed;
}

/** One shard with `count` expired records, asked for a replay all the time while it erases them. */
async function eraseInOne(folder: string, origin: string, count: number, bodyBytes: number): Promise<OneShard> {
  const stateDir = join(folder, `one-${bodyBytes}`);
  const [made] = await makeShards(() => startGateway(origin, stateDir, 1), 1);
  if (made === undefined) throw new Error("no shard");
  const { file, template } = made;
  const loading = new Progress("load one shard", count, { unit: "records" });
  let loaded = 0;
  const job = { file, template, seed: "one", to: count, ageMs: EXPIRED_AGE_MS, bodyBytes };
  await loadAll([job], (more) => loading.show((loaded += more)));
  loading.end();
  const gateway = await startGateway(origin, stateDir, 1);
  try {
    const key = "shard-maker-0";
    await post(gateway.url, key);
    const calm = await showPhase("replays while the shard erases nothing", CALM_MS / 1000, () =>
      probeWhile(gateway.url, key, () => pause(CALM_MS)),
    );
    const begun = performance.now();
    const erasing = await showPhase(`one shard erases ${grouped(count)} records`, null, () =>
      probeWhile(gateway.url, key, async () => {
        await post(gateway.url, freshKey());
        const expired = "SELECT count(*) AS n FROM (SELECT 1 FROM records WHERE bucket > 0 AND bucket <= ? LIMIT 1)";
        while (ask(file, expired, Date.now()) !== 0) await pause(20);
      }),
    );
    return { records: count, bodyBytes, seconds: (performance.now() - begun) / 1000, calm, erasing };
  } finally {
    await gateway.stop();
  }
}

function told({ sent, medianMs, p99Ms, longestMs, ownLagMs }: Probed): string {
  const [median, p99, longest, lag] = [medianMs, p99Ms, longestMs, ownLagMs].map((ms) => ms.toFixed(1));
  return `${grouped(sent)} replays: median ${median} ms, 99 % within ${p99} ms, longest ${longest} ms (prober's own lag ${lag} ms)`;
}

function report(run: VolumeRun, whileErasing: Probed | null, ones: readonly OneShard[]): void {
  const { loadSeconds, eraseSeconds, peakMib } = run.progress;
  console.log(`${grouped(records)} records over ${SHARDS} shards, state ${options.tmpfs ? "on tmpfs" : "on disk"}`);
  console.log(`loaded: ${grouped(records / loadSeconds)}/s (${loadSeconds.toFixed(1)} s)`);
  console.log(`erased: ${grouped(records / eraseSeconds)}/s (${eraseSeconds.toFixed(1)} s)`);
  console.log(`peak resident memory while erasing: ${peakMib.toFixed(0)} MiB`);
  if (whileErasing !== null) console.log(`while all shards erase: ${told(whileErasing)}`);
  for (const { records: count, bodyBytes, seconds, erasing, calm } of ones) {
    const what = `${grouped(count)} records with ${grouped(bodyBytes)} bytes each`;
    console.log(`one shard erases ${what} at ${grouped(count / seconds)}/s: ${told(erasing)}`);
    console.log(`the same shard before: ${told(calm)}`);
  }
}

await withOrigin((origin) =>
  withFolder(options.tmpfs, async (temporary) => {
    const folder = options.state ?? temporary;
    await mkdir(folder, { recursive: true });
    const run = new VolumeRun(folder, origin, records);
    await run.load();
    const whileErasing = await run.erase();
    const ones: OneShard[] = [];
    for (const [count, bodyBytes] of inOneShard) ones.push(await eraseInOne(temporary, origin, count, bodyBytes));
    report(run, whileErasing, ones);
    if (options.json !== undefined) {
      const { loadSeconds, eraseSeconds, peakMib } = run.progress;
      const figures = { records, loadSeconds, eraseSeconds, peakMib, whileErasing, ones };
      await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
    }
  }),
);
closeConnections();
