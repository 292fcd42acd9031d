// Assembles the gateway that the Worker's variables describe, for the entries of the package.

import * as workers from "cloudflare:workers";
import { env as workerEnv, exports, waitUntil } from "cloudflare:workers";
import { type ConfigReading, PROCESS_BINDING } from "../kernel/config/read.ts";
import { readConfig } from "../features/settings.ts";
import { allRoutes, type Origin } from "../kernel/config/resolved.ts";
import { workerFeatures, workerFunctions } from "../features/worker.ts";
import { EncryptionDeriver } from "../kernel/encryption/encryption.ts";
import { NO_AUDIT_LOG } from "../operator/audited.ts";
import { createOperate, operatorTokens } from "../operator/operate.ts";
import { CONFIGURATION_RETRY_MS } from "../kernel/record/delivery.ts";
import { readingFeatures } from "../kernel/request-feature.ts";
import { tokenSpotter } from "../kernel/request/token-auth.ts";
import { ShardOperator } from "../operator/shard-operator.ts";
import { ShardDirectory } from "../operator/shards.ts";
import { TrafficReader } from "../operator/traffic-reader.ts";
import { shardCaller, shardStub } from "../kernel/object/call-shard.ts";
import { askOwn } from "../kernel/elsewhere.ts";
import { bindingIn } from "../kernel/object/bindings.ts";
import { TrafficFlusher } from "../kernel/traffic/traffic-flusher.ts";
import { isScopedByToken } from "../kernel/request/rotating-tokens.ts";
import { NETWORK, originTarget } from "../kernel/object/origin-call.ts";
import { outboxRoute } from "../kernel/traffic/route-counters.ts";
import { TrafficCounters } from "../kernel/traffic/traffic.ts";
import type { AskOperators, WorkerKernel } from "../kernel/worker-feature.ts";
import { ExchangeReporter } from "../kernel/traffic/exchange-reporter.ts";
import type { PlatformTracing } from "../kernel/traffic/platform-span.ts";
import { createApp, createOperatorApp, createRefusingApp, type PassingHandle, processGate } from "./app.ts";

/** The platform's own traces (Workers Observability, OTLP). A runtime from before June 2026 has none, and would not start with an import by name. */
const platformTracing: PlatformTracing | undefined = workers.tracing;

/** A gateway whose caller says for each request what answers it if no route protects it. create-onceway.ts says what the others do. */
export interface Gateway {
  readonly fetch: PassingHandle;
  readonly queue: (batch: MessageBatch) => Promise<void>;
  readonly scheduled: () => Promise<void>;
  readonly operate: (request: Request) => Promise<Response>;
}

/** @throws {TypeError} if the configuration is valid, and `KEY_SHARD` is no Durable Object namespace. */
export function createGateway(): Gateway {
  const env = { ...workerEnv };
  const read = readConfig(env);
  if (read.ok) return gatewayOf(read, env);
  for (const { path, message } of read.problems) console.error(`configuration: ${path}: ${message}`);
  const refuse = createRefusingApp(read.problems, workerFunctions.finishRefusal);
  return { fetch: refuse, operate: refuse, queue: retryLater, scheduled: () => Promise.resolve() };
}

/** Retries whole batches, while the configuration cannot be used or does not know the queue. */
async function retryLater(batch: MessageBatch): Promise<void> {
  console.error({ message: "no configuration for this queue, its messages are retried", queue: batch.queue });
  batch.retryAll({ delaySeconds: CONFIGURATION_RETRY_MS / 1000 });
}

function textIn(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function gatewayOf(
  { config, operators: access, encryptionSecrets }: Extract<ConfigReading, { readonly ok: true }>,
  bindings: Readonly<Record<string, unknown>>,
): Gateway {
  const namespace = bindingIn(bindings, "KEY_SHARD");
  if (namespace === null) throw new TypeError("there is no Durable Object binding KEY_SHARD: see wrangler.toml");
  const encryptions = new EncryptionDeriver(encryptionSecrets);
  const traffic = new TrafficCounters();
  const rules = allRoutes(config);
  const askOperators: AskOperators = (call, question) => operator.askOperators(call, question);
  const directory = new ShardDirectory(rules, config.gateway, workerFunctions.askableObjects?.(askOperators));
  const flusher = new TrafficFlusher({ counting: () => shardStub(namespace, directory.totals), traffic, waitUntil });
  const paths = rules.map(({ path }) => path);
  const routes = [...new Set([...paths, ...config.destinations.map(({ name }) => outboxRoute(name))])];
  const flush = (): Promise<void> => flusher.flush();
  const mayRotate = (path: string): boolean => config.routes.some((one) => one.path === path && isScopedByToken(one));
  const reader = new TrafficReader({ namespace, directory, routes, mayRotate, flush });
  const target = (origin: Origin): ReturnType<typeof originTarget> => originTarget(origin, bindings, exports);
  const findObject = workerFunctions.objectFinder?.() ?? askOwn;
  const callShard = shardCaller(namespace, findObject);
  const ports = {
    callShard,
    target,
    ...readingFeatures(workerFunctions, { network: NETWORK, target, waitUntil }),
    reporter: new ExchangeReporter("worker", traffic, {
      dataset: bindingIn(bindings, "METRICS"),
      tracing: platformTracing,
      counted: () => flusher.counted(),
    }),
    encryptions,
  };
  const operator = new ShardOperator(namespace, rules, directory);
  const audit = workerFunctions.auditLog?.(askOperators) ?? NO_AUDIT_LOG;
  const kernel: WorkerKernel = {
    env: bindings,
    config,
    routes: rules,
    namespace,
    directory,
    callShard,
    findObject,
    proveCaller: ports.proveCaller,
    reading: ports,
    waitUntil,
    encryptions,
    reporter: ports.reporter,
    flush: () => waitUntil(flush()),
    operator,
    askOperators,
    audit,
    reader,
  };
  const features = workerFeatures.map((make) => make(kernel));
  const operators = {
    operate: createOperate(config, access, { operator, audit, reader, features, network: NETWORK, waitUntil }),
    isTheirs: tokenSpotter(operatorTokens(access)),
  };
  const isForThisProcess = processGate(textIn(bindings[PROCESS_BINDING]));
  const handle = createApp(config, ports, { operators, features, isForThisProcess });
  const queue = async (batch: MessageBatch): Promise<void> => {
    for (const { consume } of features) if ((await consume?.(batch)) === true) return;
    await retryLater(batch);
  };
  const scheduled = async (): Promise<void> => {
    const watched = await Promise.allSettled(features.map(async ({ watch }) => watch?.()));
    for (const one of watched)
      if (one.status === "rejected") console.error({ message: "a watch failed", reason: String(one.reason) });
  };
  return { fetch: handle, operate: createOperatorApp(config, operators), queue, scheduled };
}
