// Deployments of the whole gateway with different layouts, over one namespace of objects in workerd, and one origin under the
// test's control. Each bench has layouts of its own, because an object stays closed for as long as the file's storage.

import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { EncryptionDeriver } from "../../../src/kernel/encryption/encryption.ts";
import { createApp } from "../../../src/worker/app.ts";
import { askOwn, type FindObject } from "../../../src/kernel/elsewhere.ts";
import type { Layout } from "../../../src/kernel/config/layout.ts";
import { readConfig } from "../../../src/features/settings.ts";
import type { RequestFeature } from "../../../src/kernel/request-feature.ts";
import { keyHash } from "../../../src/kernel/request/record-name.ts";
import { objectFinder } from "../../../src/features/previous-shards/walk.ts"; // feature: previous-shards
import { layoutCloser } from "../../../src/features/previous-shards/operator/close.ts"; // feature: previous-shards
import { closeObject } from "../../features/previous-shards/integration/close-object.ts"; // feature: previous-shards
import { workerKernel } from "./worker-kernel.ts";
import { lookUpWorker } from "../../../src/features/look-up/worker.ts"; // feature: look-up
import { keySearch } from "../../../src/features/key-sources/worker.ts"; // feature: key-sources
import { makeContentKey } from "../../../src/features/content-keys/worker.ts"; // feature: content-keys
import { shardCaller } from "../../../src/kernel/object/call-shard.ts";
import { monitorFeature, monitorAsker } from "../../../src/features/accepted/worker.ts"; // feature: accepted
import { shardAddressOf } from "../../../src/kernel/object/shard-address.ts";
import { Ledger } from "../../../src/kernel/store/ledger.ts";
import { preferredSlotOf } from "../../../src/kernel/store/record-numbers.ts";
import { ExchangeReporter } from "../../../src/kernel/traffic/exchange-reporter.ts";
import { TrafficCounters } from "../../../src/kernel/traffic/traffic.ts";
import { ADMIN } from "./operators.ts"; // feature: previous-shards
import { freshId } from "./records.ts";
import { type Said, saidBy } from "./shard-bench.ts";
import { noIdentities } from "./no-identities.ts";
import { expectRuntimeError } from "./expected-errors.ts";

/** No connection to it is possible; the test's `fetch` answers. */
const ORIGIN = "http://192.0.2.1:9";

type Settings = Readonly<Record<string, unknown>>;

export interface Deployment {
  send(key: string, body?: BodyInit, headers?: Readonly<Record<string, string>>): Promise<Said>;
  /** Any request, and its whole answer. */
  fetch(path: string, init: RequestInit): Promise<Response>;
  /** The paths of the calls that this Worker made to objects since the last call of this function, in order. */
  objectCalls(): readonly string[];
}

/** What a first answer and a replay have in common with all others of their kind. */
export const FIRST = { status: 201, isReplay: false };
export const REPLAY = { status: 201, isReplay: true };

/** A fresh key whose hash begins so. */
export async function keyThatBegins(begin: string): Promise<string> {
  for (;;) {
    const key = crypto.randomUUID();
    if ((await keyHash(key)).startsWith(begin)) return key;
  }
}

