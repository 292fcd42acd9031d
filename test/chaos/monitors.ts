// What clients do with accepted requests: how they prefer to be answered, how they read monitors and cancel. Strangers try as well.

import { setTimeout as pause } from "node:timers/promises";
import { addressHeaders } from "./callers.ts";
import { openRequest } from "../support/http.ts";
import type { Run, Task } from "./clients.ts";
import type { Ending, Look } from "../guarantees/history.ts";
import { readEnding } from "../guarantees/recorders/answer.ts";
import { credentialOf } from "./operation.ts";
import type { Random } from "./random.ts";
import { TENANT_HEADER } from "./steps.ts";
import { PATIENCE_MS } from "./send.ts";

/** No operation has this caller. */
const STRANGER = "Bearer eve";

let asked = 0;

/** The `Prefer` header of a try; the next try may have another. */
export function preferenceOf({ operation }: Task, random: Random): string | null {
  if (!operation.isAccepting) return null;
  return random.weighted<string | null>([
    [3, null],
    [4, "respond-async"],
    [2, "respond-async, wait=1"],
    [1, "wait=1"],
  ]);
}

/** Reads the monitor for a while, cancels, or gives up, if one of the answers names a monitor. */
export async function followMonitor(run: Run, task: Task, endings: readonly Ending[], random: Random): Promise<void> {
  const monitor = endings
    .map((ending) => (ending.kind === "answer" ? ending.monitor : null))
    .find((one) => one !== null);
  if (monitor === undefined) return;
  run.monitors.set(task, monitor);
  for (let left = random.int(0, 5); left > 0 && !run.isOver(); left -= 1) {
    await pause(random.int(20, 800));
    if (random.chance(0.2)) await askAsStranger(run, task, monitor, random.chance(0.5));
    const method = random.weighted<Look["method"]>([
      [78, "GET"],
      [10, "HEAD"],
      [12, "DELETE"],
    ]);
    const { ending } = await look(run, task, { monitor, method, prefer: random.chance(0.3) ? "wait=1" : null });
    if (ending.kind === "answer" && ending.complete && ending.monitor === null && ending.status < 500) return;
  }
}

/** The monitor's last word, when the key is settled. */
export async function lookAtEnd(run: Run, task: Task): Promise<void> {
  const monitor = run.monitors.get(task);
  if (monitor === undefined) return;
  await readMonitor(run, task, monitor);
  await askAsStranger(run, task, monitor, false);
}

/** Its caller's own question. */
export function readMonitor(run: Run, task: Task, monitor: string): Promise<Look> {
  return look(run, task, { monitor, method: "GET", prefer: null });
}

async function askAsStranger(run: Run, task: Task, monitor: string, hasOtherContent: boolean): Promise<void> {
  const other = monitor.replace(/print=(.)/, (_, digit: string) => `print=${digit === "0" ? "1" : "0"}`);
  const way = hasOtherContent ? { monitor: other } : { monitor, caller: STRANGER };
  await look(run, task, { ...way, method: "GET", prefer: null, isStranger: true });
}

interface LookOptions {
  readonly monitor: string;
  readonly method: Look["method"];
  readonly prefer: string | null;
  /** Who asks; the task's caller by default. */
  readonly caller?: string;
  readonly isStranger?: boolean;
}

async function look(run: Run, { operation, scope }: Task, options: LookOptions): Promise<Look> {
  const { monitor, method, prefer, caller = scope, isStranger = false } = options;
  asked += 1;
  const id = `m${asked}`;
  const port = await run.port();
  const sentAt = Date.now();
  const request = openRequest({
    host: "127.0.0.1",
    port,
    method,
    target: monitor,
    headers: [
      ["Authorization", await credentialOf(run.issuer, operation, caller)],
      [TENANT_HEADER, caller],
      ...addressHeaders(operation.path, caller),
      ...(prefer === null ? [] : [["Prefer", prefer] as const]),
    ],
    timeoutMs: PATIENCE_MS,
  });
  const ending = await readEnding(request.response);
  const { key, path } = operation;
  const done: Look = {
    type: "look",
    id,
    key,
    scope,
    path,
    monitor,
    method,
    isStranger,
    sentAt,
    endAt: Date.now(),
    ending,
  };
  run.report(done);
  return done;
}
