// What an object, or all of them, have counted of one route in one day, by name: classes, what responses say of effects (`effect:doubled`), marks of
// requests, and how long after the first its repeats came (`gap:1m`).

import { jsonCall } from "../../kernel/call.ts";
import type { EffectEvidence } from "../../kernel/record/sighting.ts";

export interface DayCounts {
  /** Days since the epoch, in UTC. */
  readonly day: number;
  readonly route: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** Operators ask an object what it has counted of each route and day. */
export const OBSERVED_CALLS = { observed: jsonCall<void, readonly DayCounts[]>("observed") };

export function effectName(evidence: EffectEvidence): string {
  return `effect:${evidence}`;
}

/** Upper bounds of the bins of gaps. */
export const GAP_BINS: readonly (readonly [name: string, upToMs: number])[] = [
  ["1s", 1000],
  ["1m", 60_000],
  ["10m", 600_000],
  ["1h", 3_600_000],
  ["6h", 21_600_000],
  ["24h", 86_400_000],
  ["48h", Number.POSITIVE_INFINITY],
];

export function gapName(ms: number): string {
  const [name] = GAP_BINS.find(([, upToMs]) => ms <= upToMs) ?? ["48h"];
  return `gap:${name}`;
}
