// The whole gateway in front of one real shard whose every operation is counted: the Worker's calls to it, its statements and
// their rows, its alarms, and the calls to the origin. The counters wrap the object's storage, so they miss nothing.

import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { EncryptionDeriver } from "../../../src/kernel/encryption/encryption.ts";
import { claimsEndpoint, createClaims } from "../../../src/features/claims/consumer-api.ts"; // feature: claims
import { createApp } from "../../../src/worker/app.ts";
import { readConfig } from "../../../src/features/settings.ts";
import { type ConsumeBatch, queueConsumer } from "../../../src/features/queues/consume.ts"; // feature: queues
import { exchangeDeliverer } from "../../../src/features/queues/object/deliveries.ts"; // feature: queues
import { claimsCaller, positionAsker } from "../../../src/features/claims/call-claims.ts"; // feature: claims
import { askOwn, type FindObject } from "../../../src/kernel/elsewhere.ts";
import { objectFinder } from "../../../src/features/previous-shards/walk.ts"; // feature: previous-shards
import { shardCaller } from "../../../src/kernel/object/call-shard.ts";
import { monitorFeature, monitorAsker } from "../../../src/features/accepted/worker.ts"; // feature: accepted
import type { RequestFeature } from "../../../src/kernel/request-feature.ts";
import { Ledger } from "../../../src/kernel/store/ledger.ts";
import { TrafficCounters } from "../../../src/kernel/traffic/traffic.ts";
import { ExchangeReporter } from "../../../src/kernel/traffic/exchange-reporter.ts";
import type { OperationCounts } from "../../bench/cost/operation-counts.ts";
import { noIdentities } from "./no-identities.ts";

/** Where the webhooks of the test's wrangler.toml are. */
const HOOKS = "https://hooks.example/";

/** How many have an address of their own: the isolate, which all share, knows what it has connected to. */
let shards = 0;

export interface Answer {
  readonly status: number;
  readonly isReplay: boolean;
  readonly bytes: number;
}

/** As in the test's wrangler.toml, where the object reads them. */
const TOKENS = { BILLING_TOKEN: "b".repeat(32) };

const DESTINATIONS = {
  DESTINATIONS: [
    ...["one", "two", "three"].map((name) => ({ name, url: `${HOOKS}${name}`, secret: "HOOK_SECRET" })),
    { name: "line", queue: "LINE" },
  ],
  HOOK_SECRET: env.HOOK_SECRET,
  LINE: env.LINE,
};

type Counted = Omit<OperationCounts, "statements" | "rowsRead" | "rowsWritten">;

export class CountedShard {
  readonly #name = crypto.randomUUID();
  /** The test's `fetch` answers it. Nothing listens there, so a connection is refused at once. */
  readonly #address = `127.0.0.1:${1100 + (shards += 1)}`;
  readonly #handle: (request: Request) => Response | Promise<Response>;
  readonly #consume: ConsumeBatch; // feature: queues
  #cursors: { readonly rowsRead: number; readonly rowsWritten: number }[] = [];
  #other = zero();
  /** What the origin answers. */
  origin: () => Response | Promise<Response> = () => new Response("{}", { status: 201 });
  /** What a webhook answers. */
  hook: () => Response | Promise<Response> = () => new Response(null, { status: 204 });
  /** How many calls webhooks got. */
  hookCalls = 0;

