// An operator and a key with an unknown outcome, with real processes: the origin is killed during a call, the list shows the
// record, and every retry gets the operator's decision. Each answer is checked against openapi.json.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../support/http.ts";
import { startOrigin } from "../../support/origin.ts";
import { until } from "../../support/e2e/scene.ts";
import { type OperatorScene, READ_TOKEN, startOperatorScene } from "../../support/e2e/operator-scene.ts";

const LOCK_MS = 3_000;

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 4, timeout: "2s", lock: `${LOCK_MS}ms`, scope: ["none"] }, [
    { path: "/hold/*", unknown: "hold" },
    { path: "/retry/*", unknown: "retry" },
    { path: "/other/*", shards: 3 },
    { path: "/listed/*", shards: 3 },
    { path: "/large/*", max_response_body: 1000 },
    { path: "/patient", timeout: "60s", lock: "70s" },
  ]);
});
afterAll(() => scene.close());

const summarySchema = v.looseObject({ id: v.string(), key: v.string(), route: v.string(), state: v.string() });
const pageSchema = v.object({ records: v.array(summarySchema), cursor: v.nullable(v.string()) });
type Summary = v.InferOutput<typeof summarySchema>;

/** All pages of a list. */
async function list(query: string): Promise<readonly Summary[]> {
  const records: Summary[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { json } = await scene.ask("GET", `/records?${query}${cursor === "" ? "" : `&cursor=${cursor}`}`);
    const page = v.parse(pageSchema, json);
    records.push(...page.records);
    ({ cursor } = page);
  }
  return records;
}

async function idOf(key: string): Promise<string> {
  const [record] = await list(`key=${encodeURIComponent(key)}`);
  if (record === undefined) throw new Error(`no record of ${key}`);
  return record.id;
}

/** A key of a `hold` route whose attempt broke off after the origin had read it. */
async function unknownKey(): Promise<{ readonly key: string; readonly path: string; readonly id: string }> {
  const key = freshKey();
  const path = `/hold/${key}`;
  const lost = await scene.send({ path, key, behave: { drop: "after-effect" } });
  expect(lost.status).toBe(502);
  return { key, path, id: await idOf(key) };
}

const RESOLUTION = {
  status: 201,
  headers: [
    ["content-type", "application/json"],
    ["x-settled-by", "ledger of the bank"],
    ["set-cookie", "a=1"],
  ],
  body: '{"id":"pay_1"}',
};

describe("a record whose outcome is unknown", () => {
  it("is listed, resolved, replayed, and has a complete timeline, when its origin was killed in the call", async () => {
    const doomed = await startOrigin();
    const own = await startOperatorScene({ origin: doomed.url, shards: 4, scope: ["none"] }, [
      { path: "/hold/*", unknown: "hold" },
    ]);
    try {
      const key = freshKey();
      const message = { path: "/hold/payment", key };
      const lost = own.send({ ...message, behave: { hold: true } });
      await doomed.arrived(key);
      const running = v.parse(pageSchema, (await own.ask("GET", "/records?state=started")).json);
      expect(running.records).toMatchObject([{ key, state: "started", attempt: 1, expiresAt: null }]);
      await doomed.close();
      expect((await lost).status).toBe(502);

      const page = v.parse(pageSchema, (await own.ask("GET", "/records?state=unknown")).json);
      expect(page).toMatchObject({
        cursor: null,
        records: [{ key, route: "/hold/*", state: "unknown", status: null }],
      });
      expect((await own.send(message)).status).toBe(409);
      expect((await own.ask("GET", "/drain")).json).toMatchObject({ inFlight: 0, unknown: 1, failed: 0 });

      const id = page.records[0]?.id ?? "";
      const reason = "the bank's statement shows it";
      const resolved = await own.ask("POST", `/records/${id}/resolve`, {
        body: { confirm: true, reason, response: RESOLUTION },
      });
      expect(resolved.json).toMatchObject({ id, state: "completed", status: 201, responseKept: true });

      const retry = await own.send(message);
      expect(retry).toMatchObject({ status: 201, complete: true });
      expect(retry.body.toString()).toBe(RESOLUTION.body);
      expect(headerValue(retry, "x-settled-by")).toBe("ledger of the bank");
      expect(headerValue(retry, "idempotent-replayed")).toBe("true");
      expect(headerValue(retry, "set-cookie")).toBeNull();

      expect((await own.ask("GET", `/records/${id}`)).json).toMatchObject({
        timeline: [
          { type: "attempt", attempt: 1, verdict: "ambiguous", reason: "origin-dropped" },
          { type: "change", action: "resolve", by: "admin", reason },
        ],
        response: { status: 201, headers: RESOLUTION.headers, sizeBytes: RESOLUTION.body.length },
      });
      expect((await own.ask("GET", `/records/${id}/body`)).text).toBe(RESOLUTION.body);
    } finally {
      await own.close();
      await doomed.close();
    }
  });

  it("may be released: the next request is the next attempt, once the lock has ended", async () => {
    const { key, path, id } = await unknownKey();
    const reason = "the bank has never heard of it";
    const released = await scene.ask("POST", `/records/${id}/release`, { body: { reason } });
    expect(released.json).toMatchObject({ state: "failed", attempt: 1 });
    await until(async () => {
      const { status } = await scene.send({ path, key, behave: { status: 201, body: "done" } });
      expect([201, 409]).toContain(status);
      return status === 201 ? true : null;
    }, "the second attempt");
    expect(await scene.origin.requests(key)).toMatchObject([
      { headers: expect.arrayContaining([["idempotency-attempt", "1"]]) },
      { headers: expect.arrayContaining([["idempotency-attempt", "2"]]) },
    ]);
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({
      timeline: [{ attempt: 1 }, { type: "change", action: "release", reason }, { attempt: 2, verdict: "result" }],
    });
  });
});

