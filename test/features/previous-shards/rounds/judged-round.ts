// One round and its verdict, for tests: the history is written, read, checked and removed.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkHistory, type Violation } from "../../../guarantees/check-history.ts";
import { readHistory } from "../../../guarantees/history.ts";
import { summarize } from "../../../guarantees/summary.ts";
import { dimensionsWithout } from "../../../chaos/dimensions.ts";
import type { Dimensions } from "../../../chaos/dimensions.ts";
import { type Counts, noKills } from "./killing-box.ts";
import { type RoundOptions, type RoundResult, runRound } from "./mixed.ts";
import { type Point, POINTS } from "./points.ts";

/** Left out of a round unless told otherwise: they take time and show nothing about layouts. */
export const LEFT_OUT = [
  "herds",
  "operators",
  "bucket",
  "stalls",
  "trickles",
  "foreign",
  "accepted",
  "tokens",
  "events",
  "claims",
  "deliveries",
  "lanes",
  "calls",
  "signatures",
  // Its objects have a layout of their own.
  "observe",
];

export function roundDimensions(): Dimensions {
  return dimensionsWithout(LEFT_OUT);
}

/** As many kills at each of these points. */
export function killsAtEach(count: number, points: readonly Point[] = POINTS): Counts {
  const kills = noKills();
  for (const point of points) kills[point] = count;
  return kills;
}

export interface Judged extends RoundResult {
  readonly violations: readonly Violation[];
  readonly summary: string;
}

export async function judgedRound(options: Omit<RoundOptions, "file">): Promise<Judged> {
  const folder = await mkdtemp(join(tmpdir(), "onceway-round-"));
  try {
    const file = join(folder, "history.jsonl");
    const result = await runRound({ ...options, file });
    const history = await readHistory(file);
    const violations = checkHistory(history);
    return { ...result, violations, summary: summarize(history, violations) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
