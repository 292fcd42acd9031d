// How long erasing holds a shard: one shard erases what has expired, while it is asked for a replay every few milliseconds.
// `npm run bench -- erase [--short] [--only BYTES] [--tmpfs] [--json FILE]`

import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { freshKey } from "../../support/http.ts";
import { grouped, Progress, showPhase } from "../../support/progress.ts";
import { closeConnections, post } from "./post.ts";
import { type Probed, probeWhile, reported } from "./prober.ts";
import { withFolder } from "./folder.ts";
import { startGateway, withOrigin } from "./records-gateway.ts";
import { ask, loadAll, makeShards } from "./shard-files.ts";
import { EXPIRED_AGE_MS } from "./volume-run.ts";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string" },
    tmpfs: { type: "boolean", default: false },
    json: { type: "string" },
  },
});

/** What one shard erases: how many records, with how large a response each. The largest lie in several chunks. */
const ALL = [
  [options.short ? 20_000 : 100_000, 100],
  [options.short ? 4_000 : 20_000, 2_000],
  [options.short ? 1_000 : 5_000, 200_000],
  [options.short ? 20 : 200, 5_000_000],
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

/** Writes to the disk what the loader left to the system: the gateway's first commit would wait for all of it. */
async function settle(file: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
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
  await settle(file);
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
        const left =
          "SELECT EXISTS (SELECT 1 FROM records WHERE number > 2147483647 AND number < ((? / 1000 + 1) << 31)) OR EXISTS (SELECT 1 FROM discarded) AS n";
        while (ask(file, left, Date.now()) !== 0) await pause(20);
      }),
    );
    return { records: count, bodyBytes, seconds: (performance.now() - begun) / 1000, calm, erasing };
  } finally {
    await gateway.stop();
  }
}

function report({ records, bodyBytes, seconds, erasing, calm }: OneShard): void {
  const what = `${grouped(records)} records with ${grouped(bodyBytes)} bytes each`;
  console.log(`one shard erases ${what} at ${grouped(records / seconds)}/s: ${reported(erasing)}`);
  console.log(`the same shard before: ${reported(calm)}`);
}

await withOrigin((origin) =>
  withFolder(options.tmpfs, async (folder) => {
    const ones: OneShard[] = [];
    for (const [count, bodyBytes] of ALL) {
      if (options.only !== undefined && options.only !== String(bodyBytes)) continue;
      const one = await eraseInOne(folder, origin, count, bodyBytes);
      report(one);
      ones.push(one);
    }
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(ones, null, 2)}\n`);
  }),
);
closeConnections();
