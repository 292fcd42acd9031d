// Consumers at work while everything fails: they claim messages of a partition, work on them, extend, complete and release, and send
// again what had no answer. Some sleep past their lock, and some are gone for good: to the gateway, a process that was stopped or killed.

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import type { VariableValue } from "../../src/serve/workerd-config.ts";
import { rawRequest } from "../support/http.ts";
import type { ClaimCall, ClaimEntry, ClaimWords, GroupPolicy, PositionLook } from "../guarantees/history.ts";
import type { Random } from "./random.ts";

/** One for each rule for unknown outcomes. */
export const GROUPS = ["retry", "hold"] as const;
export type Group = (typeof GROUPS)[number];

/** The secret of each group. Used in chaos runs only. */
export const CONSUMER_TOKENS = Object.fromEntries(
  GROUPS.map((group) => [tokenName(group), `chaos-consumer-${group}-0123456789abcdef-0123456789`]),
);

function tokenName(group: Group): string {
  return `CONSUMER_TOKEN_${group.toUpperCase()}`;
}

/** The shortest that the gateway allows. */
const LOCK_MS = 1_000;
const CLAIM_RETENTION_MS = 120_000;

export const CONSUMERS: readonly { readonly [setting: string]: VariableValue }[] = GROUPS.map((name) => ({
  name,
  token: tokenName(name),
  unknown: name,
  lock: `${LOCK_MS}ms`,
  max_lock: "10s",
  retention: `${CLAIM_RETENTION_MS}ms`,
  unknown_retention: `${CLAIM_RETENTION_MS}ms`,
}));

export const GROUP_POLICIES: Readonly<Record<string, GroupPolicy>> = Object.fromEntries(
  GROUPS.map((unknown) => [unknown, { unknown, retentionMs: CLAIM_RETENTION_MS }]),
);

const STREAM = { stream: "orders", partition: 0 };
const PATIENCE_MS = 5_000;
/** Consumers return to one of so many recent messages. */
const POOL = 10;
const SETTLED_MS = 20_000;

export interface ConsumerRun {
  readonly port: () => number | Promise<number>;
  readonly report: (event: ClaimCall | PositionLook) => void;
  readonly isOver: () => boolean;
}

/** What the consumers of a group share: how far they have read, and which messages are known to be done. */
export class Partition {
  readonly group: Group;
  read = 0;
  readonly done = new Set<number>();

  constructor(group: Group) {
    this.group = group;
  }
}

type Act = Pick<ClaimEntry, "effect" | "result">;

export async function runConsumer(run: ConsumerRun, partition: Partition, random: Random): Promise<void> {
  while (!run.isOver()) {
    const offsets = Array.from({ length: random.int(1, 4) }, () => nextOffset(partition, random));
    const entries = [...new Set(offsets)].map((offset) => newTry(offset));
    const answers = (await call(run, partition, "claim", entries)) ?? (await call(run, partition, "claim", entries));
    const granted = entries.filter((_, at) => answers?.[at]?.state === "granted");
    await Promise.all(granted.map((entry) => work(run, partition, entry, random)));
    if (random.chance(0.3)) await readPosition(run, partition);
    // Nobody is there.
    await pause(answers === null ? 200 : random.int(0, 100));
  }
}

/** The next message, or a recent one that is delivered again. */
function nextOffset(partition: Partition, random: Random): number {
  if (partition.read > 0 && random.chance(0.4))
    return Math.max(0, partition.read - random.int(1, Math.min(POOL, partition.read)));
  partition.read += 1;
  return partition.read - 1;
}

function newTry(offset: number): ClaimEntry {
  return { key: `message-${offset}`, attemptId: randomUUID(), offset };
}

/** What becomes of an attempt. */
async function work(run: ConsumerRun, partition: Partition, entry: ClaimEntry, random: Random): Promise<void> {
  const finish = (): Promise<void> => insist(run, partition, "complete", entry, { result: entry.attemptId });
  const fate = random.weighted<() => Promise<void>>([
    [60, async () => (await pause(random.int(0, 400)), finish())],
    [10, async () => (await pause(LOCK_MS + random.int(-100, 1_500)), finish())],
    [6, () => oversleep(run, partition, entry, finish)],
    [8, () => Promise.resolve()],
    [8, () => insist(run, partition, "release", entry, { effect: "none" })],
    [4, () => insist(run, partition, "release", entry, { effect: "unknown" })],
    [6, async () => (await extendFor(run, partition, entry, random), finish())],
    [6, async () => (await call(run, partition, "claim", [entry]), finish())],
  ]);
  await fate();
}

