// A table of how long work holds the isolate, whose other requests wait meanwhile: the longest stretch between two of its pauses, and all
// stretches together. Each stretch counts by the shortest of its times, since what the rest of the machine does is no cost of the work.

import { parseArgs } from "node:util";
import { Progress } from "../support/progress.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "9" }, only: { type: "string", default: "" } },
});
const rounds = Number(values.rounds);

export const MEBIBYTE = 1 << 20;

export const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A mebibyte, or as much as `bytes` says, of repeated text. */
export const filled = (part: string, bytes = MEBIBYTE): string => part.repeat(Math.floor(bytes / part.length));

export function printHead(what: string): void {
  process.stdout.write(`| ${what} | total ms | longest stretch ms | stretches |\n`);
  process.stdout.write("| --- | --- | --- | --- |\n");
}

/** `run` returns the milliseconds of each of its stretches, as many each time. */
export async function row(name: string, run: () => Promise<readonly number[]>): Promise<void> {
  if (!name.startsWith(values.only)) return;
  const shortest = [...(await run())];
  const progress = new Progress(name, rounds, { unit: "rounds" });
  for (let round = 1; round < rounds; round++) {
    progress.show(round);
    for (const [index, time] of (await run()).entries()) {
      shortest[index] = Math.min(shortest[index] ?? time, time);
    }
  }
  progress.end();
  const total = shortest.reduce((sum, time) => sum + time, 0);
  const cells = [total, Math.max(...shortest)].map((cell) => cell.toFixed(1));
  process.stdout.write(`| ${[name, ...cells, shortest.length].join(" | ")} |\n`);
}