describe("a change", () => {
  it("is refused while an attempt is in flight, and does not affect the attempt", async () => {
    const key = freshKey();
    const first = scene.send({ path: "/patient", key, behave: { hold: true, status: 201, body: "first" } });
    await scene.origin.arrived(key);
    const id = await idOf(key);
    for (const [action, extra] of [
      ["release", {}],
      ["resolve", { response: RESOLUTION, confirm: true }],
      ["forget", {}],
    ] as const) {
      const refused = await scene.ask("POST", `/records/${id}/${action}`, { body: { reason: "hurry", ...extra } });
      expect(refused).toMatchObject({ status: 409, json: { code: "change-refused", retryable: true } });
      // The lock that is in the way.
      expect(Number(refused.headers.get("retry-after"))).toSatisfy((s: number) => s > 0 && s <= 71);
    }
    await scene.origin.release(key);
    expect((await first).body.toString()).toBe("first");
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ timeline: [{ verdict: "result" }] });
  });

  it("is refused while an attempt still reads its answer, although the record is settled", async () => {
    const key = freshKey();
    const chunks = ["x".repeat(5000), "y"];
    const first = scene.send({ path: "/large/report", key, behave: { status: 201, chunks, holdBody: 1 } });
    await until(async () => ((await list(`key=${key}&state=completed`)).length === 1 ? true : null), "the result");
    const forget = `/records/${await idOf(key)}/forget`;
    expect((await scene.ask("POST", forget, { body: { reason: "hurry" } })).status).toBe(409);
    await scene.origin.release(key);
    expect((await first).body.toString()).toBe(chunks.join(""));
    await until(async () => {
      const { status } = await scene.ask("POST", forget, { body: { reason: "done" } });
      return status === 200 ? true : null;
    }, "its end");
  });

  it("does not have to wait for a lock that the origin's refusal has ended", async () => {
    const key = freshKey();
    await scene.send({ path: "/hold/refused", key, behave: { status: 503 } });
    const id = await idOf(key);
    const { json } = await scene.ask("GET", `/records/${id}`);
    const { startedAt, lockedUntil } = v.parse(v.object({ startedAt: v.string(), lockedUntil: v.string() }), json);
    expect(Date.parse(lockedUntil) - Date.parse(startedAt)).toBeLessThan(LOCK_MS);
    const resolved = await scene.ask("POST", `/records/${id}/resolve`, {
      body: { confirm: true, reason: "x", response: RESOLUTION },
    });
    expect(resolved.status).toBe(200);
    const forgotten = await scene.ask("POST", `/records/${id}/forget`, { body: { reason: "x" } });
    expect(forgotten.json).toEqual({ forgotten: true });
  });

  it("never replaces a first answer, which can only be forgotten", async () => {
    const message = { path: "/retry/done", key: freshKey() };
    await scene.send(message);
    const id = await idOf(message.key);
    for (const [action, extra] of [
      ["release", {}],
      ["resolve", { response: RESOLUTION, confirm: true }],
    ] as const) {
      const refused = await scene.ask("POST", `/records/${id}/${action}`, { body: { reason: "no", ...extra } });
      expect(refused).toMatchObject({ status: 409, json: { code: "change-refused", retryable: false } });
      expect(refused.headers.get("retry-after")).toBeNull();
    }
    const reason = "a test key of the partner's";
    expect((await scene.ask("POST", `/records/${id}/forget`, { body: { reason } })).json).toEqual({ forgotten: true });
    expect((await scene.ask("GET", `/records/${id}`)).status).toBe(404);
    expect((await scene.ask("POST", `/records/${id}/forget`, { body: { reason } })).status).toBe(404);
    const log = scene.gateway.output();
    expect(log).toContain(id);
    expect(log).toContain(reason);
    expect(log).not.toContain(message.key);
    expect(headerValue(await scene.send(message), "idempotent-replayed")).toBeNull();
    expect(await scene.origin.effects(message.key)).toBe(2);
  });

  it("accepts a response of a megabyte, and reads no more of a request than it needs", async () => {
    const { key, path, id } = await unknownKey();
    const response = { status: 200, body: "x".repeat(1 << 20) };
    const large = { reason: "x".repeat(5 << 20) };
    expect((await scene.ask("POST", `/records/${id}/release`, { body: large })).status).toBe(413);
    expect(
      (await scene.ask("POST", `/records/${id}/resolve`, { body: { confirm: true, reason: "x", response } })).status,
    ).toBe(200);
    expect((await scene.send({ path, key })).body.byteLength).toBe(1 << 20);
  });
});

