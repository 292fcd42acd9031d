// Everything that can happen to a shard, as commands that a model follows: the model is the life cycle itself, one record per
// key, and every answer and every stored record has to match it.

import fc from "fast-check";
import { expect, vi } from "vitest";
import { assertForClaimant, type LifeCycleEvent } from "../../../src/kernel/record/events.ts";
import { step } from "../../../src/kernel/record/life-cycle.ts";
import { deadlineOf } from "../../../src/kernel/record/step.ts";
import type { IdempotencyRecord } from "../../../src/kernel/record/record.ts";
import { type AttemptId, epochMs, fingerprint, type RecordId, recordId } from "../../../src/kernel/record/units.ts";
import { judgeAttempt } from "../../../src/kernel/record/verdict.ts";
import {
  type Ask,
  type Behaviour,
  freshAttempt,
  LISTS,
  type ModelShard,
  policyOf,
  UNKNOWN_RETENTION_MS,
} from "./model-shard.ts";

/** The model's state of one record: the record itself, and the content of a replay. */
interface Known {
  readonly record: IdempotencyRecord | null;
  readonly text: string;
}

export interface Model {
  readonly records: Map<RecordId, Known>;
}

type ShardCommand = fc.AsyncCommand<Model, ModelShard>;

const RECORDS = ["one", "two"].map(recordId);
const NONE: Known = { record: null, text: "" };
/** For events that take none. */
const ANY_POLICY = policyOf({ unknown: "retry", isRemembered: false });

const now = (): ReturnType<typeof epochMs> => epochMs(Date.now());

/** Applies one request to the model and returns its client's answer. `null`: the attempt is lost, and there is no answer. */
function asked(model: Model, ask: Ask, attempt: AttemptId, behaviour: Behaviour | null): string | null {
  const known = model.records.get(ask.record) ?? NONE;
  const event = { type: "request", fingerprint: fingerprint(ask.fingerprint), attemptId: attempt } as const;
  const { record, reply } = step(known.record, event, policyOf(ask), now());
  model.records.set(ask.record, { ...known, record });
  assertForClaimant(reply, "a request");
  switch (reply.type) {
    case "start":
      return behaviour === null ? null : answered(model, ask, attempt, behaviour);
    case "replay":
      return `replay ${reply.record.status} ${known.text}`;
    case "not-kept":
      return "409 response-not-kept";
    case "in-flight":
      return "409 in-flight";
    case "outcome-unknown":
      return "409 outcome-unknown";
    case "key-expired":
      return "409 key-expired";
    case "key-reused":
      return "422 key-reused";
    case "granted-again":
    case "accepted":
      throw new TypeError(`a request was answered with ${reply.type}`);
  }
}

function answered(model: Model, ask: Ask, attempt: AttemptId, behaviour: Behaviour): string {
  const text = `/${attempt}`;
  const isLost = behaviour === "drops" || behaviour === "is cut short";
  const type = judgeAttempt(isLost ? { kind: "dropped" } : { kind: "answered", status: behaviour }, LISTS);
  const status = isLost ? 0 : behaviour;
  const event: LifeCycleEvent =
    type === "result"
      ? { type, attemptId: attempt, status, kept: true, verified: false }
      : { type, attemptId: attempt, reason: { kind: "dropped" } };
  const { record } = step(model.records.get(ask.record)?.record ?? null, event, policyOf(ask), now());
  model.records.set(ask.record, { record, text });
  return isLost ? "502 origin-dropped" : `first ${status} ${text}`;
}

/** The record in its present state. The ledger may still hold an expired one. */
function asOfNow(record: IdempotencyRecord | null): IdempotencyRecord | null {
  return step(record, { type: "tick" }, ANY_POLICY, now()).record;
}

async function checkRecords(model: Model, shard: ModelShard): Promise<void> {
  const deadlines: number[] = [];
  for (const id of RECORDS) {
    const stored = await shard.stored(id);
    expect(asOfNow(stored)).toEqual(asOfNow(model.records.get(id)?.record ?? null));
    if (stored !== null) deadlines.push(deadlineOf(stored));
  }
  if (deadlines.length === 0) return;
  // Erasing may be late by an eighth of the time that a record is kept; an overdue alarm comes as soon as it can.
  const latest = Math.max(Math.min(...deadlines) + UNKNOWN_RETENTION_MS / 8, Date.now() + 1);
  expect(await shard.alarmAt()).toBeLessThanOrEqual(latest);
}

function checkSame(real: unknown, expected: unknown): void {
  expect(real).toEqual(expected);
}

function inOrder(one: string | null, other: string | null): number {
  return String(one).localeCompare(String(other));
}

const always = (): boolean => true;

/** One request, or more of the same at once. */
class Request implements ShardCommand {
  readonly #ask: Ask;
  readonly #behaviour: Behaviour;
  readonly #copies: number;
  readonly check = always;

  constructor(ask: Ask, behaviour: Behaviour, copies: number) {
    this.#ask = ask;
    this.#behaviour = behaviour;
    this.#copies = copies;
  }

