// Stand-ins for parts of the platform and of the gateway. Each has exactly the members that the gateway uses, so only this
// file casts types.

import type { Reachability } from "../../src/shard/reachability.ts";
import type { Bucket } from "./bucket.ts";
import type { Disk } from "./disk.ts";
import { PlainRequest, type PlainRequestParts } from "./platform.ts";

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
  };
  return storage as DurableObjectStorage;
}

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

/** The network is always reachable, because a lost connection is a separate step. */
const REACHABLE: Pick<Reachability, "isReachable" | "answered" | "broke"> = {
  isReachable: () => Promise.resolve(true),
  answered: () => undefined,
  broke: () => undefined,
};
export const REACHABILITY = REACHABLE as Reachability;