export class Deployments {
  /** Only this bench has such layouts: `layout(64)` is "64" with these letters. */
  readonly #letters = Array.from({ length: 8 }, () => String.fromCodePoint(97 + Math.floor(Math.random() * 26))).join(
    "",
  );
  /** The calls that the origin has seen. */
  readonly calls: string[] = [];
  /** The ids of objects that answer nothing. */
  readonly #broken = new Set<string>();
  origin: (number: number) => Response | Promise<Response> = (number) =>
    new Response(`answer ${number}`, { status: 201 });

  constructor() {
    vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
      const request = new Request(url, init);
      const attempt = request.headers.get("Idempotency-Attempt") ?? "-";
      const body = await request.arrayBuffer();
      this.calls.push(`${attempt} ${body.byteLength}`);
      return this.origin(this.calls.length);
    });
  }

  /** A value of `shards`. */
  layout(count: number): string {
    return `${count}${this.#letters}`;
  }

  /** A deployment with `shards = layout(own)` and `previous_shards = previous.map(layout)`. */
  deploy(own: number, previous: readonly number[] = [], settings: Settings = {}): Deployment {
    const listed = previous.length === 0 ? {} : { previous_shards: previous.map((count) => this.layout(count)) };
    return this.deployed({ shards: this.layout(own), ...listed, ...settings });
  }

  /** A deployment with these settings. */
  deployed(settings: Settings): Deployment {
    const read = readConfig({ IDEMPOTENCY: { origin: ORIGIN, ...settings }, ROUTES: [{ path: "/*" }] });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const calls: string[] = [];
    let findObject: FindObject = askOwn;
    findObject = objectFinder(); // feature: previous-shards
    const namespace = observed(env.KEY_SHARD, (path, id) => {
      calls.push(path);
      if (this.#broken.has(id)) throw new Error("not now");
    });
    const ports = {
      callShard: shardCaller(namespace, findObject),
      encryptions: new EncryptionDeriver([]),
      target: () => ({ fetch: (...call: Parameters<typeof fetch>) => fetch(...call) }),
      reporter: new ExchangeReporter("worker", new TrafficCounters()),
      proveCaller: noIdentities,
      searchKey: keySearch(null), // feature: key-sources
      makeContentKey, // feature: content-keys
    };
    const askMonitor = monitorAsker(env.KEY_SHARD, findObject); // feature: accepted
    const own = { config: read.config, findObject, proveCaller: noIdentities };
    const kernel = { ...workerKernel(read.config.routes, namespace), ...own };
    const features: readonly RequestFeature[] = [
      monitorFeature(read.config, { proveCaller: noIdentities, askMonitor }), // feature: accepted
      lookUpWorker(kernel), // feature: look-up
    ];
    const handle = createApp(kernel.config, ports, { features });
    const fetchHere = async (path: string, init: RequestInit): Promise<Response> =>
      handle(new Request(`https://gateway.example${path}`, init));
    return {
      send: async (key, body = "{}", headers = {}) => {
        const sent = { "idempotency-key": key, authorization: "Bearer a", ...headers };
        return saidBy(await fetchHere("/act", { method: "POST", headers: sent, body }));
      },
      fetch: fetchHere,
      objectCalls: () => calls.splice(0),
    };
  }

  /** Until the function that it returns is called, requests get no answer from the key's object in `layout(count)`. */
  async break(count: number, key: string): Promise<() => void> {
    const id = (await this.stub(count, key)).id.toString();
    this.#broken.add(id);
    return () => void this.#broken.delete(id);
  }

  // feature: previous-shards begins
  /** An operator closes `layout(count)`, in a deployment of `layout(next)` that lists it. */
  async close(count: number, next: number): Promise<void> {
    const shards = { shards: this.layout(next), previous_shards: [this.layout(count)] };
    const read = readConfig({ IDEMPOTENCY: { origin: ORIGIN, ...shards }, ROUTES: [{ path: "/*" }] });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const result = await layoutCloser(workerKernel(read.config.routes)).perform({ layout: this.layout(count) }, ADMIN);
    if (result.kind !== "done") throw new Error(`layout ${count} is not closed: ${result.why}`);
  }

  /** The same, one object of these keys after the other, and without what the command looks at. */
  async closeEach(
    count: number,
    next: number | "per-key",
    keys: readonly string[],
    jurisdiction: Layout["jurisdiction"] = null,
  ): Promise<void> {
    const shards = next === "per-key" ? next : (`${next}${this.#letters}` as const);
    const to = { shards, jurisdiction, locationHint: null };
    for (const key of keys) await closeObject(await this.stub(count, key), to);
  }
  // feature: previous-shards ends

  /** The object that keeps a key in `layout(count)`. */
  async stub(count: number, key: string): Promise<DurableObjectStub> {
    return this.stubIn({ shards: `${count}${this.#letters}`, jurisdiction: null, locationHint: null }, key);
  }

  async stubIn(layout: Layout, key: string): Promise<DurableObjectStub> {
    const { name } = shardAddressOf(await keyHash(key), layout);
    return env.KEY_SHARD.get(env.KEY_SHARD.idFromName(name));
  }

  async within<T>(
    count: number,
    key: string,
    run: (ledger: Ledger, storage: DurableObjectStorage, instance: DurableObject) => T | Promise<T>,
  ): Promise<T> {
    const stub = await this.stub(count, key);
    return runInDurableObject(stub, (instance, { storage }) => run(new Ledger(storage), storage, instance));
  }

  /** The statements of objects while something runs. Those that `refuse` names fail as on a full disk. */
  async watched(
    count: number,
    key: string,
    run: () => Promise<void>,
    refuse: (query: string) => boolean = () => false,
  ): Promise<readonly string[]> {
    const queries: string[] = [];
    // On the prototype: the `sql` that an object got at its start may be another one than what a test gets.
    const prototype = await this.within(count, key, (_ledger, { sql }): SqlStorage => Object.getPrototypeOf(sql));
    const exec: unknown = Reflect.get(prototype, "exec");
    if (typeof exec !== "function") throw new TypeError("no exec");
    const spy = vi.spyOn(prototype, "exec").mockImplementation(function watched(this: SqlStorage, query, ...values) {
      queries.push(query);
      if (refuse(query)) {
        expectRuntimeError("SQLITE_FULL");
        throw new Error("database or disk is full: SQLITE_FULL");
      }
      return Reflect.apply(exec, this, [query, ...values]);
    });
    await run();
    spy.mockRestore();
    return queries;
  }

  /** Gives the key's object in `layout(count)` so many records more, like one that it has, of keys whose hashes begin so. */
  fill(count: number, key: string, more: number, begin = ""): Promise<void> {
    return this.within(count, key, (_ledger, { sql }) => {
      const columns = sql
        .exec("SELECT * FROM records LIMIT 0")
        .columnNames.filter((name) => !["id", "number"].includes(name))
        .join(", ");
      const { like } = sql.exec<{ like: string }>("SELECT id AS like FROM records LIMIT 1").one();
      for (let added = 0; added < more; added += 1) {
        const id = begin + freshId().slice(begin.length);
        sql.exec(
          `INSERT OR IGNORE INTO records (number, id, ${columns}) SELECT number >> 31 << 31 | ?, ?, ${columns} FROM records WHERE id = ?`,
          preferredSlotOf(id),
          id,
          like,
        );
      }
    });
  }

  /** How many records the key's object has in `layout(count)`, of any key. */
  records(count: number, key: string): Promise<number> {
    return this.within(count, key, (_ledger, { sql }) => sql.exec("SELECT id FROM records").toArray().length);
  }

  /** The layout for which the key's object of `layout(count)` is closed, as a count. */
  closedFor(count: number, key: string): Promise<number | null> {
    return this.within(count, key, ({ tables }) => {
      const [row] = tables.has("closed") ? tables.sql.exec<{ next: string }>("SELECT next FROM closed").toArray() : [];
      return row === undefined ? null : Number.parseInt(row.next.slice(11), 10);
    });
  }

  async evict(count: number, key: string): Promise<void> {
    await evictDurableObject(await this.stub(count, key));
  }
}

