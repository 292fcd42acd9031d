// The test origin's client for tests in Node: starts an origin and calls its control API. All origins of a process are in one other
// process, each with ports, scripts and a journal of its own. `connectOrigin` makes the same client for an origin that is already
// running; it needs only `fetch`.

import { type ChildProcess, fork } from "node:child_process";
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
  /** Refuses and ends all connections, for good. */
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

/** The process of the origins; null before the first one, and after the process has ended. */
let host: ChildProcess | null = null;
/** Of origins that are not closed. While there are any, this process does not end by itself. */
let open = 0;
/** Resolves when all origins that were asked for have started: the process says of none whose it is. */
let started: Promise<unknown> = Promise.resolve();

export async function startOrigin(): Promise<TestOrigin> {
  const starting = started.then(startInHost);
  started = starting.catch(() => undefined);
  const { url, controlUrl } = await starting;
  let isOpen = true;
  return {
    ...connectOrigin(url, controlUrl),
    async close() {
      if (!isOpen) return;
      isOpen = false;
      await fetch(`${controlUrl}/close`, { method: "POST" });
      open -= 1;
      if (open === 0) host?.channel?.unref();
    },
  };
}

async function startInHost(): Promise<v.InferOutput<typeof startedMessage>> {
  const child = host ?? startHost();
  child.channel?.ref();
  open += 1;
  const message: unknown = await new Promise((resolve, reject) => {
    const failed = (code: number | null): void =>
      reject(new Error(`the test origin ended with code ${code} before it was ready`));
    child.once("message", (text) => {
      child.off("exit", failed);
      resolve(text);
    });
    child.once("exit", failed);
    child.send("start");
  });
  return v.parse(startedMessage, message);
}

function startHost(): ChildProcess {
  // No inherited flags: the origins must not load the test runner.
  const child = fork(fileURLToPath(new URL("./origin-process.ts", import.meta.url)), [], { execArgv: [] });
  child.unref();
  child.once("exit", () => (host = null));
  host = child;
  return child;
}
