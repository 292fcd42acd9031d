// Accepted requests in the Worker: their monitors.

import type { Config } from "../../kernel/config/resolved.ts";
import type { RequestFeature } from "../../kernel/request-feature.ts";
import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { acceptsRequests } from "../../kernel/request/monitor-url.ts";
import { inertAtMonitors } from "./inert-answer.ts";
import { monitorEndpoint, type MonitorPorts, type AskMonitor } from "./monitor.ts";
import { elsewhereIn, type FindObject } from "../../kernel/elsewhere.ts";
import { locateKey, OPTIONS, shardStub, withRetries } from "../../kernel/object/call-shard.ts";
import { shardAddressOf } from "../../kernel/object/shard-address.ts";
import { keyHashOf } from "../../kernel/record/units.ts";
import { STATUS_HEADER } from "../../kernel/request/headers.ts";
import { MONITOR_CALL, NO_MONITOR_STATUS } from "./monitor-question.ts";

export function acceptedWorker({ config, namespace, findObject, proveCaller }: WorkerKernel): WorkerFeature {
  return {
    name: "accepted",
    ...monitorFeature(config, { proveCaller, askMonitor: monitorAsker(namespace, findObject) }),
  };
}

/** Where no route accepts requests, the addresses of monitors are the origin's. */
export function monitorFeature(config: Pick<Config, "routes">, ports: MonitorPorts): RequestFeature {
  return acceptsRequests(config) ? { endpoint: monitorEndpoint(ports), finish: inertAtMonitors } : {};
}

/** Also while the configuration has problems, so that nobody knows whether requests are accepted. */
export { inertAtMonitors };

// Asks objects what became of an accepted request.

/** For the monitors of accepted requests. Their answers come from whichever object keeps the record, and no body is at stake. */
export function monitorAsker(namespace: DurableObjectNamespace, findObject: FindObject): AskMonitor {
  return async (placing, layouts, questionIn) => {
    const names = { keyHash: keyHashOf(placing) };
    try {
      const answer = await findObject(placing, layouts, async (layout, previous) => {
        const question = await questionIn(layout, previous);
        const isForeign = layout.jurisdiction !== layouts.own.jurisdiction;
        const located = isForeign ? await locateKey(namespace, layout, question) : null;
        if (located !== null) return located;
        const body = JSON.stringify(question);
        const address = shardAddressOf(placing, layout);
        const call = (): Promise<Response> =>
          shardStub(namespace, address).fetch(MONITOR_CALL.url, { ...OPTIONS, body });
        const given = await withRetries(call, names);
        return elsewhereIn(given) ?? { kind: "given", given };
      });
      return answer !== null && isNotHere(answer) ? "not-found" : answer;
    } catch (error) {
      console.error({ message: "shard unavailable", ...names, reason: String(error) });
      return null;
    }
  };
}

/** Answers to clients never say this: an origin's cannot have the header. */
function isNotHere({ status, headers }: Response): boolean {
  return status === NO_MONITOR_STATUS && headers.get(STATUS_HEADER) === "monitor-not-found";
}