/**
 * A namespace whose calls are seen by their paths and the ids of their objects; a call fails if `see` throws. It has jurisdictions, which local workerd lacks: as on Cloudflare, an object's
 * name means another object in each.
 */
function observed(
  namespace: DurableObjectNamespace,
  see: (path: string, id: string) => void,
  jurisdiction: string | null = null,
): DurableObjectNamespace {
  return new Proxy(namespace, {
    get: (target, property) => {
      if (property === "jurisdiction") return (name: string) => observed(namespace, see, name);
      if (property === "idFromName" && jurisdiction !== null) {
        return (name: string) => target.idFromName(`${jurisdiction}/${name}`);
      }
      if (property !== "get") {
        const value: unknown = Reflect.get(target, property);
        return typeof value === "function" ? value.bind(target) : value;
      }
      return (...args: Parameters<DurableObjectNamespace["get"]>) => {
        const stub = target.get(...args);
        return {
          fetch: async (url: string, init: RequestInit) => {
            see(new URL(url).pathname, stub.id.toString());
            return stub.fetch(url, init);
          },
        };
      };
    },
  });
}

/** A number of fresh keys whose objects in a layout of `count` are different ones: `keys[i]` is in object i. */
export async function keysOfEach(count: number): Promise<readonly string[]> {
  const keys: string[] = [];
  const missing = new Set(Array.from({ length: count }, (_, at) => at));
  while (missing.size > 0) {
    const key = crypto.randomUUID();
    const at = Number.parseInt((await keyHash(key)).slice(0, 8), 16) % count;
    if (missing.delete(at)) keys[at] = key;
  }
  return keys;
}
