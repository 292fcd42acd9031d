// One exchange as a data point of Workers Analytics Engine. Queries name blobs and doubles by their position (README.md,
// "Analytics Engine"), so a new one goes to the end.

import type { ExchangeReport } from "./traffic.ts";

/** The part of an Analytics Engine dataset that is used here. */
export interface Dataset {
  writeDataPoint(point: DataPoint): void;
}

export interface DataPoint {
  readonly indexes: readonly [string];
  readonly blobs: readonly string[];
  readonly doubles: readonly number[];
}

/** The platform allows no longer index (Analytics Engine, "Limits"). A path is ASCII, so characters are bytes. */
const INDEX_BYTES = 96;

export function dataPointOf(report: ExchangeReport, keyHash: string | null, where: string): DataPoint {
  const { route, outcome, status, attempt, durationMs, originMs, waitedMs } = report;
  return {
    indexes: [route.slice(0, INDEX_BYTES)],
    blobs: [route, outcome, where, keyHash ?? ""],
    doubles: [durationMs, originMs ?? -1, waitedMs, status, attempt ?? 0],
  };
}
