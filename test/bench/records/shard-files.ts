// The files of a stopped gateway's shards: made by the gateway itself, filled by loaders, and inspected.

import { type ChildProcess, fork } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { keyHash, nameRecord } from "../../../src/kernel/request/record-name.ts";
import { layoutName } from "../../../src/kernel/config/layout.ts";
import { shardName } from "../../../src/kernel/object/shard-address.ts";
import type { Gateway } from "../../support/gateway.ts";
import { freshKey } from "../../support/http.ts";
import { post } from "./post.ts";

/** Where workerd keeps the objects of the class, as test/support/workerd-config.ts names them. */
const OBJECTS = "onceway-KeyShard";

export interface ShardFile {
  readonly file: string;
  readonly shard: string;
  /** The record that the gateway stored when the shard was made. */
  readonly template: string;
}

/** The id of a key's record with an empty scope. */
export function idOf(key: string, shards: number): Promise<string> {
  return nameRecord(key, [], layoutName({ shards, jurisdiction: null }));
}

/** Starts a gateway, makes every shard of it by one request, stops it, and finds the shards' files. */
export async function makeShards(start: () => Promise<Gateway>, shards: number): Promise<readonly ShardFile[]> {
  const gateway = await start();
  try {
    return await make(gateway, shards);
  } finally {
    await gateway.stop();
  }
}

async function make(gateway: Gateway, shards: number): Promise<readonly ShardFile[]> {
  const made = new Map<string, string>();
  for (let number = 0; made.size < shards; number += 1) {
    const key = `shard-maker-${number}`;
    const shard = shardName(await keyHash(key), shards);
    if (made.has(shard)) continue;
    await post(gateway.url, key);
    made.set(shard, await idOf(key, shards));
  }
  const folder = join(gateway.stateDir, OBJECTS);
  const files = readdirSync(folder).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
  return [...made].map(([shard, template]) => {
    const file = files.map((name) => join(folder, name)).find((name) => has(name, template));
    if (file === undefined) throw new Error(`no file of ${shard}`);
    return { file, shard, template };
  });
}

function has(file: string, id: string): boolean {
  return ask(file, "SELECT count(*) AS n FROM records WHERE id = ?", id) === 1;
}

/** The value named `n` out of a shard's file, also while the gateway runs. */
export function ask(file: string, query: string, ...values: (string | number)[]): unknown {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  try {
    return database.prepare(query).get(...values)?.["n"] ?? null;
  } finally {
    database.close();
  }
}

/** An unused key that belongs to this shard. */
export async function freshKeyIn(shard: string, shards: number): Promise<string> {
  for (;;) {
    const key = freshKey();
    if (shardName(await keyHash(key), shards) === shard) return key;
  }
}

/** A loader's messages: see loader/load.ts. */
type LoaderMessage = { readonly loaded: number } | { readonly done: true };

export interface LoadJob {
  readonly file: string;
  readonly template: string;
  readonly ids?: readonly string[];
  readonly seed: string;
  readonly from?: number;
  readonly to: number;
  readonly ageMs: number;
  readonly bodyBytes?: number | undefined;
  readonly isMixed?: boolean;
}

/** Runs the jobs in two processes. Reports what has been loaded. */
export async function loadAll(jobs: readonly LoadJob[], loaded: (records: number) => void): Promise<void> {
  const waiting = [...jobs];
  const work = async (): Promise<void> => {
    const loader = fork(fileURLToPath(new URL("loader/load.ts", import.meta.url)), [], { execArgv: [] });
    try {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await run(loader, job, loaded);
    } finally {
      loader.disconnect();
    }
  };
  await Promise.all([work(), work()]);
}

function run(loader: ChildProcess, job: LoadJob, loaded: (records: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const hear = (message: LoaderMessage): void => {
      if ("loaded" in message) loaded(message.loaded);
      else end(resolve);
    };
    const fail = (code: number | null): void => end(() => reject(new Error(`the loader ended: ${code}`)));
    const end = (tell: () => void): void => {
      loader.off("message", hear).off("exit", fail);
      tell();
    };
    loader.on("message", hear).on("exit", fail);
    loader.send({ ids: [], from: 0, ...job });
  });
}