describe("a note", () => {
  it("is possible while an attempt is in flight, stays in order, and costs the record neither its state nor its response", async () => {
    const key = freshKey();
    const message = { path: "/patient", key };
    const first = scene.send({ ...message, behave: { hold: true, status: 201, body: "first" } });
    await scene.origin.arrived(key);
    const id = await idOf(key);
    const write = (text: string) => scene.ask("POST", `/records/${id}/note`, { body: { text } });
    const during = await write("asked the bank");
    expect(during).toMatchObject({ status: 200, json: { state: "started" } });
    await scene.origin.release(key);
    expect((await first).body.toString()).toBe("first");
    expect(await write("it was paid")).toMatchObject({
      status: 200,
      json: {
        state: "completed",
        responseKept: true,
        description: { headline: "The origin answered 201: the operation took effect." },
        timeline: [
          { type: "note", text: "asked the bank" },
          { verdict: "result" },
          { type: "note", text: "it was paid" },
        ],
      },
    });
    expect((await scene.send(message)).body.toString()).toBe("first");
    expect(await scene.origin.effects(key)).toBe(1);
    expect((await write(" ")).status).toBe(400);
    expect((await scene.ask("POST", `/records/${"0".repeat(64)}/note`, { body: { text: "x" } })).status).toBe(404);
  });

  it("says nothing of what was decided: a resolved record stays resolved, and a released one released", async () => {
    const { id } = await unknownKey();
    const body = { confirm: true, reason: "ledger", response: RESOLUTION };
    await scene.ask("POST", `/records/${id}/resolve`, { body });
    const noted = await scene.ask("POST", `/records/${id}/note`, { body: { text: "ticket 4711" } });
    expect(noted.json).toMatchObject({
      description: { headline: "Resolved." },
      timeline: [{ type: "attempt" }, { type: "change", action: "resolve" }, { type: "note", by: "admin" }],
    });
  });
});

