// The guarantees G1 to G8 (docs/guarantees.md), each against the whole gateway on workerd, in front of an origin in its own
// process that counts its effects. The tests never infer from an answer what the origin did.

import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { endpoint, freshKey, headerValue, openRequest, rawRequest } from "../../../support/http.ts";
import type { RawResponse } from "../../../support/http.ts";
import { startOrigin } from "../../../support/origin.ts";
import type { Behaviour, RecordedRequest, TestOrigin } from "../../../support/origin.ts";
import {
  essence,
  isReplay,
  open,
  problemCode,
  problemOf,
  send,
  until,
  untilNotInFlight,
} from "../../../support/e2e/guarantees-client.ts";
import { expectProblem, expectRetryAfter } from "../../../support/e2e/problem.ts";
import { newRows, readLedgers } from "../../../support/e2e/guarantees-ledger.ts";

const LOCK_MS = 2_500;
/** No shorter: second attempts have to succeed on a machine that stands still for a second. */
const TIMEOUT_MS = 2_000;
/** For routes on which nothing may expire while a test looks. */
const LONG = { timeout: "20s", lock: "40s" };
/** For routes on which tests wait for every deadline there is. */
const SHORT = { timeout: `${TIMEOUT_MS}ms`, idle_timeout: "2s", lock: `${LOCK_MS}ms` };
const RETENTION_MS = 3_000;
const EXPIRING = { ...SHORT, retention: `${RETENTION_MS}ms` };
/** Deadlines are kept to the millisecond, but this machine may be busy. */
const SLACK_MS = 10_000;

const ROUTES = [
  { path: "/reject", ...LONG },
  { path: "/wait", duplicate: "wait", wait: "20s", ...LONG },
  { path: "/exact", omit_headers: [], ...LONG },
  { path: "/small", max_response_body: 1_000, ...LONG },
  { path: "/held", unknown: "hold", ...LONG },
  { path: "/retry", unknown: "retry", ...SHORT },
  { path: "/hold", unknown: "hold", ...SHORT },
  { path: "/patient", unknown: "retry", duplicate: "wait", wait: "1s", ...SHORT },
  { path: "/expiring/default", ...EXPIRING },
  { path: "/expiring/retry", unknown: "retry", ...EXPIRING },
  { path: "/expiring/hold", unknown: "hold", unknown_retention: EXPIRING.retention, ...EXPIRING },
];

let origin: TestOrigin;
let gateway: Gateway;

beforeAll(async () => {
  origin = await startOrigin();
  const vars = { IDEMPOTENCY: { origin: origin.url, shards: 4 }, ROUTES };
  gateway = await startWorkerd({ vars, stateDir: await makeStateDir() });
});
afterAll(async () => {
  await gateway.stop();
  await rm(gateway.stateDir, { recursive: true, force: true });
  await origin.close();
});

/** Resolves once `count` of the answers have arrived. */
function settled(answers: readonly Promise<unknown>[], count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  const one = (): void => {
    left -= 1;
    if (left === 0) resolve();
  };
  for (const answer of answers) answer.then(one, one);
  return promise;
}

/** A whole exchange on another key: what was sent before it has reached the gateway, or is about to. */
async function roundTrip(): Promise<void> {
  const response = await send(gateway.url, { path: "/reject", key: freshKey() });
  expect(response.status).toBe(201);
}

/** From the origin's side: an attempt is over when its answer was written. */
function overlaps(attempts: readonly RecordedRequest[]): readonly RecordedRequest[] {
  return attempts.filter((attempt, index) => {
    const before = attempts[index - 1];
    return before !== undefined && attempt.arrivedAtMs < (before.answeredAtMs ?? before.arrivedAtMs);
  });
}

