// What `createLookUp` and `createGiveUp` make of answers: nothing but the gateway's own word makes a new key safe.

import { describe, expect, it } from "vitest";
import { type ClientOptions, createGiveUp, createLookUp, IdempotencyError } from "../../../src/client/index.ts";
import type { Problem } from "../../../src/kernel/record/problem.ts";
import { problemResponse } from "../../../src/kernel/request/problem-response.ts";
import { virtualClock } from "./virtual-clock.ts";

const URL_SENT = "https://gateway.test/v1/orders/7?dry=1";

/** `"lost"` breaks the connection. */
type Step = "lost" | Problem | (() => Response);

const abandoned: Step = () => new Response(null, { status: 204, headers: { "Idempotency-Status": "abandoned" } });
const inFlight: Problem = { code: "cancel-refused", why: "in-flight", retryAfterMs: 1000 };
const ended: Problem = { code: "cancel-refused", why: "ended" };
const report =
  (members: object): Step =>
  () =>
    Response.json({ state: "completed", next: "send-same", safeNewKey: false, ...members });

/** The last step repeats. */
function scene(steps: readonly Step[], options: ClientOptions = {}) {
  const clock = virtualClock();
  const asked: string[] = [];
  const all: ClientOptions = {
    clock,
    ...options,
    fetch: (input, init) => {
      const { method, url, headers } = new Request(input, init);
      asked.push(`${method} ${url} ${headers.get("Authorization")}`);
      const step = steps[Math.min(asked.length, steps.length) - 1] ?? "lost";
      if (typeof step === "function") return Promise.resolve(step());
      if (typeof step === "object") return Promise.resolve(problemResponse(step, "k-1"));
      return Promise.reject(new TypeError("fetch failed"));
    },
  };
  const init = { method: "PATCH", headers: { Authorization: "Bearer a" } };
  return {
    asked,
    lookUp: () => clock.settle(createLookUp(all)(URL_SENT, "k 1", init)),
    giveUp: () => clock.settle(createGiveUp(all)(URL_SENT, "k 1", init)),
  };
}

async function failure(promise: Promise<unknown>): Promise<IdempotencyError> {
  const end = await promise.catch((error: unknown) => error);
  if (end instanceof IdempotencyError) return end;
  throw new Error(`no IdempotencyError: ${JSON.stringify(end)}`);
}

describe("looking a key up", () => {
  it("asks at the address of the request's path, with its method and credential, again when an answer is lost", async () => {
    const { asked, lookUp } = scene(["lost", report({ status: 201 })]);
    expect(await lookUp()).toEqual({ state: "completed", next: "send-same", safeNewKey: false, status: 201 });
    const address = "https://gateway.test/.well-known/idempotency/requests/v1/orders/7?key=k+1&method=PATCH";
    expect(asked).toEqual([`GET ${address} Bearer a`, `GET ${address} Bearer a`]);
  });

  it.each([
    ["a page of another server", () => new Response("<p>", { status: 200 })],
    ["JSON of another", () => Response.json({ state: "completed" })],
    ["a redirect's end", () => new Response(null, { status: 204 })],
  ] as const)("takes no report from %s", async (_what, step) => {
    expect(await failure(scene([step]).lookUp())).toMatchObject({ outcome: "unknown", reason: "final", key: "k 1" });
  });
});

describe("giving a key up", () => {
  it("waits while an attempt is in flight, and says that a new key is safe when the gateway does", async () => {
    const { asked, giveUp } = scene([inFlight, "lost", inFlight, abandoned]);
    expect(await giveUp()).toEqual({ outcome: "no-effect", next: "new-key", status: null });
    expect(asked.map((one) => one.split(" ")[0])).toEqual(["DELETE", "DELETE", "DELETE", "DELETE"]);
  });

  it("looks when it is refused for good, and asks again when that has changed meanwhile", async () => {
    const changed = report({ state: "not-done", safeNewKey: true });
    const { asked, giveUp } = scene([ended, changed, ended, report({ state: "unknown", next: "wait" }), abandoned]);
    expect(await giveUp()).toMatchObject({ outcome: "no-effect" });
    expect(asked.map((one) => one.split(" ")[0])).toEqual(["DELETE", "GET", "DELETE", "GET", "DELETE"]);
  });

  it.each([
    [report({ status: 402 }), { outcome: "happened", next: "send-same", status: 402 }],
    [report({ next: "read-api" }), { outcome: "happened", next: "read-api", status: null }],
    [report({ state: "expired", next: "read-api" }), { outcome: "unknown", next: "read-api", status: null }],
    [report({ state: "unknown", next: "ask-operator" }), { outcome: "unknown", next: "ask-operator", status: null }],
    [report({ state: "unknown", next: "send-same" }), { outcome: "unknown", next: "send-same", status: null }],
  ])("says how the key ended: case %#", async (looked, end) => {
    expect(await scene([ended, looked]).giveUp()).toEqual(end);
  });

  it("takes another server's 204 for no word of the gateway", async () => {
    const elsewhere = (): Response => new Response(null, { status: 204 });
    expect(await failure(scene([elsewhere]).giveUp())).toMatchObject({ outcome: "unknown", reason: "final" });
  });

  it("ends when its time is over, and does not know", async () => {
    expect(await failure(scene([inFlight], { totalMs: 10_000 }).giveUp())).toMatchObject({
      outcome: "unknown",
      reason: "time",
    });
  });
});
