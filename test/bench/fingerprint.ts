// What it costs to compare a body, and how long nobody else is answered meanwhile: for each form of comparison, and for the
// JSON texts that are dearest, each of a mebibyte. In Node, whose engine is the runtime's: there a clock runs also while
// code runs. Each slice counts by the shortest of its times, since what the rest of the machine does is no cost of the body.
//
//   npm run bench -- fingerprint [--rounds 9]

import { parseArgs } from "node:util";
import { canonicalJson } from "../../src/http/canonical-json.ts";
import { sha256 } from "../../src/http/digest.ts";
import { Progress } from "../support/progress.ts";
import { WORST_JSON } from "../support/worst-json.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "9" } } });
const rounds = Number(values.rounds);

/** The milliseconds of each stretch of one run. */
async function stretches(body: Uint8Array, compare: "bytes" | "json" | "none"): Promise<readonly number[]> {
  if (compare === "none") return [0];
  const times: number[] = [];
  let canonical: Uint8Array | null = null;
  if (compare === "json") {
    const work = canonicalJson(body);
    for (;;) {
      const begun = performance.now();
      const step = work.next();
      times.push(performance.now() - begun);
      if (step.done !== true) continue;
      canonical = step.value;
      break;
    }
  }
  const begun = performance.now();
  await sha256(canonical ?? body);
  return [...times, performance.now() - begun];
}

async function row(name: string, body: Uint8Array, compare: "bytes" | "json" | "none"): Promise<string> {
  const first = await stretches(body, compare);
  const shortest = [...first];
  const progress = new Progress(name, rounds, { unit: "rounds" });
  for (let round = 1; round < rounds; round++) {
    progress.show(round);
    for (const [index, time] of (await stretches(body, compare)).entries()) {
      shortest[index] = Math.min(shortest[index] ?? time, time);
    }
  }
  progress.end();
  const total = shortest.reduce((sum, time) => sum + time, 0);
  const cells = [name, total, Math.max(...shortest)].map((cell) => (typeof cell === "string" ? cell : cell.toFixed(1)));
  return `| ${[...cells, shortest.length].join(" | ")} |`;
}

process.stdout.write("| body of 1 MiB | total ms | longest stretch ms | stretches |\n");
process.stdout.write("| --- | --- | --- | --- |\n");
const bytes = new Uint8Array(1 << 20).fill(0x61);
process.stdout.write(`${await row("none: any", bytes, "none")}\n`);
process.stdout.write(`${await row("bytes: any", bytes, "bytes")}\n`);
for (const [name, text] of Object.entries(WORST_JSON)) {
  process.stdout.write(`${await row(`json: ${name}`, new TextEncoder().encode(text), "json")}\n`);
}