describe("G1 One at a time", () => {
  it("answers 49 of 50 parallel duplicates with in-flight, and has one effect, where duplicates are rejected", async () => {
    const key = freshKey();
    await origin.behave({ key }, { status: 201, hold: true });
    const answers = Array.from({ length: 50 }, () => send(gateway.url, { path: "/reject", key }));
    await origin.arrived(key);
    await settled(answers, 49);
    await origin.release(key);
    const responses = await Promise.all(answers);
    const refused = responses.filter(({ status }) => status === 409);
    expect(refused.map(problemCode)).toEqual(Array.from({ length: 49 }, () => "in-flight"));
    expect(responses.filter(({ status }) => status !== 409).map(({ status }) => status)).toEqual([201]);
    expect(await origin.requests(key)).toHaveLength(1);
    expect(await origin.effects(key)).toBe(1);
  });

  it("answers 50 parallel duplicates with the same bytes, and has one effect, where duplicates wait", async () => {
    const key = freshKey();
    const bodyBase64 = Buffer.from([0, 200, 13, 10, 255]).toString("base64");
    await origin.behave({ key }, { status: 201, bodyBase64, headers: [["ETag", '"1"']], hold: true });
    const requests = Array.from({ length: 50 }, () => open(gateway.url, { path: "/wait", key }));
    await Promise.all(requests.map(({ sent }) => sent));
    await origin.arrived(key);
    await roundTrip();
    await origin.release(key);
    const responses = await Promise.all(requests.map(({ response }) => response));
    const first = responses.find((response) => !isReplay(response));
    if (first === undefined) throw new Error("every answer says that it is a replay");
    expect(first).toMatchObject({ status: 201, complete: true, body: Buffer.from(bodyBase64, "base64") });
    expect(responses.map(essence)).toEqual(responses.map(() => essence(first)));
    expect(responses.filter(isReplay)).toHaveLength(49);
    expect(await origin.requests(key)).toHaveLength(1);
    expect(await origin.effects(key)).toBe(1);
  });

  it("never has two attempts in flight when duplicates wait and the origin refuses again and again", async () => {
    const key = freshKey();
    const refusal = (status: number): Behaviour => ({ status, effect: false, delayMs: 40 });
    const sequence = [refusal(503), refusal(429), refusal(425), refusal(503), { status: 201, delayMs: 40 }];
    await origin.behave({ key }, { sequence });
    const responses = await Promise.all(
      Array.from({ length: 30 }, () =>
        until(
          () => send(gateway.url, { path: "/wait", key }),
          ({ status }) => status === 201,
          SLACK_MS,
        ),
      ),
    );
    const attempts = await origin.requests(key);
    expect(attempts.map(({ attempt }) => attempt)).toEqual(["1", "2", "3", "4", "5"]);
    expect(overlaps(attempts)).toEqual([]);
    expect(responses.filter((response) => !isReplay(response))).toHaveLength(1);
    expect(await origin.effects(key)).toBe(1);
  });

  it("starts the next attempt only after the lock when duplicates wait and the origin is flaky", async () => {
    const key = freshKey();
    const sequence: Behaviour[] = [
      { status: 503, effect: false },
      { drop: "after-effect", delayMs: 30 },
      { status: 504, delayMs: 30 },
      { status: 201 },
    ];
    await origin.behave({ key }, { sequence });
    const clients = Array.from({ length: 10 }, () =>
      until(
        () => send(gateway.url, { path: "/patient", key }),
        ({ status }) => status === 201,
        2 * LOCK_MS + SLACK_MS,
      ),
    );
    await Promise.all(clients);
    const attempts = await origin.requests(key);
    expect(attempts.map(({ attempt }) => attempt)).toEqual(["1", "2", "3", "4"]);
    expect(overlaps(attempts)).toEqual([]);
    const [, dropped, timedOut, last] = attempts.map(({ arrivedAtMs }) => arrivedAtMs);
    // A claim is at most as old as the way from it to the origin, which takes long on a machine that stands still.
    const wayMs = 2_000;
    expect((timedOut ?? 0) - (dropped ?? 0)).toBeGreaterThan(LOCK_MS - wayMs);
    expect((last ?? 0) - (timedOut ?? 0)).toBeGreaterThan(LOCK_MS - wayMs);
  });

  it("keeps the lock of an attempt that outlives it, renewed well before its end", async () => {
    const key = freshKey();
    const before = await readLedgers(gateway.stateDir);
    const chunks = Array.from({ length: 12 }, (_, index) => ({ text: `${index};`, pauseMs: 600 }));
    await origin.behave({ key }, { status: 201, chunks });
    const sentAt = Date.now();
    const first = send(gateway.url, { path: "/retry", key });
    await origin.arrived(key);
    const ends = new Set<number>();
    while (Date.now() < sentAt + 2 * LOCK_MS) {
      const [row] = await newRows(gateway.stateDir, before);
      if (row?.state !== "started") throw new Error(`the attempt in flight is ${row?.state}`);
      ends.add(row.locked_until);
      expect(problemCode(await send(gateway.url, { path: "/retry", key }))).toBe("in-flight");
    }
    // Renewed once half of it has passed; on a machine that stands still a renewal may come later.
    const sorted = [...ends];
    const renewedAfterMs = sorted.slice(1).map((end, index) => end - (sorted[index] ?? 0));
    expect(Math.min(...renewedAfterMs)).toBeLessThan((3 / 4) * LOCK_MS);
    expect((await first).body.toString()).toBe("0;1;2;3;4;5;6;7;8;9;10;11;");
    expect(await origin.requests(key)).toHaveLength(1);
  });
});

