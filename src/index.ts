// What the platform calls: the Worker and the object class. The configuration is read once, when the Worker starts, so
// that its problems stand in the log before the first request does.

import { env, waitUntil } from "cloudflare:workers";
import { createApp, createRefusingApp } from "./app.ts";
import { type ConfigReading, readConfig } from "./config/read.ts";
import { createOperate } from "./operator/operate.ts";
import { ShardOperator } from "./operator/shard-operator.ts";
import { ShardPlaces } from "./operator/shards.ts";
import { TrafficReader } from "./operator/traffic-reader.ts";
import { shardCaller } from "./shard/call-shard.ts";
import { datasetIn } from "./shard/dataset.ts";
import { HandOver } from "./shard/hand-over.ts";
import { shardStub } from "./shard/shard-stub.ts";
import { originTarget } from "./shard/origin-target.ts";
import { Traffic } from "./traffic/traffic.ts";
import { Watch } from "./traffic/watch.ts";

export { KeyShard } from "./shard/key-shard.ts";

const bindings: Readonly<Record<string, unknown>> = { ...env };
const read = readConfig(bindings);
if (!read.ok) {
  for (const { path, message } of read.problems) console.error(`configuration: ${path}: ${message}`);
}
const handle = read.ok ? appOf(read) : createRefusingApp(read.problems);

function appOf({ config, tokens }: Extract<ConfigReading, { readonly ok: true }>): ReturnType<typeof createApp> {
  const namespace = env.KEY_SHARD;
  const traffic = new Traffic();
  const places = new ShardPlaces(config.routes);
  const shards = places.counting;
  const keepRecords = places.listed.length > 0;
  const handOver = new HandOver({
    shard: () => shardStub(namespace, shards[0]),
    traffic,
    waitUntil,
  });
  const reader = new TrafficReader({ namespace, shards, keepRecords, flush: () => handOver.flush() });
  return createApp(
    config,
    {
      callShard: shardCaller(namespace),
      target: (origin) => originTarget(origin, bindings),
      watch: new Watch("worker", traffic, datasetIn(bindings), () => handOver.counted()),
    },
    createOperate(config, tokens, new ShardOperator(namespace, config.routes), reader),
  );
}

export default {
  fetch: (request: Request) => handle(request),
} satisfies ExportedHandler;
