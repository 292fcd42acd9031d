// Processor time, with all contestants under load at the same time, so that whatever else the machine does meets all of them
// alike: on a noisy machine the ratios vary by a few per cent, and those of rounds in turn by thirty.
// `npm run bench -- versus [--only NAME,NAME] [--beside DIR] [--rounds N] [--seconds N] [--warm-up N] [--connections N]`

import { mkdtemp, rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import { startOrigin } from "./processes.ts";
import { ratiosOf, ratiosTable, rowsOf, rowsTable } from "./report.ts";
import { measureAtOnce } from "./rounds.ts";
import { startScene } from "./variants.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "straight,floor,first,replay cold" },
    beside: { type: "string" },
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "3" },
    "warm-up": { type: "string", default: "30" },
    connections: { type: "string", default: "4" },
    keys: { type: "string", default: "20000" },
  },
});

const names = new Set(options.only.split(","));
const stateDir = await mkdtemp("/dev/shm/onceway-versus-");
const origin = await startOrigin();
try {
  const scene = await startScene({
    originUrl: origin.url,
    stateDir,
    coldKeys: Number(options.keys),
    withPeers: false,
    isChosen: (name) => names.has(name),
    beside: options.beside ?? null,
    areApart: true,
  });
  try {
    const samples = await measureAtOnce(scene.variants, {
      connections: Number(options.connections),
      rounds: Number(options.rounds),
      seconds: Number(options.seconds),
      warmUpSeconds: Number(options["warm-up"]),
    });
    const many = samples.map((sample) => Object.assign(sample, { connections: 16 }));
    console.log(`${rowsTable(rowsOf(scene.variants, many))}\n\n${ratiosTable(ratiosOf(many))}`);
  } finally {
    await scene.stop();
  }
} finally {
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