  async run(model: Model, shard: ModelShard): Promise<void> {
    const attempts = Array.from({ length: this.#copies }, freshAttempt);
    shard.behaviour = this.#behaviour;
    shard.calls = [];
    const before = model.records.get(this.#ask.record)?.record ?? null;
    const said = await Promise.all(attempts.map((attempt) => shard.ask(this.#ask, attempt)));
    const starts = shard.calls.length > 0;
    // The first to arrive starts an attempt, and no other does.
    const first = starts ? attempts.find((id) => said.some((one) => one.endsWith(`/${id}`))) : undefined;
    const record = await shard.stored(this.#ask.record);
    const owner = first ?? (starts ? record?.attempt.id : undefined) ?? attempts[0] ?? freshAttempt();
    const expected = asked(model, this.#ask, owner, this.#behaviour);
    const after = model.records.get(this.#ask.record)?.record ?? null;
    checkSame({ starts }, { starts: after !== before && after?.attempt.id === owner });
    if (starts) checkSame(shard.calls, [after?.attempt.number]);
    const others = attempts.filter((id) => id !== owner).map((id) => asked(model, this.#ask, id, null));
    checkSame(said.toSorted(inOrder), [expected, ...others].toSorted(inOrder));
    await checkRecords(model, shard);
  }

  toString(): string {
    return `${this.#copies} × ${JSON.stringify(this.#ask)}: the origin ${this.#behaviour}`;
  }
}

/** A request whose object is gone before the origin has answered. */
class Lost implements ShardCommand {
  readonly #ask: Ask;
  readonly check = always;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async run(model: Model, shard: ModelShard): Promise<void> {
    const attempt = freshAttempt();
    const said = await shard.askAndLose(this.#ask, attempt);
    checkSame(said, asked(model, this.#ask, attempt, null));
    await checkRecords(model, shard);
  }

  toString(): string {
    return `lost: ${JSON.stringify(this.#ask)}`;
  }
}

/** The same, but for how the claim came into the ledger: the runtime reports every loss at length. */
class LostBefore implements ShardCommand {
  readonly #ask: Ask;
  readonly check = always;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async run(model: Model, shard: ModelShard): Promise<void> {
    const attempt = freshAttempt();
    asked(model, this.#ask, attempt, null);
    const record = model.records.get(this.#ask.record)?.record;
    if (record?.attempt.id === attempt) await shard.leave(this.#ask.record, record);
    await checkRecords(model, shard);
  }

  toString(): string {
    return `lost before: ${JSON.stringify(this.#ask)}`;
  }
}

class Eviction implements ShardCommand {
  readonly check = always;

  async run(model: Model, shard: ModelShard): Promise<void> {
    await shard.alarmAt();
    await shard.evict();
    await checkRecords(model, shard);
  }

  toString(): string {
    return "eviction";
  }
}

class AlarmComes implements ShardCommand {
  readonly check = always;

  async run(model: Model, shard: ModelShard): Promise<void> {
    await shard.alarm();
    await checkRecords(model, shard);
  }

  toString(): string {
    return "alarm";
  }
}

type PassThroughRequest = { readonly by: number } | { readonly toDeadline: number } | { readonly toRetryFrom: number };

class TimePasses implements ShardCommand {
  readonly #passing: PassThroughRequest;
  readonly check = always;

  constructor(passing: PassThroughRequest) {
    this.#passing = passing;
  }

  async run(model: Model, shard: ModelShard): Promise<void> {
    const targets = [...model.records.values()].flatMap(({ record }) => this.#target(record));
    const target = Math.min(...targets.filter((ms) => ms >= Date.now()));
    const to = "by" in this.#passing ? Date.now() + this.#passing.by : target;
    if (Number.isFinite(to)) vi.setSystemTime(to);
    await checkRecords(model, shard);
  }

  #target(record: IdempotencyRecord | null): readonly number[] {
    if (record === null) return [];
    if ("toDeadline" in this.#passing) return [deadlineOf(record) + this.#passing.toDeadline];
    return "toRetryFrom" in this.#passing ? [record.attempt.lockedUntil + this.#passing.toRetryFrom] : [];
  }

  toString(): string {
    return `time passes: ${JSON.stringify(this.#passing)}`;
  }
}

const ask: fc.Arbitrary<Ask> = fc.record({
  record: fc.constantFrom(...RECORDS),
  fingerprint: fc.constantFrom("f", "f", "f", "f", "g"),
  unknown: fc.constantFrom("retry", "hold"),
  isRemembered: fc.boolean(),
  duplicate: fc.constantFrom("reject", "wait"),
});
const behaviour = fc.constantFrom<Behaviour>(201, 201, 404, 500, 503, 429, 502, 504, "drops", "is cut short");
/** After a refusal, it depends on timing which of several simultaneous requests tries again. */
const lastBehaviour = behaviour.filter((what) => what !== 503 && what !== 429);
const passing: fc.Arbitrary<PassThroughRequest> = fc.oneof(
  fc.record({ by: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ by: fc.integer({ min: 0, max: 2 * UNKNOWN_RETENTION_MS }) }),
  fc.record({ toDeadline: fc.integer({ min: -1, max: 1 }) }),
  fc.record({ toRetryFrom: fc.integer({ min: -1, max: 1 }) }),
);

export const shardCommands = fc.commands<Model, ModelShard, boolean>(
  [
    fc.tuple(ask, behaviour).map(([one, what]) => new Request(one, what, 1)),
    fc.tuple(ask, lastBehaviour).map(([one, what]) => new Request({ ...one, duplicate: "wait" }, what, 3)),
    fc.tuple(ask, fc.nat(7)).map(([one, at]) => (at === 0 ? new Lost(one) : new LostBefore(one))),
    passing.map((one) => new TimePasses(one)),
    fc.constant(new Eviction()),
    fc.constant(new AlarmComes()),
  ],
  { maxCommands: 25, size: "max" },
);
