// What the platform calls: the Worker and the object class. The configuration is read once, when the Worker starts, so
// that its problems stand in the log before the first request does.

import { env } from "cloudflare:workers";
import { createApp, createRefusingApp } from "./app.ts";
import { readConfig } from "./config/read.ts";
import { createOperatorApi } from "./operator/api.ts";
import { ShardOperator } from "./operator/shard-operator.ts";
import { shardCaller } from "./shard/call-shard.ts";
import { originTarget } from "./shard/origin-target.ts";

export { KeyShard } from "./shard/key-shard.ts";

const bindings: Readonly<Record<string, unknown>> = { ...env };
const read = readConfig(bindings);
if (!read.ok) {
  for (const { path, message } of read.problems) console.error(`configuration: ${path}: ${message}`);
}
const handle = read.ok
  ? createApp(
      read.config,
      { callShard: shardCaller(env.KEY_SHARD), target: (origin) => originTarget(origin, bindings) },
      createOperatorApi(read.config.operatorPath, read.tokens, new ShardOperator(env.KEY_SHARD, read.config.routes)),
    )
  : createRefusingApp(read.problems);

export default {
  fetch: (request: Request) => handle(request),
} satisfies ExportedHandler;