  constructor(settings: Readonly<Record<string, unknown>> = {}) {
    vi.stubGlobal("fetch", (input: string | URL | Request) => {
      if (new Request(input).url.startsWith(HOOKS)) {
        this.hookCalls += 1;
        return this.hook();
      }
      this.#count("originCalls");
      return this.origin();
    });
    const read = readConfig({
      IDEMPOTENCY: { origin: `http://${this.#address}`, shards: 1, ...settings },
      ROUTES: [{ path: "/protected/*" }],
      // For `encrypt_responses`, if the settings say so.
      ENCRYPTION_SECRET: "a".repeat(64),
      QUEUES: [{ queue: "orders", to: "/orders", dead_letter: { binding: "DEAD" } }], // feature: queues
      DEAD: {},
      CONSUMERS: [{ name: "billing", token: "BILLING_TOKEN" }],
      ...TOKENS,
      ...DESTINATIONS,
    });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    let findObject: FindObject = askOwn;
    findObject = objectFinder(); // feature: previous-shards
    const ports = {
      callShard: shardCaller(this.#namespace(), findObject),
      encryptions: new EncryptionDeriver(read.encryptionSecrets),
      target: () => ({ fetch: (...call: Parameters<typeof fetch>) => fetch(...call) }),
      reporter: new ExchangeReporter("worker", new TrafficCounters()),
      proveCaller: noIdentities,
    };
    // feature: claims begins
    const claims = createClaims("/_claims", read.config.consumers, TOKENS, {
      callClaims: claimsCaller(this.#namespace(), findObject),
      askPosition: positionAsker(this.#namespace()),
      reporter: ports.reporter,
    });
    // feature: claims ends
    const askMonitor = monitorAsker(this.#namespace(), findObject); // feature: accepted
    const features: readonly RequestFeature[] = [
      { endpoint: claimsEndpoint("/_claims", claims) }, // feature: claims
      monitorFeature(read.config, { proveCaller: noIdentities, askMonitor }), // feature: accepted
    ];
    this.#handle = createApp(read.config, ports, { features });
    // feature: queues begins
    const deliver = exchangeDeliverer(this.#namespace(), ports.callShard);
    const none = {
      reportAlert: () => Promise.resolve(),
      deadLetterQueue: () => null,
      secret: () => null,
      flush: () => undefined,
    };
    this.#consume = queueConsumer(read.config.queues, { ...ports, ...none, deliver });
    // feature: queues ends
  }

  get #stub(): DurableObjectStub {
    return env.KEY_SHARD.get(env.KEY_SHARD.idFromName(this.#name));
  }

  /** Every key leads to the one object. */
  #namespace(): DurableObjectNamespace {
    return new Proxy(env.KEY_SHARD, {
      get: (namespace, property) => {
        if (property !== "get") {
          const value: unknown = Reflect.get(namespace, property);
          return typeof value === "function" ? value.bind(namespace) : value;
        }
        return () => ({
          fetch: (...call: Parameters<DurableObjectStub["fetch"]>) => {
            this.#count("objectCalls");
            return this.#stub.fetch(...call);
          },
        });
      },
    });
  }

  /** Starts counting, after the object's one-time work. */
  async begin(): Promise<void> {
    await this.send(crypto.randomUUID());
    await runInDurableObject(this.#stub, (_instance, { storage }) => {
      // The origin has been seen to be reachable, as after the first answers of a real one.
      new Ledger(storage).addresses.add(this.#address);
    });
    await this.send(crypto.randomUUID());
    await this.#countStorage();
    this.take();
  }

  // feature: queues begins
  /** Delivers a batch of messages; how many were acknowledged. */
  async deliver(...ids: readonly string[]): Promise<number> {
    let acked = 0;
    const ack = (): void => void (acked += 1);
    const messages = ids.map((id) => ({
      id,
      timestamp: new Date(),
      attempts: 1,
      body: { n: 1 },
      ack,
      retry: () => undefined,
    }));
    await this.#consume({ queue: "orders", messages });
    return acked;
  }
  // feature: queues ends

  // feature: claims begins
  /** What a consumer asks; the state of each answer. */
  async claim(operation: string, entries: readonly object[]): Promise<readonly string[]> {
    const response = await this.#handle(
      new Request(`https://gateway.example/_claims/billing${operation}`, {
        method: "POST",
        headers: { authorization: `Bearer ${"b".repeat(32)}` },
        body: JSON.stringify({ claims: entries }),
      }),
    );
    const { claims }: { claims: readonly { state: string }[] } = await response.json();
    return claims.map(({ state }) => state);
  }
  // feature: claims ends

  /** Evicts the object; the next instance is counted from its first request on. */
  async restart(): Promise<void> {
    await evictDurableObject(this.#stub);
    await this.#countStorage();
    this.take();
  }

  async #countStorage(): Promise<void> {
    await runInDurableObject(this.#stub, (_instance, { storage }) => {
      const { sql } = storage;
      const [exec, setAlarm, sync] = [sql.exec.bind(sql), storage.setAlarm.bind(storage), storage.sync.bind(storage)];
      replace(sql, "exec", (query: string, ...bindings: SqlStorageValue[]) => {
        const cursor = exec(query, ...bindings);
        this.#cursors.push(cursor);
        return cursor;
      });
      replace(storage, "setAlarm", (time: number) => {
        this.#count("alarmsSet");
        return setAlarm(time);
      });
      replace(storage, "sync", () => {
        this.#count("syncs");
        return sync();
      });
    });
  }

  #count(what: keyof Counted): void {
    this.#other = { ...this.#other, [what]: this.#other[what] + 1 };
  }

  /** The tables of a new object are made, and counted. */
  async makeTables(): Promise<void> {
    await this.#countStorage();
    await runInDurableObject(this.#stub, async (_instance, { storage }) => {
      await storage.deleteAll();
      this.take();
      void new Ledger(storage);
    });
  }

  /** The counts since the last call of `take`. */
  get counts(): OperationCounts {
    const cursors = this.#cursors;
    return {
      statements: cursors.length,
      rowsRead: cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0),
      rowsWritten: cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0),
      ...this.#other,
    };
  }

  take(): OperationCounts {
    const { counts } = this;
    this.#cursors = [];
    this.#other = zero();
    return counts;
  }

  /** The request of a client. */
  async send(
    key: string,
    body = "{}",
    path = "/protected/act",
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const init = { method: "POST", headers: { "idempotency-key": key, ...headers }, body };
    const response = await this.#fetch(path, init);
    const { byteLength } = await response.arrayBuffer();
    return { status: response.status, isReplay: response.headers.has("idempotent-replayed"), bytes: byteLength };
  }

  // feature: accepted begins
  /** Sends a request that is answered before its result is there, if the settings allow that. Returns its monitor. */
  async accept(key: string, body = "{}"): Promise<string> {
    const headers = { "idempotency-key": key, prefer: "respond-async" };
    const response = await this.#fetch("/protected/act", { method: "POST", headers, body });
    const said = await response.text();
    const monitor = response.headers.get("location");
    if (response.status !== 202 || monitor === null) throw new Error(`not accepted: ${response.status} ${said}`);
    return monitor;
  }
  // feature: accepted ends

  // feature: accepted begins
  /** Looks at a monitor; the status. */
  async look(monitor: string): Promise<number> {
    const response = await this.#fetch(monitor, {});
    await response.arrayBuffer();
    return response.status;
  }
  // feature: accepted ends

  #fetch(path: string, init: RequestInit): Response | Promise<Response> {
    const request = new Request(`https://gateway.example${path}`, init);
    request.headers.set("authorization", "Bearer a");
    return this.#handle(request);
  }

  alarm(): Promise<boolean> {
    return runDurableObjectAlarm(this.#stub);
  }

  within<T>(run: (ledger: Ledger, storage: DurableObjectStorage) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.#stub, (_instance, { storage }) => run(new Ledger(storage), storage));
  }
}

function zero(): Counted {
  return { alarmsSet: 0, syncs: 0, objectCalls: 0, originCalls: 0 };
}

/** The object and the gateway use the same `sql` and `storage`, so that what is replaced here is replaced for both. */
function replace<T extends object>(target: T, name: keyof T, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: true });
}
