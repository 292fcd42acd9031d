// The entry points that the platform calls: the Worker and the object class. The configuration is read once, when the Worker
// starts, so that its problems are in the log before the first request.

import { env, waitUntil, WorkerEntrypoint } from "cloudflare:workers";
import { createClaims } from "./claims/api.ts";
import { createApp, createOperatorApp, createRefusingApp } from "./app.ts";
import { type ConfigReading, readConfig } from "./config/read.ts";
import type { Origin } from "./config/resolved.ts";
import { type Consume, type ConsumerPorts, queueConsumer, retryLater } from "./events/consume.ts";
import { deadLetterQueueIn } from "./events/dead-letter.ts";
import { queueTrials } from "./events/trial.ts";
import { Encryptions } from "./http/encryption.ts";
import { Audit } from "./operator/access/audit.ts";
import { createOperate, operatorTokens } from "./operator/operate.ts";
import { tokenSpotter } from "./http/token-auth.ts";
import { ShardOperator } from "./operator/shard-operator.ts";
import { ShardPlaces } from "./operator/shards.ts";
import { TrafficReader } from "./operator/traffic-reader.ts";
import { claimsCaller, positionAsker } from "./shard/call-claims.ts";
import { monitorAsker, shardCaller, shardStub } from "./shard/call-shard.ts";
import { deliverer } from "./shard/deliveries.ts";
import { bindingIn } from "./shard/bindings.ts";
import { TrafficFlusher } from "./traffic/traffic-flusher.ts";
import { Identities } from "./http/identity.ts";
import { NETWORK, originTarget } from "./shard/origin-call.ts";
import { outboxRoute } from "./traffic/route-counters.ts";
import { ReplayCounts } from "./traffic/replay-counts.ts";
import { Traffic } from "./traffic/traffic.ts";
import { ExchangeReporter } from "./traffic/exchange-reporter.ts";

export { KeyShard } from "./shard/key-shard.ts";

const bindings: Readonly<Record<string, unknown>> = { ...env };
const read = readConfig(bindings);
if (!read.ok) {
  for (const { path, message } of read.problems) console.error(`configuration: ${path}: ${message}`);
}
const handles = read.ok ? handlesOf(read) : refusing(createRefusingApp(read.problems));

interface Handles {
  /** For all requests of the public listener. */
  readonly all: ReturnType<typeof createApp>;
  /** For requests of the operators' own listener. */
  readonly operators: ReturnType<typeof createApp>;
  /** For the batches of queues. */
  readonly consume: Consume;
}

function refusing(handle: Handles["all"]): Handles {
  return { all: handle, operators: handle, consume: retryLater };
}

function handlesOf({
  config,
  operators: access,
  sealSecrets,
  consumerTokens,
}: Extract<ConfigReading, { readonly ok: true }>): Handles {
  const namespace = env.KEY_SHARD;
  const encryptions = new Encryptions(sealSecrets);
  const replays = new ReplayCounts();
  const traffic = new Traffic(replays);
  const allRoutes = [...config.routes, ...[...config.queues, ...config.consumers].map(({ route }) => route)];
  const places = new ShardPlaces(allRoutes);
  const shards = places.counting;
  const keepRecords = places.listed.length > 0;
  const flusher = new TrafficFlusher({
    shard: () => shardStub(namespace, shards[0]),
    traffic,
    replays,
    waitUntil,
  });
  const paths = allRoutes.map(({ path }) => path);
  const routes = [...new Set([...paths, ...config.destinations.map(({ name }) => outboxRoute(name))])];
  const flush = (): Promise<void> => flusher.flush();
  const reader = new TrafficReader({ namespace, shards, totals: places.totals, keepRecords, routes, flush, waitUntil });
  const target = (origin: Origin): ReturnType<typeof originTarget> => originTarget(origin, bindings);
  const callShard = shardCaller(namespace);
  const ports = {
    callShard,
    askMonitor: monitorAsker(namespace),
    target,
    identities: new Identities({ network: NETWORK, target, waitUntil }),
    reporter: new ExchangeReporter("worker", traffic, bindingIn(bindings, "METRICS"), () => flusher.counted()),
    encryptions,
  };
  const consumerPorts: ConsumerPorts = {
    deliver: deliverer(namespace, callShard),
    reporter: ports.reporter,
    deadLetterQueue: (name) => deadLetterQueueIn(bindings, name),
    secret: (name) => textIn(bindings[name]),
    flush: () => waitUntil(flush()),
  };
  const consume = queueConsumer(config.queues, consumerPorts);
  const tryQueue = queueTrials(config.queues, consumerPorts);
  const operator = new ShardOperator(namespace, allRoutes, encryptions, config.destinations);
  const audit = new Audit((call) => operator.askAudit(call));
  const operators = {
    operate: createOperate(config, access, { operator, audit, reader, tryQueue, network: NETWORK, waitUntil }),
    isTheirs: tokenSpotter(operatorTokens(access)),
  };
  const { consumers, consumerPath } = config;
  const claims = createClaims(consumerPath ?? "", consumers, consumerTokens, {
    callClaims: claimsCaller(namespace),
    askPosition: positionAsker(namespace),
    reporter: ports.reporter,
  });
  return { all: createApp(config, ports, operators, claims), operators: createOperatorApp(config, operators), consume };
}

function textIn(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The entry point of the operators' own listener, if there is one. No client request comes here. */
export class Operators extends WorkerEntrypoint {
  override fetch(request: Request): Response | Promise<Response> {
    return handles.operators(request);
  }
}

export default {
  fetch: (request: Request) => handles.all(request),
  queue: (batch: MessageBatch) => handles.consume(batch),
} satisfies ExportedHandler;
