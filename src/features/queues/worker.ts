// Queues in the Worker: their consumer, the trial of a queue in the operator API, and metrics.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { reportAlert } from "../outbox/operator/watch-shards.ts";
import { type ConsumerPorts, queueConsumer } from "./consume.ts";
import { deadLetterQueueIn } from "../outbox/dead-letter.ts";
import { exchangeDeliverer } from "./object/deliveries.ts";
import { queueMetrics } from "./operator/queue-metrics.ts";
import { queueTrialAction } from "./operator/trial.ts";
import { queueTrials } from "./trial.ts";

export function queuesWorker(kernel: WorkerKernel): WorkerFeature {
  const { config, operator, audit } = kernel;
  const ports = consumerPorts(kernel);
  return {
    name: "queues",
    consume: queueConsumer(config.queues, ports),
    operator: {
      addApi: queueTrialAction(queueTrials(config.queues, ports), operator, audit).addApi,
      metrics: queueMetrics,
    },
  };
}

function consumerPorts({
  env,
  config: { destinations },
  namespace,
  directory: { listed, totals },
  callShard,
  reporter,
  flush,
}: WorkerKernel): ConsumerPorts {
  const wantsDeadLetters = destinations.some(({ alerts }) => alerts.includes("dead-letter"));
  return {
    deliver: exchangeDeliverer(namespace, callShard),
    reporter,
    deadLetterQueue: (name) => deadLetterQueueIn(env, name),
    secret: (name) => {
      const value = env[name];
      return typeof value === "string" ? value : null;
    },
    reportAlert: async (report) => {
      if (wantsDeadLetters) await reportAlert(namespace, listed[0] ?? totals, report);
    },
    flush,
  };
}
