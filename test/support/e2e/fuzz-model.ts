// A small model of what clients can see of a key's life, and the run that compares it with a gateway: a sequence of requests
// over few keys, scopes, bodies and routes, each with what the origin does if it is called. The model is independent of the
// gateway's code. Where the clock decides (a lock that ends), it knows an interval in which it accepts either answer.
//
//   sent            answered         sent + lock        answered + lock
//     ├── the claim ──┤                   ├── the lock ends ──┤
//                                 in-flight │     either      │ next attempt

import fc from "fast-check";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { Gateway } from "../gateway.ts";
import { freshKey } from "../http.ts";
import type { HeaderPair, RawResponse } from "../http.ts";
import type { Behaviour, OriginClient } from "../origin.ts";
import { isReplay, problemCode, problemOf, send } from "./guarantees-client.ts";

type Route = "retry" | "hold" | "short";

interface ModelRequest {
  readonly type: "request" | "burst";
  readonly key: number;
  readonly scope: "a" | "b";
  readonly body: "1" | "2";
  readonly route: Route;
  readonly outcome: keyof typeof OUTCOMES;
}

type Command = ModelRequest | { readonly type: "pass-locks" };

export type ModelRun = readonly Command[];

/** What the origin does, and what that means for the key. */
const OUTCOMES = {
  created: { behaviour: { status: 201 }, verdict: "result" },
  "not found": { behaviour: { status: 404, effect: false }, verdict: "result" },
  broken: { behaviour: { status: 500 }, verdict: "result" },
  elsewhere: { behaviour: { status: 303, headers: [["Location", "/elsewhere"]] }, verdict: "result" },
  "too many": { behaviour: { status: 429, effect: false }, verdict: "refused" },
  unavailable: { behaviour: { status: 503, effect: false }, verdict: "refused" },
  "bad gateway": { behaviour: { status: 502 }, verdict: "ambiguous" },
  "gateway timeout": { behaviour: { status: 504, effect: false }, verdict: "ambiguous" },
  "lost after the effect": { behaviour: { drop: "after-effect" }, verdict: "lost" },
  "lost before it was read": { behaviour: { drop: "before-read" }, verdict: "lost" },
  "cut short": { behaviour: { status: 201, drop: "mid-body" }, verdict: "lost" },
} as const satisfies Record<string, { behaviour: Behaviour; verdict: "result" | "refused" | "ambiguous" | "lost" }>;

const modelRequest: fc.Arbitrary<ModelRequest> = fc.record({
  type: fc.oneof({ weight: 5, arbitrary: fc.constant("request") }, { weight: 1, arbitrary: fc.constant("burst") }),
  key: fc.nat({ max: 2 }),
  scope: fc.constantFrom("a", "a", "b"),
  // Mostly the same request: otherwise most are a mismatch.
  body: fc.oneof({ weight: 5, arbitrary: fc.constant("1") }, { weight: 1, arbitrary: fc.constant("2") }),
  route: fc.constantFrom("retry", "hold", "short"),
  outcome: fc.constantFrom(...outcomeNames()),
});

function outcomeNames(): (keyof typeof OUTCOMES)[] {
  return [
    "created",
    "not found",
    "broken",
    "elsewhere",
    "too many",
    "unavailable",
    "bad gateway",
    "gateway timeout",
    "lost after the effect",
    "lost before it was read",
    "cut short",
  ];
}