describe("G2 First answer wins", () => {
  const answers: readonly (readonly [string, Behaviour])[] = [
    [
      "a binary 201 with an odd status text, repeated headers and cookies",
      {
        status: 201,
        statusText: "Made It",
        headers: [
          ["Location", "/things/1"],
          ["Set-Cookie", "a=1"],
          ["Set-Cookie", "b=2"],
          ["X-Two", "1"],
          ["X-Two", "2"],
        ],
        bodyBase64: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString("base64"),
      },
    ],
    ["a 204 without a body", { status: 204, headers: [["X-Nothing", "yes"]] }],
    ["a redirect that is not followed", { status: 303, headers: [["Location", "/elsewhere"]] }],
    ["an error with an empty body", { status: 404 }],
    ["a server error that is a result", { status: 500, statusText: "Oh No", body: "broken" }],
    ["a body that came in chunks", { status: 200, chunks: ["a", "b", { text: "c", pauseMs: 20 }] }],
  ];

  it.each(answers)("replays %s exactly, and does not ask the origin again", async (_name, first) => {
    const key = freshKey();
    await origin.behave({ key }, { sequence: [first, { status: 418, body: "something else" }] });
    const call = { path: "/exact", key };
    const answer = await send(gateway.url, call);
    expect(answer.status).toBe(first.status);
    if (first.statusText !== undefined) expect(answer.statusText).toBe(first.statusText);
    expect(isReplay(answer)).toBe(false);
    for (let retry = 0; retry < 3; retry += 1) {
      const replayed = await send(gateway.url, call);
      expect(isReplay(replayed)).toBe(true);
      expect(essence(replayed)).toEqual(essence(answer));
    }
    expect(await origin.requests(key)).toHaveLength(1);
    expect(await origin.effects(key)).toBe(1);
  });

  it("treats the quoted and the bare form of a key as the same key, and echoes each as it came", async () => {
    const key = freshKey();
    const bare = await send(gateway.url, { path: "/exact", key });
    const quoted = await send(gateway.url, { path: "/exact", key: `"${key}"` });
    expect([bare, quoted].map((one) => headerValue(one, "idempotency-key"))).toEqual([key, `"${key}"`]);
    expect(isReplay(quoted)).toBe(true);
    expect(quoted.body).toEqual(bare.body);
    expect(await origin.effects(key)).toBe(1);
  });
});

