// One exchange as a data point of Workers Analytics Engine. The order of blobs and doubles is what queries name (README.md,
// "Analytics Engine"): a new one goes to the end.

import type { ExchangeReport } from "./traffic.ts";

/** An Analytics Engine dataset, as far as it is used here. */
export interface Dataset {
  writeDataPoint(point: DataPoint): void;
}

export interface DataPoint {
  readonly indexes: readonly [string];
  readonly blobs: readonly string[];
  readonly doubles: readonly number[];
}

/** The platform takes no more of an index (Analytics Engine, "Limits"); a path is ASCII. */
const INDEX_BYTES = 96;

export function dataPointOf(report: ExchangeReport, keyHash: string | null, where: string): DataPoint {
  const { route, outcome, status, attempt, durationMs, originMs, waitedMs } = report;
  return {
    indexes: [route.slice(0, INDEX_BYTES)],
    blobs: [route, outcome, where, keyHash ?? ""],
    doubles: [durationMs, originMs ?? -1, waitedMs, status, attempt ?? 0],
  };
}
