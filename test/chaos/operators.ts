// Operators at work while everything fails: each picks a key of the run and changes its record, in whatever state it is,
// through the operator API. The answers go into the history.

import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import { headerValue, rawRequest } from "../support/http.ts";
import type { HeaderPair, RawResponse } from "../support/http.ts";
import { bodyOf, digestHead, MARKS_HEADER, sha256 } from "../guarantees/recorders/marks.ts";
import type { Task } from "./clients.ts";
import type { Decision, OriginMarks } from "../guarantees/history.ts";
import type { Random } from "./random.ts";

/** Used in chaos runs only. */
export const ADMIN_TOKEN = "chaos-operator-0123456789abcdef-0123456789";
const BASE = "/_onceway";
/** Operators choose among so many of the latest tasks; older records have expired. */
const POOL = 60;
const PATIENCE_MS = 5_000;
const STATUSES = [200, 201, 402] as const;

/** The record of one caller's key. */
export interface RecordName {
  readonly key: string;
  readonly scope: string;
}

/** What an operator's call needs. */
export interface OperatorCalls {
  /** Where the next request goes. May resolve late, while nobody is there. */
  readonly port: () => number | Promise<number>;
  readonly report: (decision: Decision) => void;
}

export interface OperatorRun extends OperatorCalls {
  readonly tasks: readonly Task[];
  readonly isOver: () => boolean;
}

const page = v.object({ records: v.array(v.object({ id: v.string(), state: v.string() })) });

let decided = 0;

export async function runOperator(run: OperatorRun, random: Random): Promise<void> {
  const recent = (): RecordName | undefined => {
    const task = oneOfTheLatest(run.tasks, random);
    // Only keys with one scope, because the list does not show the scope of a record.
    return task?.operation.scopes.length === 1 ? { key: task.operation.key, scope: task.scope } : undefined;
  };
  await decideAbout(run, recent, random);
}

/** An operator of queues. `records`: oldest first. */
export async function runQueueOperator(
  run: Omit<OperatorRun, "tasks">,
  records: readonly RecordName[],
  random: Random,
): Promise<void> {
  await decideAbout(run, () => oneOfTheLatest(records, random), random);
}

function oneOfTheLatest<T>(list: readonly T[], random: Random): T | undefined {
  return list[list.length - random.int(1, Math.min(POOL, list.length))];
}

async function decideAbout(
  run: Omit<OperatorRun, "tasks">,
  recent: () => RecordName | undefined,
  random: Random,
): Promise<void> {
  while (!run.isOver()) {
    await pause(random.int(20, 250));
    const name = recent();
    if (name !== undefined) await decide(run, name, random);
  }
}

async function decide(run: OperatorCalls, name: RecordName, random: Random): Promise<void> {
  const found = await ask(await run.port(), "GET", `/records?key=${encodeURIComponent(name.key)}`);
  const { output, success } = v.safeParse(page, jsonOf(found));
  const record = success ? output.records[0] : undefined;
  if (record === undefined) return;
  // Most operators choose records that need a decision; some choose any.
  if (record.state !== "unknown" && record.state !== "failed" && random.chance(0.7)) return;
  const action = random.weighted([
    [3, "release"],
    [3, "resolve"],
    [2, "forget"],
  ] as const);
  await change(run, { ...name, id: record.id }, action, random);
}

/** Makes a change, and reports it. */
export async function change(
  { port, report }: OperatorCalls,
  { id, key, scope }: RecordName & { readonly id: string },
  action: Decision["action"],
  random: Random,
): Promise<Decision["outcome"]> {
  decided += 1;
  const seq = -decided;
  const status = random.pick(STATUSES);
  const marks: OriginMarks = { arrival: seq, request: "", key, scope, effect: null, bytes: random.int(0, 20_000) };
  const headers: HeaderPair[] = [
    ["Content-Type", "application/octet-stream"],
    [MARKS_HEADER, JSON.stringify(marks)],
  ];
  const given = { status, headers, body: bodyOf(marks) };
  const sentAt = Date.now();
  const reported = await ask(await port(), "POST", `/records/${id}/${action}`, changeBody(action, given));
  const outcome = reported === null ? "lost" : outcomeOf(reported);
  const isResolve = action === "resolve";
  report({
    type: "decision",
    seq,
    key,
    scope,
    action,
    sentAt,
    endAt: Date.now(),
    outcome,
    retryAfterMs: reported === null ? null : secondsOf(headerValue(reported, "retry-after")),
    status: isResolve ? status : null,
    headers: isResolve ? digestHead(status, "", headers) : null,
    sha256: isResolve ? sha256(given.body) : null,
  });
  return outcome;
}

interface Given {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
}

/** The request body that the API expects for each change. */
function changeBody(action: Decision["action"], { status, headers, body }: Given): string {
  const reason = "chaos";
  if (action !== "resolve") return JSON.stringify({ reason });
  return JSON.stringify({ reason, confirm: true, response: { status, headers, bodyBase64: body.toString("base64") } });
}

/** Null: no answer, or an incomplete one. */
export async function ask(port: number, method: string, path: string, body?: string): Promise<RawResponse | null> {
  const request = rawRequest({
    host: "127.0.0.1",
    port,
    method,
    target: BASE + path,
    headers: [
      ["Authorization", `Bearer ${ADMIN_TOKEN}`],
      ["Content-Type", "application/json"],
    ],
    ...(body === undefined ? {} : { body }),
    timeoutMs: PATIENCE_MS,
  });
  const response = await request.catch(() => null);
  return response?.complete === true ? response : null;
}

function jsonOf(response: RawResponse | null): unknown {
  return response === null || response.status !== 200 ? null : JSON.parse(response.body.toString());
}

function outcomeOf({ status }: RawResponse): Decision["outcome"] {
  switch (status) {
    case 200:
      return "changed";
    case 404:
      return "missing";
    case 409:
      return "refused";
    case 400:
      return "invalid";
    default:
      return "lost";
  }
}

function secondsOf(value: string | null): number | null {
  return value === null ? null : Number(value) * 1_000;
}
