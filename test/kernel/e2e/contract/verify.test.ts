// `unknown = "verify"`: the gateway asks the origin whether a lost attempt took effect. The origin's report is the answer from
// then on; a report of no effect frees the key only once the attempt can no longer run. verify-alarm.test.ts tests the alarm,
// verify-request.test.ts the form of the question.

import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, type HeaderPair, headerValue } from "../../../support/http.ts";
import type { Behaviour } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";
import { openVerificationRows, type VerificationRows } from "../../../support/e2e/verification-rows.ts";
import {
  attempts,
  expectGiven,
  expectOpen,
  LOCKED,
  loseAnswer,
  verifications,
  SETTINGS,
  tellOf,
  VERIFY,
} from "../../../support/e2e/verify-scene.ts";

const LOCK_MS = 2_500;

let scene: Scene;
let rows: VerificationRows;
beforeAll(async () => {
  scene = await startScene(SETTINGS, [
    { path: "/brief/*", ...VERIFY, lock: `${LOCK_MS}ms` },
    { path: "/locked/*", ...LOCKED },
    { path: "/patient/*", ...LOCKED, timeout: "20s" },
    { path: "/small/*", ...LOCKED, max_response_body: 1_000 },
  ]);
  await scene.send({ path: "/locked/first", key: freshKey() });
  rows = openVerificationRows(scene.gateway);
});
afterAll(async () => {
  rows.close();
  await scene.close();
});

