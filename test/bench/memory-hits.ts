// Proves that cold replays are cold: how many of a cold load's requests no object has seen.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { startWorkerd } from "../support/gateway.ts";
import { BODY, fill } from "./requests-of-load.ts";
import { runWrk } from "./wrk.ts";

export interface MemoryHits {
  readonly requests: number;
  /** Requests that the Worker's memory answered. */
  readonly hits: number;
}

const SECONDS = 3;

/** The load of the variant "replay cold", on a gateway that counts the exchanges of its objects. */
export async function countMemoryHits(originUrl: string, stateDir: string, keys: number): Promise<MemoryHits> {
  const gateway = await startWorkerd({
    stateDir: join(stateDir, "object-calls"),
    vars: { IDEMPOTENCY: { origin: originUrl, shards: 64 }, ROUTES: [{ path: "/v1/*" }] },
    main: fileURLToPath(new URL("object-calls/index.ts", import.meta.url)),
  });
  try {
    await fill(gateway.url, "/v1/payments", "cold", keys);
    const before = await objectCalls(gateway.url);
    const load = { url: gateway.url, path: "/v1/payments", keys, from: 0, prefix: "cold", body: BODY } as const;
    const { requests } = await runWrk({ ...load, connections: 16, seconds: SECONDS });
    // Requests that were in flight at the end reached an object without being counted by wrk.
    return { requests, hits: Math.max(0, requests - ((await objectCalls(gateway.url)) - before)) };
  } finally {
    await gateway.stop();
  }
}

async function objectCalls(url: string): Promise<number> {
  const { exchanges } = v.parse(v.object({ exchanges: v.number() }), await (await fetch(`${url}/object-calls`)).json());
  return exchanges;
}
