// The test origin's client for tests in Node: starts the process and calls its control API. `connectOrigin` makes the same
// client for an origin that is already running; it needs only `fetch`.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import type { Placement, Script } from "./origin-behaviour.ts";
import { effectsAnswer, requestsAnswer } from "./origin-journal.ts";
import type { RecordedEffect, RecordedRequest } from "./origin-journal.ts";

export type { Behaviour, Script } from "./origin-behaviour.ts";
export type { RecordedEffect, RecordedRequest } from "./origin-journal.ts";

const startedMessage = v.object({ url: v.string(), controlUrl: v.string() });
const arrivedAnswer = v.object({ arrived: v.number() });
const releasedAnswer = v.object({ released: v.number() });
const connectionsAnswer = v.object({ accepted: v.number() });

export interface OriginClient {
  readonly url: string;
  readonly controlUrl: string;
  /** All requests, or those with this key, in the order of their arrival. */
  requests(key?: string): Promise<RecordedRequest[]>;
  /** All requests since the last time, each once: also those that arrive after their client has left. */
  take(): Promise<RecordedRequest[]>;
  /** The number of effects, in all or with this key. */
  effects(key?: string): Promise<number>;
  effectLog(key?: string): Promise<RecordedEffect[]>;
  /** Waits until `n` requests with the key are read whole (and held, if scripted). Throws after `timeoutMs`. */
  arrived(key: string, n?: number, timeoutMs?: number): Promise<void>;
  /** Releases held requests: those with the key, or all. Returns how many. */
  release(key?: string): Promise<number>;
  /** Scripts the answers for a key, for a path prefix, or (if neither is given) for every request. */
  behave(where: Pick<Placement, "key" | "path">, script: Script): Promise<void>;
  /** TCP connections accepted since the start. */
  connections(): Promise<number>;
  /** Forgets requests, effects and scripts, and releases all holds. */
  reset(): Promise<void>;
  stopListening(): Promise<void>;
  startListening(): Promise<void>;
}

export interface TestOrigin extends OriginClient {
  readonly pid: number;
  close(): Promise<void>;
}

export function connectOrigin(url: string, controlUrl: string): OriginClient {
  const call = async (method: "GET" | "POST", path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(controlUrl + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`test origin: ${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    url,
    controlUrl,
    requests: async (key) => v.parse(requestsAnswer, await call("GET", `/requests${query(key)}`)).requests,
    take: async () => v.parse(requestsAnswer, await call("POST", "/take")).requests,
    effects: async (key) => v.parse(effectsAnswer, await call("GET", `/effects${query(key)}`)).count,
    effectLog: async (key) => v.parse(effectsAnswer, await call("GET", `/effects${query(key)}`)).effects,
    async arrived(key, n = 1, timeoutMs = 30_000) {
      const answer = await call("GET", `/arrived${query(key)}&n=${n}&timeoutMs=${timeoutMs}`);
      const { arrived } = v.parse(arrivedAnswer, answer);
      if (arrived < n)
        throw new Error(`test origin: ${arrived} of ${n} requests with key ${key} after ${timeoutMs} ms`);
    },
    release: async (key) => v.parse(releasedAnswer, await call("POST", "/release", { key: key ?? null })).released,
    behave: async (where, script) => void (await call("POST", "/behave", { ...where, script })),
    connections: async () => v.parse(connectionsAnswer, await call("GET", "/connections")).accepted,
    reset: async () => void (await call("POST", "/reset")),
    stopListening: async () => void (await call("POST", "/stop-listening")),
    startListening: async () => void (await call("POST", "/start-listening")),
  };
}

function query(key: string | undefined): string {
  return key === undefined ? "" : `?key=${encodeURIComponent(key)}`;
}

export async function startOrigin(): Promise<TestOrigin> {
  // No inherited flags: the origin must not load the test runner.
  const child = fork(fileURLToPath(new URL("./origin-process.ts", import.meta.url)), [], { execArgv: [] });
  const message: unknown = await new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the test origin ended with code ${code} before it was ready`)));
  });
  const { url, controlUrl } = v.parse(startedMessage, message);
  const { pid } = child;
  if (pid === undefined) throw new Error("the test origin has no pid");
  return {
    ...connectOrigin(url, controlUrl),
    pid,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}
