// Clients of routes that only observe their keys: they repeat requests, at once and one after the other, and leave. At the end their report is read.

import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import { openRequest } from "../support/http.ts";
import type { HeaderPair } from "../support/http.ts";
import type { Run } from "./clients.ts";
import type { ObservedReport } from "../guarantees/history.ts";
import { readEnding } from "../guarantees/recorders/answer.ts";
import { REQUEST_HEADER, sha256 } from "../guarantees/recorders/marks.ts";
import { ask as askOperators } from "./operators.ts";
import { digestSent, type ObservedStep } from "./origin-observed.ts";
import type { Random } from "./random.ts";
import { OBSERVED_KEYS, isProtected, OBSERVED_PATH, PARTIAL_PATH } from "./routes.ts";
import { PATIENCE_MS } from "./send.ts";
import { PLAN_HEADER } from "./steps.ts";

/** Fewer than the effects of a key that the gateway remembers. */
const MOST_TRIES = 5;
/** Keys of the final phase, in which nothing is lost. */
const CALM_KEYS = 20;
const TOLD_MS = 8_500;
const LOOK_EVERY_MS = 1_000;
const LOOKS = 30;

let sent = 0;

export async function runObserved(run: Run, random: Random): Promise<void> {
  while (!run.isOver()) {
    await repeat(run, random, false);
    await pause(random.int(0, 100));
  }
}

/** Without faults: a few keys more, and the report when it says no more than before. */
export async function finishObserved(run: Run, random: Random): Promise<void> {
  for (let left = CALM_KEYS; left > 0; left -= 1) await repeat(run, random, true);
  // By then each is told, also by a slow machine.
  await pause(TOLD_MS);
  let before: ObservedReport | null = null;
  for (let left = LOOKS; left > 0; left -= 1) {
    await pause(LOOK_EVERY_MS);
    const now = await readReport(run);
    if (now !== null && before?.seen === now.seen) return run.report(now);
    before = now;
  }
  throw new Error("the report of what was observed has no end");
}

/** Some requests with one key. */
async function repeat(run: Run, random: Random, isCalm: boolean): Promise<void> {
  const path = random.chance(0.5) ? OBSERVED_PATH : PARTIAL_PATH;
  const key = makeKey(path, random);
  const body = Buffer.from(JSON.stringify({ amount: 1, text: "x".repeat(random.int(0, 2_000)) }));
  const tries = Array.from(
    { length: random.int(1, MOST_TRIES) },
    () => () => send(run, path, key, body, random, isCalm),
  );
  if (random.chance(0.3)) await Promise.all(tries.map((one) => one()));
  else for (const one of tries) await one();
}

/** One that the route does not protect. */
function makeKey(path: string, random: Random): string {
  const key = `${OBSERVED_KEYS}${random.hex(16)}`;
  return path === PARTIAL_PATH && isProtected(path, key) ? makeKey(path, random) : key;
}

async function send(
  run: Run,
  target: string,
  key: string,
  body: Buffer,
  random: Random,
  isCalm: boolean,
): Promise<void> {
  sent += 1;
  const id = `o${sent}`;
  const step = random.weighted<ObservedStep>([
    [8, "act"],
    [2, "act-late"],
    [1, "act-large"],
    [3, "known"],
    [2, "refuse"],
    [1, "act-reset"],
    [1, "cut"],
  ]);
  const partial = !isCalm && random.chance(0.05);
  const leavesAfterMs = !isCalm && random.chance(0.15) ? random.int(0, 400) : null;
  const headers: HeaderPair[] = [
    // Both forms are one key.
    ["Idempotency-Key", random.chance(0.5) ? key : `"${key}"`],
    ["X-Key", key],
    ["Authorization", "Bearer observed"],
    [REQUEST_HEADER, id],
    [PLAN_HEADER, JSON.stringify([step])],
    ["Content-Type", "application/json"],
    ["Content-Length", String(body.length)],
  ];
  const port = await run.port();
  const sentAt = Date.now();
  const request = openRequest({
    host: "127.0.0.1",
    port,
    method: "POST",
    target,
    headers,
    body: partial ? body.subarray(0, Math.floor(body.length / 2)) : body,
    timeoutMs: PATIENCE_MS,
  });
  let hasLeft = false;
  const leave = (): void => {
    hasLeft = true;
    request.reset();
  };
  if (partial) void request.sent.then(leave, () => undefined);
  const timer = leavesAfterMs === null ? undefined : setTimeout(leave, leavesAfterMs);
  const ending = await readEnding(request.response, () => hasLeft);
  clearTimeout(timer);
  run.report({
    type: "observed-call",
    id,
    key,
    partial,
    headers: digestSent(headers),
    bodySha256: sha256(body),
    sentAt,
    endAt: Date.now(),
    ending,
  });
}

const reported = v.object({
  routes: v.array(v.object({ route: v.string(), seen: v.number(), counts: v.record(v.string(), v.number()) })),
});

/** `null`: there is no whole answer. */
async function readReport(run: Run): Promise<ObservedReport | null> {
  const response = await askOperators(await run.port(), "GET", "/report");
  if (response?.status !== 200) return null;
  const { routes } = v.parse(reported, JSON.parse(response.body.toString()));
  const observed = routes.filter(({ route }) => route === OBSERVED_PATH || route === PARTIAL_PATH);
  if (observed.length < 2) throw new Error("the report does not know the observed routes");
  const sum = (count: (route: (typeof observed)[number]) => number): number =>
    observed.reduce((before, route) => before + count(route), 0);
  return {
    type: "observed-report",
    at: Date.now(),
    seen: sum(({ seen }) => seen),
    doubled: sum(({ counts }) => counts["effect:doubled"] ?? 0),
    deduplicated: sum(({ counts }) => counts["effect:deduplicated"] ?? 0),
  };
}
