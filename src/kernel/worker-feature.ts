// What a feature adds to the Worker, as src/features/worker.ts lists it. Nothing registers itself, and no feature sees another. The frame
// for operators (src/operator) is named here by its types alone.

import type { Hono } from "hono";
import type { RequestVariables } from "../operator/admin-request.ts";
import type { AuditLog } from "../operator/audited.ts";
import type { SignedRequest } from "../operator/console/guard.ts";
import type { ConsolePaths } from "../operator/console/view.ts";
import type { MetricFamily } from "../operator/exposition.ts";
import type { Operator } from "../operator/operator.ts";
import type { AskableObjects, ShardDirectory } from "../operator/shards.ts";
import type { TrafficReader } from "../operator/traffic-reader.ts";
import type { JsonCall } from "./call.ts";
import type { Config, Route } from "./config/resolved.ts";
import type { FindObject } from "./elsewhere.ts";
import type { EncryptionDeriver } from "./encryption/encryption.ts";
import type { FinishAnswer, ProveCaller, ReadingFunctions, RequestFeature } from "./request-feature.ts";
import type { ReadPorts } from "./request/exchange-request.ts";
import type { CallShard } from "./request/protect.ts";
import type { WaitUntil } from "./request/shared-work.ts";
import type { ExchangeReporter } from "./traffic/exchange-reporter.ts";
import type { RouteNumbers } from "./traffic/route-counters.ts";

/** What the Worker gives to its features. */
export interface WorkerKernel {
  readonly env: Readonly<Record<string, unknown>>;
  readonly config: Config;
  /** All, also those that no request matches: of queues, and of groups of consumers. */
  readonly routes: readonly Route[];
  readonly namespace: DurableObjectNamespace;
  readonly directory: ShardDirectory;
  readonly callShard: CallShard;
  /** For calls about records other than `callShard`. */
  readonly findObject: FindObject;
  readonly proveCaller: ProveCaller;
  /** What requests are read with. */
  readonly reading: ReadPorts;
  readonly waitUntil: WaitUntil;
  readonly encryptions: Pick<EncryptionDeriver, "scopeDigests">;
  readonly reporter: ExchangeReporter;
  /** Hands over what this isolate has counted, and waits for nothing. */
  readonly flush: () => void;
  /** What is only read; a change would have to be audited. */
  readonly operator: Pick<Operator, "isPerKey" | "list" | "inspect" | "omittedHeaders" | "counts">;
  readonly askOperators: AskOperators;
  /** Whatever a feature lets operators change goes through it. */
  readonly audit: AuditLog;
  readonly reader: Pick<TrafficReader, "hours">;
}

/** Asks the operators' own object. Rejects without an answer. */
export type AskOperators = <In, Out>(call: JsonCall<In, Out>, question: In) => Promise<Out>;

export type { AskableObjects, AuditLog };

export interface WorkerFeature extends RequestFeature {
  readonly name: string;
  readonly operator?: OperatorFeature;
  /** For a batch of a queue. Whether the queue is one of the feature's; otherwise it does nothing. */
  readonly consume?: (batch: MessageBatch) => Promise<boolean>;
  /** For a cron trigger. */
  readonly watch?: () => Promise<void>;
}

/** What one feature alone does in the Worker, by name. */
export interface WorkerFunctions extends ReadingFunctions {
  /** Finds the object of a key among those of several layouts, for one isolate. Without it there is one layout. */
  readonly objectFinder?: () => FindObject;
  /** Says which objects operators' requests may ask. Without it all. */
  readonly askableObjects?: (ask: AskOperators) => AskableObjects;
  /** Writes down what operators change. */
  readonly auditLog?: (ask: AskOperators) => AuditLog;
  /** The last step of an answer while the configuration has problems, and no feature is made. */
  readonly finishRefusal?: FinishAnswer;
}

/** Each makes one of them, in the order of the console's links. */
export type WorkerFeatures = readonly ((kernel: WorkerKernel) => WorkerFeature)[];

export interface OperatorFeature {
  /** Adds its operations. A token was checked before, and whoever does more than read is an administrator. */
  readonly addApi: (app: Hono<RequestVariables>) => void;
  readonly console?: ConsoleFeature;
  readonly metrics?: MetricsFeature;
}

export interface ConsoleFeature {
  /** In the bar of every page; `null`: other pages lead there. */
  readonly link: ConsoleLink | null;
  /** Adds its pages. Nobody gets there without a session, and no form that is not an administrator's. */
  readonly addPages: (app: Hono<SignedRequest>, paths: ConsolePaths) => void;
}

export interface ConsoleLink {
  /** Below the console's own: `claims`. */
  readonly path: string;
  readonly title: string;
  /** Behind which link of the frame's. */
  readonly after: "records" | "shards";
}

export interface MetricsFeature {
  /** The feature's. */
  readonly name: string;
  /** Whether a name among the counters' routes stands for something of its own, which is no route. */
  readonly isOwn?: (name: string) => boolean;
  /** Of what all shards have counted. */
  readonly counted: (totals: readonly RouteNumbers[]) => readonly MetricFamily[];
  /** Of what it holds in the shards that answered (`ObjectFeature.numbers`). `routes`: the names that the configuration has. */
  readonly held?: (held: readonly unknown[], routes: readonly string[], now: number) => readonly MetricFamily[];
}
