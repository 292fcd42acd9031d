import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFetch, type ClientOptions, IdempotencyError } from "../../../src/client/index.ts";
import type { Problem } from "../../../src/kernel/record/problem.ts";
import { problemResponse } from "../../../src/kernel/request/problem-response.ts";
import { virtualClock } from "./virtual-clock.ts";

const URL = "http://gateway.test/v1/payments";

interface Sent {
  readonly key: string | null;
  readonly type: string | null;
  readonly body: string;
}

/** `"lost"` breaks the connection, `"hang"` never answers, `"half"` breaks inside the body. */
type Step = "lost" | "hang" | "half" | Problem | ((key: string) => Response);

const CREATED: Step = (key) => new Response('{"id":1}', { status: 201, headers: { "Idempotency-Key": key } });
const REFUSED: Step = (key) => new Response("", { status: 503, headers: { "Idempotency-Key": key } });
const IN_FLIGHT: Step = { code: "in-flight", retryAfterMs: 4000 };
const HELD: Step = { code: "outcome-unknown", retryAfterMs: null };

/** The last step repeats. */
function scene(steps: readonly Step[], options: ClientOptions = {}) {
  const clock = virtualClock();
  const startMs = clock.now();
  const sent: Sent[] = [];
  const fetchLike = createFetch({
    clock,
    ...options,
    async fetch(input, init) {
      const request = new Request(input, init);
      const key = request.headers.get("Idempotency-Key");
      sent.push({ key, type: request.headers.get("Content-Type"), body: await request.text() });
      const step = steps[Math.min(sent.length, steps.length) - 1] ?? CREATED;
      // Not the Request's, which does not abort once the Request is collected as garbage.
      return answer(step, key ?? "", init?.signal ?? request.signal);
    },
  });
  return {
    sent,
    elapsedMs: () => clock.now() - startMs,
    send: (init: RequestInit = {}) => clock.settle(fetchLike(URL, { method: "POST", body: "{}", ...init })),
  };
}

function answer(step: Step, key: string, signal: AbortSignal): Promise<Response> | Response {
  if (typeof step === "function") return step(key);
  if (typeof step === "object") return problemResponse(step, key);
  if (step === "lost") throw new TypeError("fetch failed");
  if (step === "half") return new Response(halfBody(), { status: 201 });
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

function halfBody(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"id"')),
    pull: (controller) => controller.error(new TypeError("terminated")),
  });
}

async function failure(promise: Promise<unknown>): Promise<IdempotencyError> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof IdempotencyError) return error;
  throw new Error(`no IdempotencyError: ${String(error)}`);
}

