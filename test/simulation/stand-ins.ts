// Stand-ins for parts of the platform and of the gateway. Each has exactly the members that the gateway uses, so only this
// file casts types.

import type { Layouts } from "../../src/kernel/config/layout.ts";
import type { Route } from "../../src/kernel/config/resolved.ts";
import type { OriginReachability } from "../../src/kernel/object/reachability.ts";
import type { Bucket } from "./bucket.ts";
import type { Disk } from "./disk.ts";
import { PlainRequest, type PlainRequestParts, type PlainResponse, textOf } from "./platform.ts";

/** The storage of one instance. `setAlarm` belongs to the platform. */
export function storageOn(disk: Disk, isAlive: () => boolean, setAlarm: (ms: number) => void): DurableObjectStorage {
  const alive = (): void => {
    if (!isAlive()) throw new Error("this instance is gone");
  };
  const storage: unknown = {
    sql: {
      exec: (query: string, ...values: (ArrayBuffer | string | number | null)[]) => {
        alive();
        return disk.exec(query, values);
      },
    },
    transactionSync: <T>(run: () => T): T => {
      alive();
      return disk.transaction(run);
    },
    setAlarm: (ms: number): Promise<void> => {
      alive();
      setAlarm(ms);
      return Promise.resolve();
    },
    getAlarm: (): Promise<number | null> => {
      alive();
      return Promise.resolve(disk.alarmMs);
    },
  };
  return storage as DurableObjectStorage;
}

/** Nobody signs in here. */
export const NO_KEPT: Pick<SyncKvStorage, "get" | "put"> = { get: () => undefined, put: () => undefined };

/** The destination of one attempt's calls. */
export function target(fetch: (request: PlainRequest) => Promise<object>): Fetcher {
  const binding: unknown = {
    fetch: (url: string, parts: PlainRequestParts) => fetch(new PlainRequest(url, parts)),
  };
  return binding as Fetcher;
}

export function bucketOf(bucket: Bucket | null): R2Bucket | null {
  const binding: unknown = bucket;
  return binding as R2Bucket | null;
}

/** The namespace of all objects, as a Worker knows it. */
export function namespaceOf(
  fetch: (name: string, url: string, body: unknown) => Promise<unknown>,
): DurableObjectNamespace {
  const namespace = (suffix: string): object => ({
    idFromName: (name: string) => name + suffix,
    get: (name: string) => ({
      fetch: (url: string, { body }: { readonly body: unknown }) => fetch(name, url, body),
    }),
    jurisdiction: (name: string) => namespace(`-${name}`),
  });
  return namespace("") as DurableObjectNamespace;
}

/** A route of which only the layouts are known: nothing else matters where a key's object is found. */
export function routeOf(layouts: Layouts): Route {
  const route: unknown = { layouts };
  return route as Route;
}

/** What a Worker hears from a shard; `rest`: the body that is still coming. */
export function deliveredResponse(
  { status, headers, body }: PlainResponse,
  rest: ReadableStream<Uint8Array> | null,
): Response {
  const response: unknown = { status, headers, body: rest, json: async () => JSON.parse(await textOf(body)) };
  return response as Response;
}

/** The network is always reachable, because a lost connection is a separate step. */
const REACHABLE: Pick<OriginReachability, "isReachable" | "answered" | "broke"> = {
  isReachable: () => Promise.resolve(true),
  answered: () => undefined,
  broke: () => undefined,
};
export const REACHABILITY = REACHABLE as OriginReachability;
