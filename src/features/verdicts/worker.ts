// Verdicts from the body in the Worker: what operators can count.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { verdictMetrics } from "./operator/verdict-metrics.ts";

export function verdictsWorker({ routes }: WorkerKernel): WorkerFeature {
  return { name: "verdicts", operator: { addApi: () => undefined, metrics: verdictMetrics(routes) } };
}
