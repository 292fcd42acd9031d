// The outbox in the Worker: operations of the operator API, a page of the console, metrics, and the pass that notices silent shards.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { addOutbox } from "./operator/outbox-api.ts";
import { outboxMetrics } from "./operator/outbox-metrics.ts";
import { eventsActions, OutboxOperator } from "./operator/outbox-operator.ts";
import { eventRoutes } from "./operator/outbox-page.tsx";
import { watchShards } from "./operator/watch-shards.ts";

export function outboxWorker({
  namespace,
  directory: places,
  config: { destinations },
  audit,
}: WorkerKernel): WorkerFeature {
  const events = new OutboxOperator(namespace, places, destinations);
  const actions = eventsActions(events, audit);
  return {
    name: "outbox",
    operator: {
      addApi: (app) => addOutbox(app, events, actions),
      console: {
        link: { path: "events", title: "Events", after: "records" },
        addPages: (app, paths) => eventRoutes(app, paths, events, actions),
      },
      metrics: outboxMetrics,
    },
    watch: async () => {
      if (destinations.some(({ alerts }) => alerts.includes("silent-shard"))) await watchShards(namespace, places);
    },
  };
}
