// What became of every request that was accepted: from the origin's journal, from what monitors, retries and strangers are told, and
// from what is left in the database.

import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { shardFiles } from "../e2e/support/shard-database.ts";
import { withoutInstance } from "../support/instance.ts";
import { type AcceptedRequest, readMonitor, retry, type Seen, untilEnded } from "./client.ts";
import type { AcceptedScene } from "./scene.ts";

export interface Verdict {
  readonly accepted: number;
  /** Those whose monitor gives a result. */
  readonly results: number;
  /** Those whose monitor names a doubt. */
  readonly inDoubt: number;
  /** Those with neither, and those with a result for which the origin has not acted. */
  readonly lost: number;
  /** Those for which the origin has acted more than once. */
  readonly doubled: number;
  /** Doubled effects whose attempts do not have rising numbers. */
  readonly unfenced: number;
  /** Results whose monitor has other bytes than the replay. */
  readonly different: number;
  /** Monitors that tell another caller, or about another content, more than one that does not exist. */
  readonly told: number;
  /** Credentials of requests that have their result which are still stored. */
  readonly credentials: number;
}

/** How many monitors are read at a time. */
const READERS = 8;

export async function judge(scene: AcceptedScene, accepted: readonly AcceptedRequest[]): Promise<Verdict> {
  const ends = await inTurn(accepted, (request) => untilEnded(scene.url, request));
  const attempts = new Map<string, number[]>();
  for (const { key, attempt } of await scene.origin.effects()) {
    attempts.set(key, [...(attempts.get(key) ?? []), attempt ?? 0]);
  }
  // The origin's answer when it is asked is a result too.
  const withResult = accepted.filter((_request, at) => isResult(ends[at]));
  const inDoubt = ends.filter((end) => end.code === "outcome-unknown").length;
  const doubled = accepted.map(({ key }) => attempts.get(key) ?? []).filter((list) => list.length > 1);
  const replays = await inTurn(withResult, (request) => retry(scene.url, request));
  const results = ends.filter(isResult);
  const strangers = await inTurn(accepted, (request) => strangersSee(scene, request));
  return {
    accepted: accepted.length,
    results: withResult.length,
    inDoubt,
    lost: accepted.length - withResult.length - inDoubt + withResult.filter(({ key }) => !attempts.has(key)).length,
    doubled: doubled.length,
    unfenced: doubled.filter((list) => list.some((number, at) => at > 0 && number <= (list[at - 1] ?? 0))).length,
    different: results.filter(({ text, status }, at) => replays[at]?.text !== text || replays[at].status !== status)
      .length,
    told: strangers.filter((tells) => tells).length,
    credentials: await storedCredentials(scene, withResult),
  };
}

function isResult(end: Seen | undefined): boolean {
  return end?.status === 200 || end?.status === 201;
}

async function inTurn<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<readonly R[]> {
  const done: R[] = [];
  for (let at = 0; at < all.length; at += READERS)
    done.push(...(await Promise.all(all.slice(at, at + READERS).map(work))));
  return done;
}

/** Whether another caller, or one with another content, is told more than about a key that nobody has used. */
async function strangersSee(scene: AcceptedScene, { monitor, credential, key }: AcceptedRequest): Promise<boolean> {
  const unused = await readMonitor(
    scene.url,
    monitor.replace(`key=${key}&`, `key=${"0".repeat(key.length)}&`),
    credential,
  );
  const others: readonly Seen[] = await Promise.all([
    readMonitor(scene.url, monitor, "Bearer somebody else"),
    readMonitor(scene.url, monitor.replace(/print=[0-9a-f]{4}/, "print=ffff"), credential),
  ]);
  const expected = withoutInstance(unused.text);
  return [unused, ...others].some(({ status, text }) => status !== 404 || withoutInstance(text) !== expected);
}

/** How many of these credentials are in a row, or anywhere in the files after they have been vacuumed. */
async function storedCredentials(scene: AcceptedScene, requests: readonly AcceptedRequest[]): Promise<number> {
  await scene.crash();
  const texts: string[] = [];
  for (const file of shardFiles(scene)) {
    const database = new DatabaseSync(file, { timeout: 5000 });
    database.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    texts.push(await readFile(file, "latin1"));
  }
  return requests.filter(({ credential }) => texts.some((text) => text.includes(credential))).length;
}
