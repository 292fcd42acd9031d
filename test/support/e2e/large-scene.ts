// A gateway whose layout has thousands of objects, and an operator who counts the calls of each request to objects, those between objects too.

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { type Gateway, makeStateDir, startWorkerd } from "../gateway.ts";
import { freshKey } from "../http.ts";
import { startOrigin } from "../origin.ts";
import { ADMIN_TOKEN, BASE } from "./operator-scene.ts";
import { type Client, clientOf } from "./scene.ts";

export const SHARDS = 4096;
export const HOLD = "/pay";

/** What a request was answered, and what it took. */
export interface Counted {
  readonly status: number;
  readonly text: string;
  readonly bytes: number;
  readonly calls: number;
  readonly ms: number;
}

export interface LargeScene extends Client {
  readonly gateway: Gateway;
  /** `path` begins below the operator path; a form is sent by the console. */
  ask(
    path: string,
    how?: { readonly body?: unknown; readonly form?: Readonly<Record<string, string>> },
  ): Promise<Counted>;
  /** So many keys whose outcome is unknown. */
  unknown(count: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

const counts = v.object({ calls: v.number() });

export async function startLargeScene(): Promise<LargeScene> {
  const origin = await startOrigin();
  const gateway = await startWorkerd({
    stateDir: await stateDirOf(),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: SHARDS, scope: ["none"] },
      ROUTES: [
        { path: HOLD, unknown: "hold" },
        { path: "/orders", scope: ["header:authorization"], publish: [{ to: "sink", type: "order.created" }] },
      ],
      CONSUMERS: [{ name: "readers", token: "READERS_TOKEN" }],
      DESTINATIONS: [{ name: "sink", url: `${origin.url}/sink`, secret: "SINK_SECRET" }],
      READERS_TOKEN: randomBytes(32).toString("hex"),
      SINK_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
      ADMIN_TOKEN,
    },
    main: fileURLToPath(new URL("../../bench/object-calls/index.ts", import.meta.url)),
  });
  const client = clientOf(gateway.url);
  const calls = async (): Promise<number> =>
    v.parse(counts, await (await fetch(`${gateway.url}/object-calls`)).json()).calls;
  const signedIn = await fetch(`${gateway.url}${BASE}/console/sign-in`, {
    method: "POST",
    headers: { Origin: gateway.url },
    body: new URLSearchParams({ "operator-token": ADMIN_TOKEN }),
    redirect: "manual",
  });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  return {
    ...client,
    gateway,
    async ask(path, { body, form } = {}) {
      const isConsole = path === "" || path.startsWith("/console/");
      const headers = new Headers(
        isConsole ? { Cookie: cookie, Origin: gateway.url } : { Authorization: `Bearer ${ADMIN_TOKEN}` },
      );
      const sent = form === undefined ? textOf(body) : new URLSearchParams(form);
      const before = await calls();
      const beganAt = performance.now();
      const response = await fetch(`${gateway.url}${BASE}${path}`, {
        headers,
        redirect: "manual",
        ...(sent === null ? {} : { method: "POST", body: sent }),
      });
      const text = await response.text();
      const ms = Math.round(performance.now() - beganAt);
      const bytes = new TextEncoder().encode(text).byteLength;
      return { status: response.status, text, bytes, calls: (await calls()) - before, ms };
    },
    async unknown(count) {
      const keys = Array.from({ length: count }, freshKey);
      for (const key of keys) await client.send({ path: HOLD, key, behave: { drop: "after-effect" } });
      return keys;
    },
    async close() {
      await gateway.stop();
      await origin.close();
      await rm(gateway.stateDir, { recursive: true, force: true });
    },
  };
}

/** In memory where that is possible: each object has a file, and thousands of them are made. */
function stateDirOf(): Promise<string> {
  return existsSync("/dev/shm") ? mkdtemp("/dev/shm/onceway-large-") : makeStateDir();
}

function textOf(body: unknown): string | null {
  return body === undefined ? null : JSON.stringify(body);
}