/** A key keeps its route, except for a few requests that reuse it on another. */
export const modelRun: fc.Arbitrary<ModelRun> = fc
  .tuple(
    fc.array(fc.constantFrom<Route>("retry", "hold", "short"), { minLength: 3, maxLength: 3 }),
    fc.array(
      fc.oneof(
        { weight: 12, arbitrary: fc.tuple(modelRequest, fc.integer({ min: 0, max: 9 })) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
      { minLength: 1, maxLength: 20, size: "max" },
    ),
  )
  .map(([routes, drawn]) =>
    drawn.map((one): Command => {
      if (one === null) return { type: "pass-locks" };
      const [request, strays] = one;
      return strays === 0 ? request : { ...request, route: routes[request.key] ?? request.route };
    }),
  );

type Known =
  | { readonly state: "completed"; readonly status: number; readonly body: string }
  | { readonly state: "refused" }
  | { readonly state: "locked"; readonly earliestEndMs: number; readonly latestEndMs: number }
  | { readonly state: "unknown" };

interface ModelRecord {
  readonly fingerprint: string;
  readonly attempts: number;
  readonly known: Known;
}

/** Whether the origin is called; `either` if it depends on the clock. */
type Prediction =
  | { readonly kind: "start" | "in-flight" | "either" | "mismatch" | "outcome-unknown" }
  | { readonly kind: "replay"; readonly status: number; readonly body: string };

/** Plays one run with fresh keys, and compares every answer and every count. */
export async function playModel(
  run: ModelRun,
  gateway: Gateway,
  origin: OriginClient,
  lockMs: Readonly<Record<Route, number>>,
): Promise<void> {
  const runId = freshKey();
  const records = new Map<string, ModelRecord>();
  const effects = new Map<string, number>();

  for (const [index, command] of run.entries()) {
    if (command.type === "pass-locks") await passShortLocks();
    else await play(command, `${runId}/${index}`);
  }
  for (const [key, count] of effects) expect(await origin.effects(key)).toBe(count);

  /** The locks that end soon. The model does not wait for the others. */
  async function passShortLocks(): Promise<void> {
    const ends = [...records.values()].flatMap(({ known }) => (known.state === "locked" ? [known.latestEndMs] : []));
    const soon = ends.filter((end) => end - Date.now() < 5_000);
    while (soon.some((end) => Date.now() <= end)) await pause(10);
  }

  async function play(command: ModelRequest, text: string): Promise<void> {
    const { route, scope, body } = command;
    const key = `${runId}-${command.key}`;
    const id = `${key} ${scope}`;
    const fingerprint = `${route} ${body}`;
    const outcome = OUTCOMES[command.outcome];
    const behaviour: Behaviour = { ...outcome.behaviour, body: text };
    const headers: HeaderPair[] = [
      ["Authorization", scope],
      ["X-Behave", JSON.stringify(behaviour)],
    ];
    const count = command.type === "burst" ? 3 : 1;

    const callsBefore = (await callsOf(key, scope)).length;
    const sentAt = Date.now();
    const answers = await Promise.all(
      Array.from({ length: count }, () => {
        const answer = send(gateway.url, { path: `/model/${route}`, key, body, headers });
        return command.outcome === "cut short" ? answer.then(saidOrBroken, () => BROKEN) : answer.then(said);
      }),
    );
    const answeredAt = Date.now();
    const calls = (await callsOf(key, scope)).slice(callsBefore);

    const record = records.get(id);
    const prediction = predict(record, fingerprint, sentAt, answeredAt);
    const context = { command, record, prediction, answers };
    if (prediction.kind === "start" || (prediction.kind === "either" && calls.length > 0)) {
      expectStarts(calls.map(({ attempt }) => attempt));
      return;
    }
    expect({ ...context, calls: calls.length }).toEqual({ ...context, calls: 0 });
    for (const answer of answers) expect({ ...context, answer }).toEqual({ ...context, answer: expected() });

    function expected(): string {
      switch (prediction.kind) {
        case "mismatch":
          return "422 key-reused";
        case "outcome-unknown":
          return "409 outcome-unknown";
        case "replay":
          return `replay ${prediction.status} ${prediction.body}`;
        case "start":
        case "either":
        case "in-flight":
          return "409 in-flight";
      }
    }

    /** In a burst another attempt may follow at once where the origin refuses; never after any other outcome. */
    function expectStarts(attempts: readonly (string | null)[]): void {
      const first = (record?.attempts ?? 0) + 1;
      const most = outcome.verdict === "refused" ? count : 1;
      expect(attempts.length).toBeGreaterThanOrEqual(1);
      expect({ ...context, attempts: attempts.length }).toEqual({
        ...context,
        attempts: Math.min(attempts.length, most),
      });
      expect({ ...context, attempts }).toEqual({ ...context, attempts: attempts.map((_, at) => String(first + at)) });
      const own = answers.filter((answer) => answer === ownAnswer());
      expect({ ...context, own: own.length }).toEqual({ ...context, own: attempts.length });
      for (const answer of answers.filter((one) => !own.includes(one))) {
        expect(["409 in-flight", "409 outcome-unknown", `replay ${statusOf()} ${text}`]).toContain(answer);
      }
      const hasEffect: boolean =
        "effect" in outcome.behaviour ? outcome.behaviour.effect : command.outcome !== "lost before it was read";
      effects.set(key, (effects.get(key) ?? 0) + (hasEffect ? attempts.length : 0));
      records.set(id, { fingerprint, attempts: first + attempts.length - 1, known: known() });
    }

    function statusOf(): number {
      return "status" in outcome.behaviour ? outcome.behaviour.status : 0;
    }

    function ownAnswer(): string {
      return outcome.verdict === "lost" ? BROKEN : `first ${statusOf()} ${text}`;
    }

    function known(): Known {
      switch (outcome.verdict) {
        case "result":
          return { state: "completed", status: statusOf(), body: text };
        case "refused":
          return { state: "refused" };
        case "ambiguous":
        case "lost":
          if (route === "hold") return { state: "unknown" };
          return { state: "locked", earliestEndMs: sentAt + lockMs[route], latestEndMs: answeredAt + lockMs[route] };
      }
    }
  }

  async function callsOf(key: string, scope: string): Promise<readonly { readonly attempt: string | null }[]> {
    const calls = await origin.requests(key);
    return calls.filter(({ headers }) =>
      headers.some(([name, value]) => name.toLowerCase() === "authorization" && value === scope),
    );
  }
}

function predict(record: ModelRecord | undefined, fingerprint: string, sentAt: number, answeredAt: number): Prediction {
  if (record === undefined) return { kind: "start" };
  if (record.fingerprint !== fingerprint) return { kind: "mismatch" };
  const { known } = record;
  switch (known.state) {
    case "completed":
      return { kind: "replay", status: known.status, body: known.body };
    case "refused":
      return { kind: "start" };
    case "unknown":
      return { kind: "outcome-unknown" };
    case "locked":
      if (answeredAt < known.earliestEndMs) return { kind: "in-flight" };
      return { kind: sentAt > known.latestEndMs ? "start" : "either" };
  }
}

/** A short description of an answer, for readable differences. */
const BROKEN = "502 origin-dropped";

/**
 * An answer whose body comes later than its head has begun when the origin breaks off, so that no problem can say it. workerd then closes the
 * connection, before the head if both fall into one turn.
 */
function saidOrBroken(response: RawResponse): string {
  return response.complete ? said(response) : BROKEN;
}

function said(response: RawResponse): string {
  const code = problemCode(response);
  if (code === null) return `${isReplay(response) ? "replay" : "first"} ${response.status} ${response.body.toString()}`;
  expect(problemOf(response).status).toBe(response.status);
  return `${response.status} ${code}`;
}