describe("G3 Claim before call", () => {
  it("has the claim on disk when the request arrives at the origin, so that a crash in that moment frees no key", async () => {
    const key = freshKey();
    const call = { path: "/retry", key };
    const before = await readLedgers(gateway.stateDir);
    await origin.behave({ key }, { sequence: [{ hold: true }, { status: 201 }] });
    const sentAt = Date.now();
    const lost = open(gateway.url, call);
    await origin.arrived(key);
    await gateway.kill9();
    await expect(lost.response).rejects.toThrow();
    expect(await newRows(gateway.stateDir, before)).toMatchObject([{ state: "started", attempt: 1 }]);

    gateway = await gateway.restart();
    const answer = await untilNotInFlight(gateway.url, call, LOCK_MS + SLACK_MS);
    expect(answer.status).toBe(201);
    const [first, second, ...more] = await origin.requests(key);
    expect([first?.attempt, second?.attempt, more.length]).toEqual(["1", "2", 0]);
    expect(second?.arrivedAtMs).toBeGreaterThanOrEqual(sentAt + LOCK_MS);
    await origin.release(key);
  });

  it("answers in-flight after such a crash, as long as the lock lasts", async () => {
    const key = freshKey();
    await origin.behave({ key }, { hold: true });
    open(gateway.url, { path: "/reject", key });
    await origin.arrived(key);
    await gateway.kill9();
    gateway = await gateway.restart();
    const answer = await send(gateway.url, { path: "/reject", key });
    expect(problemOf(answer)).toEqual(expect.objectContaining({ code: "in-flight", status: 409, retryable: true }));
    expect(Number(headerValue(answer, "retry-after"))).toBeGreaterThan(1);
    expect(await origin.requests(key)).toHaveLength(1);
    await origin.release(key);
  });
});

describe("G4 Durable before answered", () => {
  it("replays every answer that any client has seen, when the gateway is killed as the first byte arrives", async () => {
    const keys = Array.from({ length: 20 }, freshKey);
    for (const key of keys) await origin.behave({ key }, { status: 201, body: `of ${key}`, hold: true });
    const requests = keys.map((key) => open(gateway.url, { path: "/exact", key }));
    const responses = requests.map(({ response }) => response);
    await Promise.all(keys.map((key) => origin.arrived(key)));
    await origin.release();
    // Its head and its body come together.
    await Promise.any(responses);
    await gateway.kill9();

    const answers = await Promise.allSettled(responses);
    gateway = await gateway.restart();
    // A body that comes late is sent as a stream: then its client has seen a head, and no body that would have to be replayed.
    const reported = answers.flatMap((answer, index) => {
      const key = keys[index];
      return answer.status === "fulfilled" && answer.value.complete && key !== undefined
        ? [{ key, answer: answer.value }]
        : [];
    });
    expect(reported.length).toBeGreaterThan(0);
    for (const { key, answer } of reported) {
      const replayed = await send(gateway.url, { path: "/exact", key });
      expect(isReplay(replayed)).toBe(true);
      expect(essence(replayed)).toEqual(essence(answer));
      expect(await origin.effects(key)).toBe(1);
    }
  });
});

describe("G5 The client may leave", () => {
  it("keeps the result of a request whose client resets the connection while the origin works", async () => {
    const key = freshKey();
    const call = { path: "/reject", key };
    await origin.behave(
      { key },
      {
        sequence: [
          { status: 201, body: "first", hold: true },
          { status: 201, body: "second" },
        ],
      },
    );
    const left = open(gateway.url, call);
    await origin.arrived(key);
    left.reset();
    await roundTrip();
    expect(problemCode(await send(gateway.url, call))).toBe("in-flight");
    await origin.release(key);
    const answer = await untilNotInFlight(gateway.url, call, SLACK_MS);
    expect(answer).toMatchObject({ status: 201, body: Buffer.from("first") });
    expect(isReplay(answer)).toBe(true);
    const [attempt, ...more] = await origin.requests(key);
    expect(more).toEqual([]);
    expect(attempt?.cutOff).toBe(false);
  });

  it("keeps the result of a request whose client leaves in the middle of the origin's body", async () => {
    const key = freshKey();
    const call = { path: "/reject", key };
    await origin.behave({ key }, { status: 201, chunks: ["first ", "half"], holdBody: 1 });
    const left = open(gateway.url, call);
    await origin.arrived(key);
    left.reset();
    await roundTrip();
    await origin.release(key);
    const answer = await untilNotInFlight(gateway.url, call, SLACK_MS);
    expect(answer.body.toString()).toBe("first half");
    expect(isReplay(answer)).toBe(true);
    expect(await origin.effects(key)).toBe(1);
  });

  it("keeps the result for a waiting duplicate when the client that started the attempt leaves", async () => {
    const key = freshKey();
    await origin.behave({ key }, { status: 201, body: "kept", hold: true });
    const left = open(gateway.url, { path: "/wait", key });
    await origin.arrived(key);
    const waiting = open(gateway.url, { path: "/wait", key });
    await waiting.sent;
    await roundTrip();
    left.reset();
    await roundTrip();
    await origin.release(key);
    expect((await waiting.response).body.toString()).toBe("kept");
    expect(await origin.effects(key)).toBe(1);
  });
});

