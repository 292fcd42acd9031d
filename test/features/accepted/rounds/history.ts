// How each accepted request has ended, as the end of its history: what its monitor tells its own caller and strangers, what a retry gets,
// and what is left in the database.

import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { until } from "../../../support/e2e/scene.ts";
import { shardFiles } from "../../../support/e2e/shard-database.ts";
import type { Exchange, HistoryEvent } from "../../../guarantees/history.ts";
import { metaOf, policyWith } from "../../../guarantees/policy.ts";
import type { MonitorQuestion, Operation, RecordingClient } from "../../../guarantees/recorders/client.ts";
import { awaitAlarms } from "../../../guarantees/recorders/ledger.ts";
import { ATTEMPTS, type AcceptedScene, type AcceptedSceneOptions, LOCK_MARGIN_MS, PATH } from "./scene.ts";

/** A request that the gateway has answered with 202. */
export interface AcceptedRequest extends Operation {
  readonly monitor: string;
}

/** More than a restart, a lock and the pauses between the tries of a refused request. */
const LONGEST_MS = 120_000;
/** How many requests are looked at at a time. */
const READERS = 8;

/** Sends one request again and again until it is accepted. */
export async function untilAccepted(client: RecordingClient, operation: Operation): Promise<AcceptedRequest> {
  const monitor = await until(async () => monitorIn(await client.send(operation)), "a 202", LONGEST_MS);
  return { ...operation, monitor };
}

function monitorIn({ ending }: Exchange): string | null {
  return ending.kind === "answer" ? ending.monitor : null;
}

export async function historyOf(
  scene: AcceptedScene,
  { unknown, timeoutMs }: Pick<AcceptedSceneOptions, "unknown" | "timeoutMs">,
  client: RecordingClient,
  accepted: readonly AcceptedRequest[],
  recorded: readonly HistoryEvent[],
): Promise<readonly HistoryEvent[]> {
  const ended = await inTurn(accepted, (request) => endOf(client, request));
  const look = await awaitAlarms(scene.stateDir);
  const withResult = accepted.filter((_request, at) => ended[at]?.ending.kind === "answer" && hasResult(ended[at]));
  const lockMs = timeoutMs + LOCK_MARGIN_MS;
  const policy = policyWith({ unknown, timeoutMs, lockMs, acceptedAttempts: ATTEMPTS });
  return [
    metaOf(`accepted, ${unknown}`, { policies: { [PATH]: policy } }),
    ...recorded,
    ...(await scene.origin.readJournal()),
    { ...look, credentials: await storedCredentials(scene, withResult) },
  ];
}

/** Reads the monitor until it tells more than that the request is in flight, asks it as strangers, and tries the request again. */
async function endOf(client: RecordingClient, request: AcceptedRequest): Promise<Exchange> {
  const result = async (): Promise<Exchange["ending"] | null> => {
    const { ending } = await client.look(request);
    return ending.kind === "answer" && ending.monitor === null && ending.retryAfterMs === null ? ending : null;
  };
  await until(result, "the end of an accepted request", LONGEST_MS);
  for (const verification of strangersTo(request)) await client.look({ ...verification, isStranger: true });
  return client.send(request, true);
}

/** Somebody asks about a key that nobody has used; another caller asks; and one with another content. */
function strangersTo(request: AcceptedRequest): readonly MonitorQuestion[] {
  const { monitor, key } = request;
  return [
    { ...request, monitor: monitor.replace(`key=${key}&`, `key=${"0".repeat(key.length)}&`) },
    { ...request, asker: "Bearer somebody else" },
    { ...request, monitor: monitor.replace(/print=[0-9a-f]{4}/, "print=ffff") },
  ];
}

function hasResult({ ending }: Exchange): boolean {
  return ending.kind === "answer" && ending.origin !== null;
}

async function inTurn<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<readonly R[]> {
  const done: R[] = [];
  for (let at = 0; at < all.length; at += READERS)
    done.push(...(await Promise.all(all.slice(at, at + READERS).map(work))));
  return done;
}

/** The keys of these requests whose credentials are in a row, or anywhere in the files after they have been vacuumed. */
async function storedCredentials(
  scene: AcceptedScene,
  requests: readonly AcceptedRequest[],
): Promise<readonly string[]> {
  await scene.crash();
  const texts: string[] = [];
  for (const file of shardFiles(scene)) {
    const database = new DatabaseSync(file, { timeout: 5000 });
    database.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    texts.push(await readFile(file, "latin1"));
  }
  return requests.filter(({ credential }) => texts.some((text) => text.includes(credential))).map(({ key }) => key);
}
