// The common setup: a gateway and the origin behind it, each in its own process, and a client that sends raw HTTP to the
// gateway while effects are counted at the origin. One scene serves a whole test file; every test uses fresh keys and paths.

import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  type Gateway,
  type GatewayOptions,
  type GatewayVars,
  makeStateDir,
  startWorkerd,
  startWranglerDev,
} from "../gateway.ts";
import { endpoint, type HeaderPair, openRequest, type OpenRequest, type RawResponse } from "../http.ts";
import { type Script, startOrigin, type TestOrigin } from "../origin.ts";

export interface Message {
  /** POST by default. */
  readonly method?: string;
  readonly path: string;
  /** Sent as `Idempotency-Key`, as it is. */
  readonly key?: string;
  readonly headers?: readonly HeaderPair[];
  /** A small JSON text by default; `null` for none. */
  readonly body?: Buffer | string | null;
  readonly chunked?: boolean;
  /** How the origin answers this request. It is sent in a header, and is not part of the fingerprint. */
  readonly behave?: Script;
  readonly timeoutMs?: number;
}

export interface Client {
  send(message: Message): Promise<RawResponse>;
  open(message: Message): OpenRequest;
}

export interface Scene extends Client {
  readonly origin: TestOrigin;
  readonly gateway: Gateway;
  close(): Promise<void>;
}

const BUCKET = "bodies";

type Settings = GatewayVars["IDEMPOTENCY"];
type Routes = GatewayVars["ROUTES"];
type Variables = NonNullable<GatewayOptions["bindings"]>;

/** `others`: further variables and secrets. */
export async function startScene(settings: Settings, routes: Routes, others: Variables = {}): Promise<Scene> {
  const origin = await startOrigin();
  const gateway = await startGateway(origin.url, settings, routes, others);
  return {
    ...clientOf(gateway.url),
    origin,
    gateway,
    async close() {
      await removeGateway(gateway);
      await origin.close();
    },
  };
}

/** A gateway alone, with its own state. */
export async function startGateway(
  originUrl: string,
  settings: Settings,
  routes: Routes,
  others: Variables = {},
): Promise<Gateway> {
  const vars = { IDEMPOTENCY: { origin: originUrl, ...settings }, ROUTES: routes };
  return startWorkerd({ stateDir: await makeStateDir(), vars, bindings: others });
}

/** A gateway alone, with a bucket for large responses. */
export async function startGatewayWithBucket(
  originUrl: string,
  settings: Settings,
  routes: Routes,
  secrets: Readonly<Record<string, string>> = {},
): Promise<Gateway> {
  return startWranglerDev({
    stateDir: await makeStateDir(),
    vars: { IDEMPOTENCY: { origin: originUrl, ...settings }, ROUTES: routes },
    bindings: secrets,
    extraToml: `[[r2_buckets]]\nbinding = "BODIES"\nbucket_name = "${BUCKET}"`,
  });
}

/** The files of all objects in its bucket. */
export async function bucketObjects({ stateDir }: Gateway): Promise<readonly string[]> {
  const folder = join(stateDir, "v3", "r2", BUCKET, "blobs");
  return existsSync(folder) ? readdir(folder) : [];
}

/** Stops it and removes its state. */
export async function removeGateway(gateway: Gateway): Promise<void> {
  await gateway.stop();
  await rm(gateway.stateDir, { recursive: true, force: true });
}

export function clientOf(url: string): Client {
  const open = (message: Message): OpenRequest => {
    const { method = "POST", path, key, headers = [], behave } = message;
    const body = message.body === undefined ? '{"amount":1}' : message.body;
    return openRequest({
      ...endpoint(url),
      method,
      target: path,
      headers: [
        ...(key === undefined ? [] : [["Idempotency-Key", key] as const]),
        ...(behave === undefined ? [] : [["x-behave", JSON.stringify(behave)] as const]),
        ...headers,
      ],
      ...(body === null ? {} : { body }),
      ...(message.chunked === undefined ? {} : { chunked: message.chunked }),
      ...(message.timeoutMs === undefined ? {} : { timeoutMs: message.timeoutMs }),
    });
  };
  return { open, send: (message) => open(message).response };
}

/** Polls until there is an answer that is not `null`. */
export async function until<T>(ask: () => Promise<T | null>, what: string, timeoutMs = 60_000): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (Date.now() > giveUpAt) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await pause(20);
  }
}

/** A process's output comes after its answers: waits until it has this text, and returns all of it. */
export async function untilPrinted({ output }: Pick<Gateway, "output">, text: string): Promise<string> {
  return until(() => Promise.resolve(output().includes(text) ? output() : null), `the output has "${text}"`);
}