/** Sleeps past the lock, and another consumer takes over before it wakes up. */
async function oversleep(
  run: ConsumerRun,
  partition: Partition,
  { offset }: ClaimEntry,
  finish: () => Promise<void>,
): Promise<void> {
  await pause(LOCK_MS + 100);
  const rival = newTry(offset);
  await call(run, partition, "claim", [rival]);
  await finish();
  await insist(run, partition, "complete", rival, { result: rival.attemptId });
}

/** Keeps the lock for longer than one lasts. */
async function extendFor(run: ConsumerRun, partition: Partition, entry: ClaimEntry, random: Random): Promise<void> {
  for (let left = random.int(1, 4); left > 0; left -= 1) {
    await pause(random.int(100, LOCK_MS));
    await call(run, partition, "extend", [entry]);
  }
}

/** Says how an attempt ended until there is an answer, or it gives up. */
async function insist(
  run: ConsumerRun,
  partition: Partition,
  verb: ClaimCall["verb"],
  entry: ClaimEntry,
  act: Act,
): Promise<void> {
  for (let left = 4; left > 0; left -= 1) {
    const answers = await call(run, partition, verb, [{ ...entry, ...act }]);
    if (answers !== null && answers[0]?.state !== "unavailable") return;
    await pause(100);
  }
}

const claimsAnswer = v.object({
  claims: v.array(
    v.object({
      state: v.string(),
      attempt: v.exactOptional(v.number()),
      lockedForMs: v.exactOptional(v.number()),
      result: v.exactOptional(v.unknown()),
    }),
  ),
});
const positionAnswer = v.object({ next: v.nullable(v.number()) });

/** `null`: no answer, or none that says anything. */
async function call(
  run: ConsumerRun,
  { group, done }: Partition,
  verb: ClaimCall["verb"],
  entries: readonly ClaimEntry[],
): Promise<readonly ClaimWords[] | null> {
  const claims = entries.map(({ key, attemptId, offset, effect, result }) => ({
    key,
    attemptId,
    position: { ...STREAM, offset },
    ...(verb === "claim" ? { payloadHash: key } : {}),
    ...(effect === undefined ? {} : { effect }),
    ...(result === undefined ? {} : { result }),
  }));
  const sentAt = Date.now();
  const reported = await ask(await run.port(), group, verb === "claim" ? "" : `/${verb}`, { claims });
  const answers: readonly ClaimWords[] | null = reported === null ? null : v.parse(claimsAnswer, reported).claims;
  run.report({ type: "claim-call", group, verb, sentAt, endAt: Date.now(), entries, answers });
  for (const [at, answer] of (answers ?? []).entries()) {
    const offset = entries[at]?.offset;
    if (offset !== undefined && (answer.state === "settled" || answer.state === "completed")) done.add(offset);
  }
  return answers;
}

async function readPosition(run: ConsumerRun, { group }: Partition): Promise<void> {
  const sentAt = Date.now();
  const query = `stream=${STREAM.stream}&partition=${STREAM.partition}`;
  const reported = await ask(await run.port(), group, `/positions?${query}`);
  if (reported === null) return;
  const { next } = v.parse(positionAnswer, reported);
  run.report({ type: "position", group, sentAt, endAt: Date.now(), next });
}

/** Asks a question with GET, sends `body` with POST. */
async function ask(port: number, group: Group, path: string, body?: object): Promise<unknown> {
  const response = await rawRequest({
    host: "127.0.0.1",
    port,
    method: body === undefined ? "GET" : "POST",
    target: `/_claims/${group}${path}`,
    headers: [["Authorization", `Bearer ${CONSUMER_TOKENS[tokenName(group)]}`]],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    timeoutMs: PATIENCE_MS,
  }).catch(() => null);
  if (response?.complete !== true || response.status >= 500) return null;
  if (response.status !== 200) throw new Error(`a claim got ${response.status}: ${response.body.toString()}`);
  return JSON.parse(response.body.toString());
}

/** The end of a run, without faults: every message is claimed and completed, unless its outcome is unknown. */
export async function settleClaims(run: ConsumerRun, partition: Partition): Promise<void> {
  const giveUpAt = Date.now() + SETTLED_MS;
  const left = new Set(Array.from({ length: partition.read }, (_, offset) => offset));
  while (left.size > 0 && Date.now() < giveUpAt) {
    const entries = [...left].slice(0, 50).map((offset) => newTry(offset));
    const answers = await call(run, partition, "claim", entries);
    const granted = entries.filter((_, at) => answers?.[at]?.state === "granted");
    const completed = granted.map((entry) => Object.assign(entry, { result: entry.attemptId }));
    if (completed.length > 0) await call(run, partition, "complete", completed);
    for (const [at, { offset }] of entries.entries()) {
      if (partition.done.has(offset) || answers?.[at]?.state === "unknown") left.delete(offset);
    }
    await pause(100);
  }
  await readPosition(run, partition);
}