/** How a lost answer ends: with a problem, with an answer of the origin's, or, if its first bytes were already sent, by breaking off. */
function expectLost(response: RawResponse, key: string, endings: readonly string[], retryable: boolean): void {
  const code = response.complete ? (problemCode(response) ?? "the origin's") : "broken transfer";
  expect(endings).toContain(code);
  if (!code.startsWith("origin-")) return;
  expectProblem(response, { code, status: code === "origin-timeout" ? 504 : 502, retryable, echo: key });
  if (retryable) expectRetryAfter(response, LOCK_MS / 1_000 + 1);
}

/** The key counts as new again, which is possible only after its record is erased. */
async function expectFreeAfterRetention(path: string, key: string): Promise<void> {
  const call = { path, key };
  const answer = await until(
    () => send(gateway.url, call),
    (response) => response.status === 201 && !isReplay(response),
    RETENTION_MS + SLACK_MS,
  );
  expect(answer.status).toBe(201);
  const attempts = await origin.requests(key);
  expect(attempts.at(-1)?.attempt).toBe("1");
}

describe.concurrent("G6 Never two by guess", () => {
  /** How each may end. Whether an answer has begun when its body breaks off depends on the time between the two. */
  const losses: readonly (readonly [string, Behaviour, readonly string[]])[] = [
    ["the request is read", { drop: "after-read" }, ["origin-dropped"]],
    ["the connection breaks", { drop: "after-effect" }, ["origin-dropped"]],
    ["the body is cut short", { status: 201, body: "cut", drop: "mid-body" }, ["origin-dropped", "broken transfer"]],
    ["the origin does not answer in time", { status: 201, delayMs: 3 * LOCK_MS }, ["origin-timeout"]],
    ["the body stalls", { status: 201, chunks: ["a", { text: "b", pauseMs: 3 * LOCK_MS }] }, ["broken transfer"]],
    ["the origin's own gateway gives up", { status: 504, body: "proxy" }, ["the origin's"]],
  ];

  it.each(losses)("holds the key after %s: no second effect, and outcome-unknown", async (_name, loss, endings) => {
    const key = freshKey();
    const call = { path: "/hold", key };
    await origin.behave({ key }, { sequence: [loss, { status: 201 }] });
    const sentAt = Date.now();
    const first = await send(gateway.url, call);
    expectLost(first, key, endings, false);
    expect(headerValue(first, "idempotency-expires")).toBeNull();
    // Before and after the end of the lock.
    const answers: RawResponse[] = [];
    while (Date.now() < sentAt + LOCK_MS + 300) answers.push(await send(gateway.url, call));
    answers.push(await send(gateway.url, call));
    for (const answer of answers) {
      expectProblem(answer, { code: "outcome-unknown", status: 409, retryable: false, echo: key });
    }
    expect(await origin.requests(key)).toHaveLength(1);
    expect(await origin.effects(key)).toBe(1);
  });

  it.each(losses)(
    "retries after %s, but only once the lock has ended, as attempt 2 with the same key",
    async (_name, loss, endings) => {
      const key = freshKey();
      const call = { path: "/retry", key };
      await origin.behave({ key }, { sequence: [loss, { status: 201, body: "second" }] });
      const sentAt = Date.now();
      expectLost(await send(gateway.url, call), key, endings, true);
      const answer = await untilNotInFlight(gateway.url, call, LOCK_MS + SLACK_MS);
      expect(answer.body.toString()).toBe("second");
      const attempts = await origin.requests(key);
      expect(attempts.map(({ attempt }) => attempt)).toEqual(["1", "2"]);
      expect(attempts[1]?.arrivedAtMs).toBeGreaterThanOrEqual(sentAt + LOCK_MS);
      expect(isReplay(await send(gateway.url, call))).toBe(true);
    },
  );

  it("starts none after the retention either, on a route that says nothing of `unknown`", async () => {
    const [lost, done] = [freshKey(), freshKey()];
    const path = "/expiring/default";
    await origin.behave({ key: lost }, { sequence: [{ drop: "after-effect" }, { status: 201 }] });
    await send(gateway.url, { path, key: lost });
    // A key that is used later and has its answer: when it is forgotten, the retention of the other has passed too.
    await send(gateway.url, { path, key: done });
    await expectFreeAfterRetention(path, done);
    const answer = await send(gateway.url, { path, key: lost });
    expectProblem(answer, { code: "outcome-unknown", status: 409, retryable: false, echo: lost });
    expect(await origin.effects(lost)).toBe(1);
  });

  it("starts a single second attempt when many duplicates come at the end of the lock", async () => {
    const key = freshKey();
    const call = { path: "/retry", key };
    await origin.behave({ key }, { sequence: [{ drop: "after-effect" }, { status: 201, delayMs: 100 }] });
    await send(gateway.url, call);
    await Promise.all(Array.from({ length: 10 }, () => untilNotInFlight(gateway.url, call, LOCK_MS + SLACK_MS)));
    expect((await origin.requests(key)).map(({ attempt }) => attempt)).toEqual(["1", "2"]);
  });
});