describe("a preview", () => {
  it("of any action changes nothing, and refuses what the action itself would be refused", async () => {
    const { id } = await unknownKey();
    const preview = (action: string, body: object) =>
      scene.ask("POST", `/records/${id}/${action}`, { body: { ...body, preview: true } });
    const reason = "what if";
    expect(await preview("release", { reason })).toMatchObject({ status: 200, json: { state: "unknown" } });
    expect(await preview("note", { text: reason })).toMatchObject({ status: 200, json: { timeline: [{}] } });
    expect(await preview("forget", { reason })).toMatchObject({ status: 409, json: { code: "change-refused" } });
    const resolved = await preview("resolve", { reason, response: RESOLUTION });
    expect(resolved).toMatchObject({ status: 200, json: { preview: { status: RESOLUTION.status } } });
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "unknown", timeline: [{}] });
    await scene.ask("POST", `/records/${id}/resolve`, { body: { confirm: true, reason, response: RESOLUTION } });
    expect(await preview("release", { reason })).toMatchObject({ status: 409, json: { code: "change-refused" } });
    expect(await preview("resolve", { reason, response: RESOLUTION })).toMatchObject({ status: 409 });
  });
});

describe("the list", () => {
  it("finds by key, in every scope and whatever the shards of its route, in pages of any size", async () => {
    const keys = Array.from({ length: 7 }, freshKey);
    for (const key of keys) await scene.send({ path: "/listed/thing", key });
    for (const key of keys) expect(await list(`key=${key}`)).toMatchObject([{ key, route: "/listed/*" }]);
    for (const limit of [1, 2, 3, 500]) {
      const found = await list(`route=${encodeURIComponent("/listed/*")}&limit=${limit}`);
      expect(found.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    }
    expect(await list(`route=${encodeURIComponent("/listed/*")}&until=1h`)).toEqual([]);
    expect((await scene.ask("GET", "/records", { token: READ_TOKEN })).status).toBe(200);
  });

  it("names one record of a key by its id, also where routes with other shards have one each", async () => {
    const key = freshKey();
    await scene.send({ path: "/hold/thing", key, behave: { status: 201 } });
    await scene.send({ path: "/other/thing", key, behave: { drop: "after-effect" } });
    const records = await list(`key=${key}`);
    expect(records.map(({ route }) => route).toSorted()).toEqual(["/hold/*", "/other/*"]);
    for (const { id, route, state } of records) {
      expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ id, route, state });
    }
    const done = records.find(({ route }) => route === "/hold/*")?.id;
    await scene.ask("POST", `/records/${done}/forget`, { body: { reason: "the other one stays" } });
    expect(await list(`key=${key}`)).toMatchObject([{ route: "/other/*" }]);
  });

  it.each(["sate=failed", "cursor=nowhere", "cursor=open~shard-9-of-4~"])(
    "refuses what it does not understand: %s",
    async (query) => {
      const refused = await scene.ask("GET", `/records?${query}`);
      expect(refused).toMatchObject({ status: 400, json: { code: "operator-request-invalid" } });
    },
  );

  it("finds a single record only by its id", async () => {
    for (const id of ["0".repeat(64), "x", freshKey()]) {
      expect((await scene.ask("GET", `/records/${id}`)).status).toBe(404);
    }
  });
});

it("where every key has an object of its own, records are found by their key, and not listed", async () => {
  const own = await startOperatorScene({ shards: "per-key", scope: ["header:authorization"] }, [{ path: "/*" }]);
  try {
    const key = freshKey();
    for (const caller of ["a", "b"]) await own.send({ path: "/x", key, headers: [["Authorization", caller]] });
    const refused = await own.ask("GET", "/records");
    expect(refused).toMatchObject({ status: 400, json: { code: "operator-request-invalid" } });
    const { records } = v.parse(pageSchema, (await own.ask("GET", `/records?key=${key}`)).json);
    expect(records).toHaveLength(2);
    const [first, second] = records.map(({ id }) => id);
    await own.ask("POST", `/records/${first}/forget`, { body: { reason: "one caller's" } });
    expect((await own.ask("GET", `/records/${first}`)).status).toBe(404);
    expect((await own.ask("GET", `/records/${second}`)).json).toMatchObject({ key, state: "completed" });
    expect((await own.ask("GET", "/drain")).json).toEqual({
      inFlight: 0,
      waiting: 0,
      failed: 0,
      unknown: 0,
      atLeast: [],
      notAsked: { earlier: 0, missing: 0, oldestAnswerAt: null },
      unreachable: [],
      shards: [],
    });
  } finally {
    await own.close();
  }
});
