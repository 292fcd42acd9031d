// The Analytics Engine dataset for one data point per exchange, where one is bound.

import type { Dataset } from "../traffic/data-point.ts";

export function datasetIn(env: Readonly<Record<string, unknown>>): Dataset | null {
  const dataset = env["METRICS"];
  return isDataset(dataset) ? dataset : null;
}

function isDataset(value: unknown): value is Dataset {
  return typeof value === "object" && value !== null;
}