describe("G7 Nobody else's answer", () => {
  const MARKER = "kept-secret-4711";
  const secret: Behaviour = { status: 201, statusText: MARKER, headers: [["X-Secret", MARKER]], body: MARKER };
  const alice = [["Authorization", "Bearer alice"]] as const;
  const others = [
    ["another credential", [["Authorization", "Bearer mallory"]]],
    ["a credential that is a part of it", [["Authorization", "Bearer alic"]]],
    ["an empty credential", [["Authorization", ""]]],
    ["no credential", []],
    [
      "the credential under another name",
      [
        ["X-Authorization", "Bearer alice"],
        ["Cookie", "authorization=Bearer alice"],
      ],
    ],
  ] as const;

  function everything({ statusText, headers, body }: RawResponse): string {
    return [statusText, ...headers.flat(), body.toString()].join("\n");
  }

  it.each(others)("never replays to %s: that is a request of its own", async (_name, headers) => {
    const key = freshKey();
    await origin.behave({ key }, { sequence: [secret, { status: 201, body: "your own" }] });
    const mine = await send(gateway.url, { path: "/exact", key, headers: alice });
    expect(everything(mine)).toContain(MARKER);
    const other = await send(gateway.url, { path: "/exact", key, headers });
    expect(isReplay(other)).toBe(false);
    expect(everything(other)).not.toContain(MARKER);
    expect(other.body.toString()).toBe("your own");
    expect((await origin.requests(key)).map(({ attempt }) => attempt)).toEqual(["1", "1"]);
    expect(essence(await send(gateway.url, { path: "/exact", key, headers: alice }))).toEqual(essence(mine));
  });

  it("tells another scope nothing of an attempt in flight", async () => {
    const key = freshKey();
    await origin.behave(
      { key },
      {
        sequence: [
          { ...secret, hold: true },
          { status: 201, body: "your own" },
        ],
      },
    );
    const mine = open(gateway.url, { path: "/reject", key, headers: alice });
    await origin.arrived(key);
    const other = await send(gateway.url, { path: "/reject", key });
    expect(other.body.toString()).toBe("your own");
    await origin.release(key);
    expect(everything(await mine.response)).toContain(MARKER);
  });

  it("reveals nothing of the stored response in the answer to a mismatch", async () => {
    const key = freshKey();
    await origin.behave({ key }, secret);
    await send(gateway.url, { path: "/exact", key });
    const answers = await Promise.all([
      send(gateway.url, { path: "/exact", key, body: "other" }),
      send(gateway.url, { path: "/exact", key, body: "" }),
      send(gateway.url, { path: "/exact?other", key }),
      send(gateway.url, { path: "/exact", key, method: "PATCH" }),
      send(gateway.url, { path: "/reject", key }),
    ]);
    for (const answer of answers) {
      expectProblem(answer, { code: "key-reused", status: 422, retryable: false, echo: key });
    }
    expect(answers.map(everything).join()).not.toContain(MARKER);
    expect(await origin.requests(key)).toHaveLength(1);
  });

  it("reveals nothing of the response in the answer in-flight", async () => {
    const key = freshKey();
    await origin.behave({ key }, { ...secret, chunks: [MARKER, MARKER], holdBody: 1 });
    const first = open(gateway.url, { path: "/reject", key });
    await origin.arrived(key);
    const answer = await send(gateway.url, { path: "/reject", key });
    expect(problemCode(answer)).toBe("in-flight");
    expect(everything(answer)).not.toContain(MARKER);
    await origin.release(key);
    expect(everything(await first.response)).toContain(MARKER);
  });

  it("reveals nothing of the response in the answer outcome-unknown", async () => {
    const key = freshKey();
    await origin.behave({ key }, { ...secret, status: 502 });
    expect(everything(await send(gateway.url, { path: "/held", key }))).toContain(MARKER);
    const answer = await send(gateway.url, { path: "/held", key });
    expect(problemCode(answer)).toBe("outcome-unknown");
    expect(everything(answer)).not.toContain(MARKER);
  });

  it("reveals nothing but the status of a response that was not kept", async () => {
    const key = freshKey();
    await origin.behave({ key }, { ...secret, body: MARKER.repeat(100) });
    expect((await send(gateway.url, { path: "/small", key })).body.toString()).toBe(MARKER.repeat(100));
    const answer = await send(gateway.url, { path: "/small", key });
    expect(problemCode(answer)).toBe("response-not-kept");
    expect(everything(answer)).not.toContain(MARKER);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ originalStatus: 201 });
    expect(await origin.effects(key)).toBe(1);
  });

  it("keeps keys apart whose text runs on into the credential", async () => {
    const key = freshKey();
    await origin.behave({ path: "/exact" }, { status: 201, body: "stored", headers: [["X-Secret", MARKER]] });
    await send(gateway.url, { path: "/exact", key, headers: [["Authorization", "xy"]] });
    const other = await send(gateway.url, { path: "/exact", key: `${key}x`, headers: [["Authorization", "y"]] });
    expect(isReplay(other)).toBe(false);
  });
});