describe("an origin that has acted", () => {
  it("is asked once, with the caller's credential, and what it says is the answer from then on", async () => {
    const key = freshKey();
    const headers: readonly HeaderPair[] = [
      ["Authorization", "Bearer of the caller"],
      ["X-Tenant", "one"],
      ["Content-Type", "application/json"],
      ["Content-Language", "en"],
      ["If-Match", '"1"'],
      ["Range", "bytes=0-1"],
      ["Last-Event-ID", "1"],
      ["Idempotency-Attempt", "9"],
    ];
    const message = { path: "/locked/acted?a=b", key, headers };
    await loseAnswer(scene, message);
    const { id, ...lost } = rows.ofKey(key);
    expect(lost).toMatchObject({ state: "unknown", verification: expect.stringContaining("Bearer of the caller") });

    const body = gzipSync("what became of it");
    await tellOf(scene.origin, key, {
      status: 203,
      statusText: "Found It",
      headers: [
        ["Content-Type", "text/plain"],
        ["Content-Encoding", "gzip"],
        ["ETag", '"7"'],
        ["Idempotency-Expires", "never"],
      ],
      bodyBase64: body.toString("base64"),
    });
    const answer = await scene.send(message);
    expectGiven(answer, 203, body);
    expect(answer.statusText).toBe("Found It");
    expect(headerValue(answer, "content-encoding")).toBe("gzip");
    expect(headerValue(answer, "etag")).toBe('"7"');
    expect(new Date(headerValue(answer, "idempotency-expires") ?? "").getTime()).toBeGreaterThan(Date.now());
    await tellOf(scene.origin, key, { status: 500 });
    for (let again = 0; again < 2; again += 1) expectReplay(await scene.send(message), answer);

    const [verification, ...more] = await verifications(scene.origin, key);
    expect(more).toEqual([]);
    expect(verification).toMatchObject({ url: `/by-key/${key}`, attempt: null, body: { bytes: 0 } });
    const sent = new Map(verification?.headers.map(([name, value]) => [name.toLowerCase(), value]));
    expect(Object.fromEntries(sent)).toMatchObject({ authorization: "Bearer of the caller", "x-tenant": "one" });
    for (const [name] of headers.slice(2)) expect(sent.has(name.toLowerCase())).toBe(false);
    expect(await attempts(scene.origin, key)).toHaveLength(1);
    expect(await scene.origin.effects(key)).toBe(1);
    // The question contains a credential, so it is erased once the outcome is known.
    expect(rows.ofId(id)).toMatchObject({ state: "completed", verification: null, verify_at: null });
  });

  it("is asked once for all the duplicates that come at the same time", async () => {
    const message = { path: "/patient/x", key: freshKey() };
    await loseAnswer(scene, message);
    await tellOf(scene.origin, message.key, { status: 200, body: "for all", hold: true });
    const duplicates = Array.from({ length: 10 }, () => scene.open(message));
    await Promise.all(duplicates.map(({ sent }) => sent));
    await scene.origin.arrived(message.key, 2);
    // What was sent before has reached the shard when a whole exchange has passed.
    await scene.send({ path: "/locked/round-trip", key: freshKey() });
    await scene.origin.release(message.key);
    for (const answer of await Promise.all(duplicates.map(({ response }) => response))) {
      expectGiven(answer, 200, "for all");
    }
    expect(await verifications(scene.origin, message.key)).toHaveLength(1);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it.each([
    ["/locked/whole", 1 << 20, true],
    ["/locked/larger", (1 << 20) + 1, false],
    ["/small/whole", 1_000, true],
    ["/small/larger", 1_001, false],
  ])("%s: tells in %i bytes what became of it, which are kept: %s", async (path, bytes, isKept) => {
    const message = { path, key: freshKey() };
    await loseAnswer(scene, message);
    await tellOf(scene.origin, message.key, { status: 200, generated: { seed: "answer", bytes } });
    for (let again = 0; again < 2; again += 1) {
      const answer = await scene.send(message);
      if (isKept) {
        expect([answer.status, answer.complete, answer.body.length]).toEqual([200, true, bytes]);
        continue;
      }
      const echo = message.key;
      const problem = expectProblem(answer, { code: "response-not-kept", status: 409, retryable: false, echo });
      expect(problem["originalStatus"]).toBe(200);
    }
    expect(await verifications(scene.origin, message.key)).toHaveLength(1);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("is not asked by a request that is another one", async () => {
    const message = { path: "/locked/mismatch", key: freshKey() };
    await loseAnswer(scene, message);
    const reuse = await scene.send({ ...message, body: "something else" });
    expectProblem(reuse, { code: "key-reused", status: 422, retryable: false, echo: message.key });
    expect(await verifications(scene.origin, message.key)).toEqual([]);
  });
});

describe("an origin that knows of nothing", () => {
  it("never frees the key while the attempt may be in flight", async () => {
    const message = { path: "/locked/absent", key: freshKey() };
    await loseAnswer(scene, message);
    await tellOf(scene.origin, message.key, { status: 404 });
    for (let again = 0; again < 3; again += 1) expectOpen(await scene.send(message), message.key, 600);
    expect(await verifications(scene.origin, message.key)).toHaveLength(3);
    // It was in flight, and now it shows.
    await tellOf(scene.origin, message.key, { status: 200, body: "late" });
    expectGiven(await scene.send(message), 200, "late");
    expect(await attempts(scene.origin, message.key)).toHaveLength(1);
  });

  it("frees it once the lock has ended: attempt 2 runs and is not a replay", async () => {
    const message = { path: "/brief/absent", key: freshKey() };
    await scene.origin.behave({ key: message.key }, { sequence: [{ drop: "before-read" }, { status: 201 }] });
    await tellOf(scene.origin, message.key, { status: 404 });
    const lost = await scene.send(message);
    expectProblem(lost, { code: "origin-dropped", status: 502, retryable: true, echo: message.key });
    const { id, locked_until: lockedUntil } = rows.ofKey(message.key);
    const second = await until(async () => {
      const response = await scene.send(message);
      if (response.status !== 409) return response;
      expectOpen(response, message.key, 4);
      return null;
    }, "the second attempt");
    expectFirstAnswer(second, 201);
    expectReplay(await scene.send(message), second);
    const [first, again, ...more] = await attempts(scene.origin, message.key);
    expect([first?.attempt, again?.attempt, more]).toEqual(["1", "2", []]);
    expect(again?.arrivedAtMs).toBeGreaterThanOrEqual(lockedUntil);
    const last = (await verifications(scene.origin, message.key)).at(-1);
    expect(last?.arrivedAtMs).toBeGreaterThanOrEqual(lockedUntil);
    expect(last?.seq).toBeLessThan(again?.seq ?? 0);
    expect(await scene.origin.effects(message.key)).toBe(1);
    expect(rows.ofId(id)).toMatchObject({ state: "completed", attempt: 2, verification: null });
  });
});

describe.concurrent("an origin that does not say", () => {
  it.each<[string, Behaviour]>([
    ["410, which is not 404", { status: 410 }],
    ["a redirect, which is not followed", { status: 302, headers: [["Location", "/elsewhere"]] }],
    ["nothing in time", { status: 200, hold: true }],
    ["nothing, and resets", { drop: "after-read" }],
    ["nothing, and resets before it has read", { drop: "before-read" }],
    ["a body that is cut short", { status: 200, body: "half of it", drop: "mid-body" }],
    ["a body that never ends", { status: 200, chunks: ["half of it"], holdBody: 1 }],
  ])("%s: leaves it open, before the lock's end and after", async (_what, behaviour) => {
    const message = { path: "/brief/open", key: freshKey() };
    await tellOf(scene.origin, message.key, behaviour);
    await loseAnswer(scene, message);
    const { id } = rows.ofKey(message.key);
    expectOpen(await scene.send(message), message.key, 4);
    // Asked by the alarm, so after the lock's end.
    await rows.until(id, (row) => (row.verifications ?? 0) > 0, "a verification after the lock");
    expectOpen(await scene.send(message), message.key, 8);
    expect((await verifications(scene.origin, message.key)).length).toBeGreaterThanOrEqual(2);
    expect(await scene.origin.requests()).not.toContainEqual(expect.objectContaining({ path: "/elsewhere" }));
    await tellOf(scene.origin, message.key, { status: 201, body: "said at last" });
    const answer = await until(async () => {
      const response = await scene.send(message);
      return response.status === 201 ? response : null;
    }, "the answer");
    expectGiven(answer, 201, "said at last");
    expect(await attempts(scene.origin, message.key)).toHaveLength(1);
    expect(await scene.origin.effects(message.key)).toBe(1);
    await scene.origin.release(message.key);
  });
});
