// Claims in the Worker: operations of the operator API, a page of the console, and metrics.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { addPositions } from "./operator/api.ts";
import { claimsMetrics } from "./operator/metrics.ts";
import { claimRoutes } from "./operator/page.tsx";
import { auditedPositions, PositionsOperator } from "./operator/positions.ts";

export function claimsWorker({ namespace, places, routes, audit }: WorkerKernel): WorkerFeature {
  const positions = auditedPositions(new PositionsOperator(namespace, places, routes), audit);
  return {
    name: "claims",
    operator: {
      addApi: (app, auth) => addPositions(app, auth, positions),
      console: {
        link: { path: "claims", title: "Claims", after: "records" },
        addPages: (app, paths) => claimRoutes(app, paths, positions),
      },
      metrics: claimsMetrics,
    },
  };
}