describe("G8 No key is stuck forever", () => {
  it.concurrent("frees a completed key at the end of its retention, and not before", async () => {
    const key = freshKey();
    const first = await send(gateway.url, { path: "/expiring/retry", key });
    const completedBy = Date.now();
    expect(first.status).toBe(201);
    expect(isReplay(await send(gateway.url, { path: "/expiring/retry", key }))).toBe(true);
    await expectFreeAfterRetention("/expiring/retry", key);
    const [before, after, ...more] = await origin.requests(key);
    expect(more).toEqual([]);
    expect(after?.arrivedAtMs).toBeGreaterThanOrEqual((before?.arrivedAtMs ?? 0) + RETENTION_MS);
    expect(after?.arrivedAtMs).toBeLessThan(completedBy + RETENTION_MS + SLACK_MS);
  });

  it.concurrent("frees a held key at the end of unknown_retention, counted from the end of the lock", async () => {
    const key = freshKey();
    await origin.behave({ key }, { sequence: [{ drop: "after-effect" }, { status: 201 }] });
    const sentAt = Date.now();
    await send(gateway.url, { path: "/expiring/hold", key });
    expect(problemCode(await send(gateway.url, { path: "/expiring/hold", key }))).toBe("outcome-unknown");
    await expectFreeAfterRetention("/expiring/hold", key);
    const [, second] = await origin.requests(key);
    expect(second?.arrivedAtMs).toBeGreaterThanOrEqual(sentAt + LOCK_MS + RETENTION_MS);
  });

  it.concurrent("lets a refused key be tried again at once", async () => {
    const key = freshKey();
    await origin.behave({ key }, { sequence: [{ status: 503, effect: false }, { status: 201 }] });
    expect((await send(gateway.url, { path: "/held", key })).status).toBe(503);
    expect((await send(gateway.url, { path: "/held", key })).status).toBe(201);
    expect((await origin.requests(key)).map(({ attempt }) => attempt)).toEqual(["1", "2"]);
  });

  it.concurrent.each<[string, Behaviour, string]>([
    ["never sends headers", { hold: true }, "origin-timeout"],
    ["never ends its body", { status: 201, chunks: ["a", "b"], holdBody: 1 }, "broken transfer"],
  ])("ends an attempt at an origin that %s, within its deadline", async (_name, stuck, code) => {
    const key = freshKey();
    await origin.behave({ key }, { sequence: [stuck, { status: 201 }] });
    const sentAt = Date.now();
    const answer = await send(gateway.url, { path: "/retry", key });
    expectLost(answer, key, [code], true);
    expect(Date.now() - sentAt).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    expect((await untilNotInFlight(gateway.url, { path: "/retry", key }, LOCK_MS + SLACK_MS)).status).toBe(201);
    await origin.release(key);
  });

  it("ends attempts that a crash has left: retry runs again, hold is freed at last", async () => {
    const retried = freshKey();
    const held = freshKey();
    for (const key of [retried, held]) await origin.behave({ key }, { sequence: [{ hold: true }, { status: 201 }] });
    open(gateway.url, { path: "/expiring/retry", key: retried });
    open(gateway.url, { path: "/expiring/hold", key: held });
    await Promise.all([origin.arrived(retried), origin.arrived(held)]);
    await gateway.kill9();
    gateway = await gateway.restart();
    const answer = await untilNotInFlight(gateway.url, { path: "/expiring/retry", key: retried }, LOCK_MS + SLACK_MS);
    expect(answer.status).toBe(201);
    await expectFreeAfterRetention("/expiring/hold", held);
    await origin.release();
  });

  it("erases what has expired from the disk, without any request", async () => {
    const before = await readLedgers(gateway.stateDir);
    const keys = Array.from({ length: 10 }, freshKey);
    await Promise.all(keys.map((key) => send(gateway.url, { path: "/expiring/retry", key })));
    expect((await newRows(gateway.stateDir, before)).length).toBe(10);
    const gone = await until(
      () => newRows(gateway.stateDir, before),
      (rows) => rows.length === 0,
      RETENTION_MS + SLACK_MS,
    );
    expect(gone).toEqual([]);
  });

  it("gives up on a request whose client never finishes its body, and touches neither record nor origin", async () => {
    const key = freshKey();
    const stalled = openRequest({
      ...endpoint(gateway.url),
      method: "POST",
      target: "/reject",
      headers: [
        ["Idempotency-Key", key],
        ["Content-Length", "100"],
      ],
      body: "only this",
    });
    await stalled.sent;
    await roundTrip();
    const answer = await rawRequest({
      ...endpoint(gateway.url),
      method: "POST",
      target: "/reject",
      headers: [["Idempotency-Key", key]],
      body: "a whole body",
    });
    expect(answer.status).toBe(201);
    stalled.reset();
    expect(await origin.requests(key)).toHaveLength(1);
  });
});
