// A gateway with one shard in front of an origin whose answers the test writes, and readers that observe what arrives.

import { createHash, randomBytes } from "node:crypto";
import type { Gateway, GatewayVars } from "../gateway.ts";
import { freshKey, type HeaderPair, headerValue } from "../http.ts";
import { removeGateway, startGateway, until } from "./scene.ts";
import { openStream, type StreamEnd, type StreamHead, type StreamReader, type StreamRequest } from "./stream-client.ts";
import { startStreamOrigin, type StreamOrigin, type Streaming } from "./stream-origin.ts";
import { openStreamStorage, type StreamStorage } from "./stream-storage.ts";

export const EVENTS: readonly HeaderPair[] = [
  ["Content-Type", "text/event-stream"],
  ["Set-Cookie", "session=1"],
  ["X-Model", "a"],
  ["X-Model", "b"],
];

export interface StreamScene {
  readonly origin: StreamOrigin;
  readonly gateway: Gateway;
  /** The shard's database; opened at the first use, which must come after the first request. */
  readonly storage: () => StreamStorage;
  readonly open: (request: StreamRequest) => StreamReader;
  /** The first request with a new key, and the answer that it waits for. */
  readonly start: (path: string, options?: Partial<StreamRequest>) => Promise<Started>;
  /** A first request with a new key whose answer is the whole load, read to its end by its client; gives the key. */
  readonly store: (path: string, load: Load) => Promise<string>;
  /** Reads a whole response. */
  readonly read: (request: StreamRequest) => Promise<StreamHead & StreamEnd>;
  close(): Promise<void>;
}

export interface Started {
  readonly key: string;
  readonly first: StreamReader;
  readonly streaming: Streaming;
}

export async function startStreamScene(
  routes: GatewayVars["ROUTES"],
  secrets: Readonly<Record<string, string>> = {},
): Promise<StreamScene> {
  const origin = await startStreamOrigin();
  const gateway = await startGateway(origin.url, { shards: 1 }, routes, secrets);
  let storage: StreamStorage | null = null;
  const open: StreamScene["open"] = (request) => openStream(gateway.url, request);
  const start: StreamScene["start"] = async (path, options = {}) => {
    const key = freshKey();
    const first = open({ path, key, ...options });
    return { key, first, streaming: await origin.take(key) };
  };
  return {
    origin,
    gateway,
    storage: () => (storage ??= openStreamStorage(gateway)),
    open,
    start,
    async store(path, load) {
      const { key, first, streaming } = await start(path, { digestOnly: true });
      streaming.begin([]);
      for (const piece of load.pieces) await streaming.write(piece);
      await streaming.end();
      await first.end;
      return key;
    },
    async read(request) {
      const reader = open(request);
      return { ...(await reader.head), ...(await reader.end) };
    },
    async close() {
      storage?.close();
      await removeGateway(gateway);
      await origin.close();
    },
  };
}

export function isReplay(head: StreamHead): boolean {
  return headerValue(head, "idempotent-replayed") === "true";
}

/** The code of a problem of the gateway's; `null` for any other answer. */
export function problemCode({ headers, bytes }: StreamHead & StreamEnd): string | null {
  if (headerValue({ headers }, "content-type") !== "application/problem+json") return null;
  return /"code":"([a-z-]+)"/.exec(bytes.toString())?.[1] ?? null;
}

/** An event with an id; the text of each is its own. */
export function event(key: string, id: number): string {
  return `id: ${id}\ndata: ${key}/${id}\n\n`;
}

export const MIB = 1 << 20;

export interface Load {
  readonly pieces: readonly Buffer[];
  readonly sha256: string;
  readonly size: number;
}

/** Bytes without repeated parts, in pieces of a mebibyte. */
export function makeLoad(mebibytes: number): Load {
  const pieces = Array.from({ length: mebibytes }, () => randomBytes(MIB));
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return { pieces, sha256: hash.digest("hex"), size: mebibytes * MIB };
}

export async function untilTrue(ask: () => boolean, what: string, timeoutMs?: number): Promise<void> {
  await until(() => Promise.resolve(ask() ? true : null), what, timeoutMs);
}
