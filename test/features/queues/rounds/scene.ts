// A broker, an origin and the gateway in processes of their own: what the rounds of evidence and the tests of queues share.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { shardFiles } from "../../../support/e2e/shard-database.ts";
import type { LedgerLook, Outage } from "../../../guarantees/history.ts";
import { awaitAlarms } from "../../../guarantees/recorders/ledger.ts";
import { workerBeside } from "../../../support/beside.ts";
import { type Broker, type BrokerOptions, startBroker } from "../../../support/broker.ts";
import { type EffectsOrigin, startEffects } from "../../../support/effects.ts";
import { type Gateway, type GatewayOptions, startWorkerd } from "../../../support/gateway.ts";
import { freePort } from "../../../support/ports.ts";

/** The rule for unknown outcomes, or no gateway at all. */
export type Consumer = "hold" | "verify" | "retry" | "unprotected";

export interface QueueSceneOptions {
  /** For journals and state. */
  readonly folder: string;
  readonly consumer: Consumer;
  /** Where keys are, if not in the messages' ids. */
  readonly key?: readonly string[];
  readonly broker: Pick<BrokerOptions, "batch" | "concurrency" | "seed"> & Partial<BrokerOptions>;
  /** `give_up.after`. */
  readonly giveUpMs: number;
  readonly timeoutMs: number;
  /** Hears of each kill. */
  readonly report?: (outage: Outage) => void;
  /** Further variables and secrets of the gateway. */
  readonly bindings?: GatewayOptions["bindings"];
}

export interface QueueScene {
  readonly broker: Broker;
  readonly origin: EffectsOrigin;
  /** Of the gateway. */
  url(): string;
  /** Of the gateway. */
  readonly stateDir: string;
  /** SIGKILL to the gateway; `whileDown` is called before it starts again. */
  crash(whileDown: () => void): Promise<void>;
  /** The ids of the messages that are stored with a record whose outcome is unknown. The gateway is killed first. */
  parked(): Promise<ReadonlySet<string>>;
  /** What alarms have left on the gateway's disk. */
  look(): Promise<LedgerLook>;
  /** What the gateway has printed. */
  output(): string;
  close(): Promise<void>;
}

export const QUEUE = "orders";
/** Where the origin takes messages. */
export const PATH = "/orders";
/** How much longer a lock is than the timeout. */
export const LOCK_MARGIN_MS = 500;
export const WAIT_MS = 1_000;

interface Ports {
  readonly origin: number;
  readonly deliver: number;
  readonly letters: number;
}

export async function startQueueScene(options: QueueSceneOptions): Promise<QueueScene> {
  const { folder, consumer, report = () => undefined } = options;
  const ports: Ports = { origin: await freePort(), deliver: await freePort(), letters: await freePort() };
  const origin = await startEffects({ port: ports.origin, journal: join(folder, "origin.journal"), workMs: 5 });
  let gateway = await startConsumer(options, ports);
  const unprotected = consumer === "unprotected" ? `?unprotected=${encodeURIComponent(`${origin.url}${PATH}`)}` : "";
  const broker = await startBroker({
    deliverTo: `http://127.0.0.1:${ports.deliver}/${unprotected}`,
    letterPort: ports.letters,
    journal: join(folder, "broker.journal"),
    visibilityMs: 4000,
    redeliverMs: 100,
    lostAcks: 0,
    duplicates: 0,
    ...options.broker,
  });
  return {
    broker,
    origin,
    async crash(whileDown) {
      const from = Date.now();
      await gateway.kill9();
      whileDown();
      gateway = await gateway.restart();
      report({ type: "outage", kind: "killed", from, to: Date.now() });
    },
    async parked() {
      await gateway.kill9();
      return new Set(shardFiles({ stateDir: join(folder, "state") }).flatMap(parkedIn));
    },
    look: () => awaitAlarms(gateway.stateDir),
    url: () => gateway.url,
    stateDir: gateway.stateDir,
    output: () => gateway.output(),
    close: async () => void (await Promise.all([broker.close(), origin.close(), gateway.stop()])),
  };
}

function parkedIn(file: string): readonly string[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare("SELECT key FROM records WHERE state = 'unknown' AND request IS NOT NULL").all();
  database.close();
  return rows.map(({ key }) => String(key));
}

/** The gateway beside the deliverer, in one process. */
async function startConsumer(
  { consumer, key = ["id"], folder, giveUpMs, timeoutMs, bindings = {} }: QueueSceneOptions,
  ports: Ports,
): Promise<Gateway> {
  const { extraServices, ...beside } = await workerBeside("deliverer", ports.deliver);
  const unknown = consumer === "unprotected" ? "hold" : consumer;
  const verify = unknown === "verify" ? { verify: "/by-key/{key}" } : {};
  const origin = `http://127.0.0.1:${ports.origin}`;
  const rules = {
    key,
    unknown,
    ...verify,
    give_up: { after: `${giveUpMs}ms` },
    dead_letter: { binding: "ORDERS_DEAD" },
  };
  return startWorkerd({
    stateDir: join(folder, "state"),
    vars: {
      IDEMPOTENCY: {
        origin,
        shards: 3,
        timeout: `${timeoutMs}ms`,
        lock: `${timeoutMs + LOCK_MARGIN_MS}ms`,
        wait: `${WAIT_MS}ms`,
      },
      ROUTES: [],
      QUEUES: [{ queue: QUEUE, to: PATH, ...rules }],
    },
    bindings,
    extraBindings: ['(name = "ORDERS_DEAD", queue = "letters")'],
    extraServices: [
      `(name = "letters", external = (address = "127.0.0.1:${ports.letters}", http = ()))`,
      ...extraServices,
    ],
    ...beside,
  });
}
