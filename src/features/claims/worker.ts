// Claims in the Worker: the endpoint of consumers, operations of the operator API, a page of the console, and metrics.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { claimsEndpoint, createClaims } from "./consumer-api.ts";
import { claimsCaller, positionAsker } from "./call-claims.ts";
import { addPositions } from "./operator/positions-api.ts";
import { claimsMetrics } from "./operator/claim-metrics.ts";
import { claimRoutes } from "./operator/claims-page.tsx";
import { PositionsOperator } from "./operator/positions-operator.ts";

export function claimsWorker(kernel: WorkerKernel): WorkerFeature {
  const { config, env, namespace, findObject, directory: places, routes, reporter, audit } = kernel;
  const { consumers, consumerPath } = config;
  const ports = { callClaims: claimsCaller(namespace, findObject), askPosition: positionAsker(namespace), reporter };
  const positions = new PositionsOperator(namespace, places, routes);
  return {
    name: "claims",
    ...(consumerPath === null
      ? null
      : { endpoint: claimsEndpoint(consumerPath, createClaims(consumerPath, consumers, env, ports)) }),
    operator: {
      addApi: (app) => addPositions(app, positions, audit),
      console: {
        link: { path: "claims", title: "Claims", after: "records" },
        addPages: (app, paths) => claimRoutes(app, paths, positions),
      },
      metrics: claimsMetrics,
    },
  };
}
