// Clients that have lost an answer ask what became of their key, or give it up, and begin the operation afresh with another one: it must not have two
// effects.

import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import { addressHeaders } from "./callers.ts";
import { openRequest } from "../support/http.ts";
import type { HeaderPair, RawResponse } from "../support/http.ts";
import type { Run, Task } from "./clients.ts";
import type { KeyQuestion, KeyWords, NewKey } from "../guarantees/history.ts";
import { readEnding } from "../guarantees/recorders/answer.ts";
import { credentialOf, type Operation } from "./operation.ts";
import type { Random } from "./random.ts";
import { PATIENCE_MS } from "./send.ts";
import { TENANT_HEADER } from "./steps.ts";

const ADDRESS = "/.well-known/idempotency/requests";
/** No operation has this caller. */
export const STRANGER = "Bearer eve";
/** A client whose word is lost says it again. */
const WORDS = 3;

let asked = 0;

/** Between two tries of an impatient client. Returns the same operation with another key if it has given this one up. */
export async function giveUpSometimes(run: Run, task: Task, random: Random): Promise<Task | null> {
  if (random.chance(0.2)) await lookUp(run, task, random.chance(0.2) ? { caller: STRANGER } : {});
  if (!random.chance(0.12) || !(await giveUp(run, task, random))) return null;
  return beginAfresh(run, task, "abandoned", random);
}

/** Whether the gateway has said that it is so. */
export async function giveUp(run: Run, task: Task, random: Random): Promise<boolean> {
  for (let left = WORDS; left > 0; left -= 1) {
    const { ending } = await lookUp(run, task, { method: "DELETE" });
    if (ending.kind === "answer" && ending.status < 500) return ending.status === 204;
    await pause(random.int(50, 400));
  }
  return false;
}

export function beginAfresh(run: Run, { operation, scope }: Task, why: NewKey["why"], random: Random): Task {
  const { key, path } = operation;
  const to = `${path.slice(1)}-${random.hex(16)}`;
  run.report({ type: "new-key", key, scope, to, why, at: Date.now() });
  const afresh: Operation = { ...operation, key: to, scopes: [scope] };
  return { operation: afresh, scope };
}

const words = v.object({
  state: v.string(),
  next: v.string(),
  safeNewKey: v.boolean(),
  status: v.optional(v.nullable(v.number()), null),
});

interface QuestionOptions {
  readonly method?: KeyQuestion["method"];
  /** Who asks; the task's caller by default. */
  readonly caller?: string;
}

export async function lookUp(
  run: Run,
  { operation, scope }: Task,
  { method = "GET", caller = scope }: QuestionOptions = {},
): Promise<KeyQuestion> {
  asked += 1;
  const id = `k${asked}`;
  const { key, path } = operation;
  const port = await run.port();
  const sentAt = Date.now();
  const target = `${ADDRESS}${path}?key=${encodeURIComponent(key)}`;
  const plain: readonly HeaderPair[] = [
    ["Authorization", await credentialOf(run.issuer, operation, caller)],
    [TENANT_HEADER, caller],
    ...addressHeaders(path, caller),
  ];
  const url = `http://127.0.0.1:${port}${target}`;
  const headers = operation.isSigned ? await run.agents?.sign(caller, { method, url, headers: plain }) : plain;
  const request = openRequest({
    host: "127.0.0.1",
    port,
    method,
    target,
    headers: headers ?? plain,
    timeoutMs: PATIENCE_MS,
  });
  let report: KeyWords | null = null;
  const response = request.response.then((whole) => {
    report = readWords(whole);
    return whole;
  });
  const ending = await readEnding(response);
  const isStranger = caller !== scope;
  const of = { type: "key-question", id, key, scope, path, method, isStranger } as const;
  const done: KeyQuestion = { ...of, sentAt, endAt: Date.now(), ending, report };
  run.report(done);
  return done;
}

function readWords({ status, complete, body }: RawResponse): KeyWords | null {
  if (status !== 200 || !complete) return null;
  return v.parse(words, JSON.parse(body.toString()));
}
