// Retention at volume: so many records are loaded into the files of 64 shards, expired, and are erased by the gateway's own
// alarms.
// `npm run bench -- volume [--short | --full] [--records N] [--state DIR] [--tmpfs] [--json FILE]`; a run that was stopped
// goes on where it stood when it is given the same folder.

import { mkdir, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { closeConnections } from "./post.ts";
import { type Probed, reported } from "./prober.ts";
import { grouped } from "../../support/progress.ts";
import { withFolder } from "./folder.ts";
import { withOrigin } from "./records-gateway.ts";
import { SHARDS, VolumeRun } from "./volume-run.ts";

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

function report(run: VolumeRun, whileErasing: Probed | null): void {
  const { loadSeconds, eraseSeconds, peakMib } = run.progress;
  console.log(`${grouped(records)} records over ${SHARDS} shards, state ${options.tmpfs ? "on tmpfs" : "on disk"}`);
  console.log(`loaded: ${grouped(records / loadSeconds)}/s (${loadSeconds.toFixed(1)} s)`);
  console.log(`erased: ${grouped(records / eraseSeconds)}/s (${eraseSeconds.toFixed(1)} s)`);
  console.log(`peak resident memory while erasing: ${peakMib.toFixed(0)} MiB`);
  if (whileErasing !== null) console.log(`while all shards erase: ${reported(whileErasing)}`);
}

await withOrigin((origin) =>
  withFolder(options.tmpfs, async (temporary) => {
    const folder = options.state ?? temporary;
    await mkdir(folder, { recursive: true });
    const run = new VolumeRun(folder, origin, records);
    await run.load();
    const whileErasing = await run.erase();
    report(run, whileErasing);
    if (options.json !== undefined) {
      const { loadSeconds, eraseSeconds, peakMib } = run.progress;
      const figures = { records, loadSeconds, eraseSeconds, peakMib, whileErasing };
      await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
    }
  }),
);
closeConnections();