describe("the request", () => {
  it("carries a new key for each operation", async () => {
    const { send, sent } = scene([CREATED]);
    await send();
    await send();
    expect(sent[0]?.key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(sent[1]?.key).not.toBe(sent[0]?.key);
  });

  it("carries the caller's key if one is given", async () => {
    const { send, sent } = scene(["lost", CREATED]);
    await send({ headers: { "idempotency-key": '"order-7"' } });
    expect(sent.map(({ key }) => key)).toEqual(['"order-7"', '"order-7"']);
  });

  it("is sent again with the same key and the same bytes, a form's boundary included", async () => {
    const { send, sent } = scene(["lost", IN_FLIGHT, REFUSED, CREATED]);
    const form = new FormData();
    form.set("amount", "4200");
    await send({ body: form });
    expect(sent).toHaveLength(4);
    expect(new Set(sent.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(sent[0]?.type).toMatch(/^multipart\/form-data; boundary=/);
  });

  it.each([{ body: "" }, { body: null }, { method: "DELETE", body: null }])(
    "is sent again without a body: %j",
    async (init) => {
      const { send, sent } = scene(["lost", IN_FLIGHT, CREATED]);
      expect((await send(init)).status).toBe(201);
      expect(sent.map(({ body }) => body)).toEqual(["", "", ""]);
    },
  );

  it("may be a Request, whose body is read once", async () => {
    const clock = virtualClock();
    const bodies: string[] = [];
    const fetchLike = createFetch({
      clock,
      async fetch(input, init) {
        bodies.push(await new Request(input, init).text());
        if (bodies.length === 1) throw new TypeError("fetch failed");
        return new Response("done");
      },
    });
    const response = await clock.settle(fetchLike(new Request(URL, { method: "POST", body: "abc" })));
    expect([await response.text(), ...bodies]).toEqual(["done", "abc", "abc"]);
  });

  it("is refused before anything is sent if its body is a stream", async () => {
    const { send, sent } = scene([CREATED]);
    await expect(send({ body: new Blob(["x"]).stream(), duplex: "half" })).rejects.toThrow(
      /stream, which cannot be sent again/,
    );
    expect(sent).toEqual([]);
  });
});

describe("the answer", () => {
  it("is the operation's answer, unread, whatever its status", async () => {
    const { send, sent } = scene([() => new Response("no such account", { status: 404 })]);
    const response = await send();
    expect([response.status, await response.text(), sent.length]).toEqual([404, "no such account", 1]);
  });

  it("is asked for again when its body breaks off", async () => {
    const { send, sent } = scene(["half", CREATED]);
    const response = await send();
    expect([await response.text(), sent.length]).toEqual(['{"id":1}', 2]);
  });

  it("is returned at its headers when the caller streams", async () => {
    const { send, sent } = scene(["half"], { streaming: true });
    const response = await send();
    await expect(response.text()).rejects.toThrow("terminated");
    expect(sent).toHaveLength(1);
  });
});

describe("the time", () => {
  it("waits as long as Retry-After asks, plus half a first pause of jitter", async () => {
    const { send, elapsedMs } = scene([IN_FLIGHT, CREATED]);
    await send();
    expect(elapsedMs()).toBe(4000 + 250);
  });

  it("ends a request that gets no answer, and sends it again", async () => {
    const { send, elapsedMs } = scene(["hang", CREATED], { tryMs: 3000 });
    await send();
    expect(elapsedMs()).toBe(3000 + 250);
  });

  it("ends early if the next pause would end too late", async () => {
    const { send, elapsedMs } = scene([{ code: "in-flight", retryAfterMs: 60_000 }], { totalMs: 50_000 });
    expect(await failure(send())).toMatchObject({ reason: "time", outcome: "unknown", tries: 1 });
    expect(elapsedMs()).toBe(0);
  });

  it("also ends the last request", async () => {
    const { send, elapsedMs } = scene(["hang"], { tryMs: 30_000, totalMs: 40_000 });
    expect(await failure(send())).toMatchObject({ outcome: "unknown", tries: 2 });
    expect(elapsedMs()).toBe(40_000);
  });
});

describe("giving up", () => {
  it("says at once what a final problem means, and carries it", async () => {
    const { send, sent } = scene([HELD]);
    const error = await failure(send({ headers: { "Idempotency-Key": "k-1" } }));
    expect(error).toMatchObject({ outcome: "unknown", reason: "final", key: "k-1", tries: 1 });
    expect(error.problem?.code).toBe("outcome-unknown");
    expect(await error.response?.json()).toMatchObject({ code: "outcome-unknown" });
    expect(error.message).toMatch(/^Outcome unknown: .* \(key k-1, 1 try\)\. outcome-unknown: /);
    expect(sent).toHaveLength(1);
  });

  it("waits for an outcome about which the origin is asked", async () => {
    const { send, sent } = scene([{ code: "outcome-unknown", retryAfterMs: 1000 }, CREATED]);
    expect((await send()).status).toBe(201);
    expect(sent).toHaveLength(2);
  });

  it("reports that nothing happened if every try says so", async () => {
    const error = await failure(
      scene([REFUSED, { code: "origin-unreachable", mayHaveActed: false }, REFUSED], { tries: 3 }).send(),
    );
    expect(error).toMatchObject({ outcome: "no-effect", reason: "tries", tries: 3 });
    expect(error.response?.status).toBe(503);
  });

  it("reports an unknown outcome if one try was lost", async () => {
    const error = await failure(scene(["lost", REFUSED], { tries: 3 }).send());
    expect(error).toMatchObject({ outcome: "unknown", tries: 3 });
  });

  it("names the cause if the last try was lost", async () => {
    const error = await failure(scene(["lost"], { tries: 2 }).send());
    expect(error).toMatchObject({ outcome: "unknown", response: null, problem: null });
    expect(error.cause).toEqual(new TypeError("fetch failed"));
  });

  it("reports that the operation happened if only its response was not kept", async () => {
    const error = await failure(scene(["lost", { code: "response-not-kept", originalStatus: 201 }]).send());
    expect(error).toMatchObject({ outcome: "happened", reason: "final", problem: { originalStatus: 201 } });
  });
});

describe("the caller's signal", () => {
  it("aborts with its own reason: before the start, during a request and during a pause", async () => {
    for (const steps of [["hang"], [IN_FLIGHT]] as const) {
      const { send, sent } = scene(steps);
      const controller = new AbortController();
      const promise = send({ signal: controller.signal });
      await Promise.resolve();
      while (sent.length === 0) await new Promise(setImmediate);
      controller.abort(new Error("enough"));
      await expect(promise).rejects.toThrow("enough");
      expect(sent).toHaveLength(1);
    }
    const { send, sent } = scene([CREATED]);
    await expect(send({ signal: AbortSignal.abort(new Error("early")) })).rejects.toThrow("early");
    expect(sent).toEqual([]);
  });
});

describe("an invalid option", () => {
  it.each([
    { tries: 0 },
    { tries: 1.5 },
    { totalMs: 0 },
    { tryMs: Number.NaN },
    { maxPauseMs: -1 },
    { totalMs: 2 ** 31 },
  ])("%j is named", (options) => {
    expect(() => createFetch(options)).toThrow(Object.keys(options)[0]);
  });
});

describe("any sequence of answers", () => {
  const step = fc.constantFrom<Step>("lost", "half", "hang", REFUSED, IN_FLIGHT, HELD, CREATED, {
    code: "origin-unreachable",
    mayHaveActed: false,
  });

  it("ends within its bounds, with one key, and claims nothing that a lost try leaves open", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 6 }),
        async (steps, tries) => {
          const { send, sent, elapsedMs } = scene(steps, { tries, tryMs: 5000, totalMs: 20_000 });
          const end = await send().then(
            () => "answered" as const,
            (error: unknown) => error,
          );
          const made = sent.map((_, index) => steps[Math.min(index, steps.length - 1)]);
          expect(sent.length).toBeLessThanOrEqual(tries);
          expect(elapsedMs()).toBeLessThanOrEqual(20_000);
          expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
          if (end === "answered") {
            expect(made.at(-1)).toBe(CREATED);
            return;
          }
          if (!(end instanceof IdempotencyError)) throw end;
          const isClear = made.every(
            (each) => each === REFUSED || (typeof each === "object" && each.code === "origin-unreachable"),
          );
          expect(end.outcome).toBe(isClear ? "no-effect" : "unknown");
        },
      ),
      { numRuns: 200 },
    );
  });
});
