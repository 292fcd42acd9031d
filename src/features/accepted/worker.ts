// Accepted requests in the Worker: their monitors.

import type { Config } from "../../kernel/config/resolved.ts";
import type { RequestFeature } from "../../kernel/request-feature.ts";
import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { acceptsRequests } from "../../kernel/request/monitor-url.ts";
import { monitorAsker } from "./ask-monitor.ts";
import { inertAtMonitors } from "./inert-answer.ts";
import { monitorEndpoint, type MonitorPorts } from "./monitor.ts";

export function acceptedWorker({ config, namespace, findObject, proveCaller }: WorkerKernel): WorkerFeature {
  return { name: "accepted", ...monitors(config, { proveCaller, askMonitor: monitorAsker(namespace, findObject) }) };
}

/** Where no route accepts requests, the addresses of monitors are the origin's. */
export function monitors(config: Pick<Config, "routes">, ports: MonitorPorts): RequestFeature {
  return acceptsRequests(config) ? { endpoint: monitorEndpoint(ports), finish: inertAtMonitors } : {};
}

/** Also while the configuration has problems, so that nobody knows whether requests are accepted. */
export { inertAtMonitors };
