// What the Worker gives to its features, for tests of one of them.

import { env } from "cloudflare:test";
import { readConfig } from "../../../src/features/settings.ts";
import type { Route } from "../../../src/kernel/config/resolved.ts";
import { askOwn } from "../../../src/kernel/elsewhere.ts";
import { EncryptionDeriver } from "../../../src/kernel/encryption/encryption.ts";
import { ExchangeReporter } from "../../../src/kernel/traffic/exchange-reporter.ts";
import { TrafficCounters } from "../../../src/kernel/traffic/traffic.ts";
import type { WorkerKernel } from "../../../src/kernel/worker-feature.ts";
import { ShardOperator } from "../../../src/operator/shard-operator.ts";
import { ShardDirectory } from "../../../src/operator/shards.ts";
import { TrafficReader } from "../../../src/operator/traffic-reader.ts";

/** As they are made here. */
interface Ported {
  readonly operator: ShardOperator;
  readonly reader: TrafficReader;
}

const notCalled = (): Promise<never> => Promise.reject(new Error("not called"));

/** Over the objects of `routes`; what is audited is only done. */
export function workerKernel(routes: readonly Route[] = [], namespace = env.KEY_SHARD): WorkerKernel & Ported {
  const read = readConfig({ IDEMPOTENCY: { origin: "https://origin.example" }, ROUTES: [{ path: "/act" }] });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const places = new ShardDirectory(routes);
  const operator = new ShardOperator(namespace, routes, places);
  const encryptions = new EncryptionDeriver([]);
  const nothing = { routes: [], mayRotate: () => true, flush: () => Promise.resolve() };
  return {
    env: {},
    config: read.config,
    routes,
    namespace,
    directory: places,
    callShard: notCalled,
    findObject: askOwn,
    proveCaller: notCalled,
    reading: { proveCaller: notCalled, encryptions },
    waitUntil: (work) => void work,
    encryptions,
    reporter: new ExchangeReporter("worker", new TrafficCounters()),
    flush: () => undefined,
    operator,
    askOperators: (call, question) => operator.askOperators(call, question),
    audit: { record: (_actor, _action, _target, change) => change() },
    reader: new TrafficReader({ namespace, directory: places, ...nothing }),
  };
}
