import { describe, expect, it } from "vitest";
import {
  type ClientOptions,
  createFetch,
  createFollow,
  IdempotencyError,
  monitorOf,
} from "../../../src/client/index.ts";
import type { Problem } from "../../../src/kernel/record/problem.ts";
import { problemResponse } from "../../../src/kernel/request/problem-response.ts";
import { virtualClock } from "./virtual-clock.ts";

const REQUESTED = "https://gateway.test/v1/reports";
const PATH = "/.well-known/idempotency/requests/v1/reports?key=k-1&print=0123456789abcdef0123456789abcdef";
const MONITOR = `https://gateway.test${PATH}`;

/** `"lost"` breaks the connection, `"hang"` never answers. */
type Step = "lost" | "hang" | Problem | (() => Response);

function accepted(headers: Readonly<Record<string, string>> = {}): Response {
  const all = {
    "Idempotency-Status": "accepted",
    "Idempotency-Key": "k-1",
    Location: PATH,
    "Retry-After": "5",
    ...headers,
  };
  return Response.json({ status: "running" }, { status: 202, headers: all });
}

const RESULT: Step = () =>
  new Response("done", { status: 201, headers: { "Idempotent-Replayed": "true", "Idempotency-Expires": "later" } });
/** A result too, although its status asks for a retry where nobody has kept it. */
const KEPT_FAILURE: Step = () => new Response("", { status: 502, headers: { "Idempotency-Expires": "later" } });

/** The last step repeats. */
function scene(steps: readonly Step[], options: ClientOptions = {}) {
  const clock = virtualClock();
  const startMs = clock.now();
  const looks: string[] = [];
  const follow = createFollow({
    clock,
    ...options,
    async fetch(input, init) {
      const { method, url, headers, signal } = new Request(input, init);
      looks.push(`${method} ${url} ${headers.get("Authorization")}`);
      const step = steps[Math.min(looks.length, steps.length) - 1] ?? RESULT;
      if (typeof step === "function") return step();
      if (typeof step === "object") return problemResponse(step, "k-1");
      if (step === "lost") throw new TypeError("fetch failed");
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  return {
    looks,
    elapsedMs: () => clock.now() - startMs,
    run: (init: RequestInit = {}) => clock.settle(follow(MONITOR, { headers: { Authorization: "Bearer a" }, ...init })),
  };
}

async function failure(promise: Promise<unknown>): Promise<IdempotencyError> {
  const error: unknown = await promise.catch((reason: unknown) => reason);
  if (error instanceof IdempotencyError) return error;
  throw new Error(`no IdempotencyError: ${String(error)}`);
}

describe("an accepted request", () => {
  it("is a success that names its monitor", async () => {
    const response = await createFetch({ fetch: async () => accepted() })(REQUESTED, { method: "POST", body: "{}" });
    expect(response.status).toBe(202);
    expect(monitorOf(response, REQUESTED)?.href).toBe(MONITOR);
  });

  it.each([
    ["of an API of its own", new Response(null, { status: 202, headers: { Location: PATH } })],
    [
      "with another status",
      new Response(null, { status: 201, headers: { Location: PATH, "Idempotency-Status": "accepted" } }),
    ],
    ["whose monitor is elsewhere", accepted({ Location: `https://other.test${PATH}` })],
    ["whose monitor is no monitor", accepted({ Location: "/v1/reports/7" })],
    ["whose monitor is no address", accepted({ Location: "https://" })],
  ])("is none: an answer %s", (_what, response) => {
    expect(monitorOf(response, REQUESTED)).toBeNull();
  });

  it("has no monitor where nobody knows which address it had", () => {
    expect(monitorOf(accepted())).toBeNull();
  });
});

describe("following a monitor", () => {
  it("looks as often as Retry-After asks, as the caller, until there is a result", async () => {
    const { run, looks, elapsedMs } = scene([() => accepted(), () => accepted(), RESULT]);
    const response = await run();
    expect([response.status, await response.text()]).toEqual([201, "done"]);
    expect(looks).toEqual(Array.from({ length: 3 }, () => `GET ${MONITOR} Bearer a`));
    expect(elapsedMs()).toBe(2 * (5000 + 250));
  });

  it("gives a stored result whatever its status", async () => {
    const { run, looks } = scene([KEPT_FAILURE]);
    expect((await run()).status).toBe(502);
    expect(looks).toHaveLength(1);
  });

  it("looks again after looks that failed, and gives up after too many in a row", async () => {
    const away: Step = { code: "store-unavailable" };
    const { run, looks } = scene(["lost", away, () => accepted(), "lost", away, RESULT], { tries: 3 });
    expect((await run()).status).toBe(201);
    expect(looks).toHaveLength(6);
    const error = await failure(scene([() => accepted(), "lost"], { tries: 3 }).run());
    expect(error).toMatchObject({ outcome: "unknown", reason: "tries", key: "k-1", tries: 4 });
  });

  it("ends in time, also where a look gets no answer", async () => {
    const waiting = scene([() => accepted()], { totalMs: 60_000 });
    expect(await failure(waiting.run())).toMatchObject({
      outcome: "unknown",
      reason: "time",
      response: { status: 202 },
    });
    expect(waiting.elapsedMs()).toBeLessThanOrEqual(60_000);
    const hanging = scene(["hang"], { totalMs: 40_000, tryMs: 30_000 });
    expect(await failure(hanging.run())).toMatchObject({ outcome: "unknown" });
    expect(hanging.elapsedMs()).toBeLessThanOrEqual(40_000);
  });

  it.each<[problem: Problem, outcome: string]>([
    [{ code: "attempts-exhausted", lastStatus: 503, mayHaveActed: true }, "unknown"],
    [{ code: "attempts-exhausted", lastStatus: 503, mayHaveActed: false }, "no-effect"],
    [{ code: "monitor-not-found" }, "unknown"],
    [{ code: "credential-invalid", why: "expired" }, "unknown"],
    [{ code: "outcome-unknown", retryAfterMs: null }, "unknown"],
    [{ code: "response-not-kept", originalStatus: 201 }, "happened"],
    [{ code: "key-expired", originalStatus: 201 }, "happened"],
  ])("ends at once with %j: %s", async (problem, outcome) => {
    const { run, looks } = scene([problem]);
    const error = await failure(run());
    expect(error).toMatchObject({ outcome, reason: "final", tries: 1, problem: { code: problem.code } });
    expect(looks).toHaveLength(1);
  });

  it("waits for an outcome about which the origin is asked", async () => {
    const { run, looks } = scene([{ code: "outcome-unknown", retryAfterMs: 1000 }, RESULT]);
    expect((await run()).status).toBe(201);
    expect(looks).toHaveLength(2);
  });

  it("aborts with the caller's reason, before the start and during a pause", async () => {
    const early = scene([RESULT]);
    await expect(early.run({ signal: AbortSignal.abort(new Error("early")) })).rejects.toThrow("early");
    expect(early.looks).toEqual([]);
    const controller = new AbortController();
    const { run, looks } = scene([() => accepted({ "Retry-After": "30" })]);
    const promise = run({ signal: controller.signal });
    while (looks.length === 0) await new Promise(setImmediate);
    controller.abort(new Error("enough"));
    await expect(promise).rejects.toThrow("enough");
    expect(looks).toHaveLength(1);
  });
});
