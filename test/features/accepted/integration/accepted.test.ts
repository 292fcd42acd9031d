// Accepted requests in a real shard: the 202, the attempts that nobody waits for, what a monitor is told, and what is left behind.

import { describe, expect, it, vi } from "vitest";
import { durationMs } from "../../../../src/kernel/record/units.ts";
import { MONITOR_CALL, type MonitorQuestion } from "../../../../src/features/accepted/monitor-question.ts";
import { encodeMessage, EXCHANGE_CALL, type ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { CHANGE_CALL } from "../../../../src/kernel/object/operator-calls.ts";
import { PLACES } from "../../../../src/features/accepted/object/accepted-attempts.ts";
import { ASYNC, asyncHead, SCHEDULE, FINGERPRINT_PREFIX, untilState } from "../../../support/integration/accepted.ts";
import {
  again,
  heldAnswer,
  messageOf,
  type Said,
  saidBy,
  ShardBench,
} from "../../../support/integration/shard-bench.ts";

async function look(bench: ShardBench, head: ExchangeHead, changes: Partial<MonitorQuestion> = {}): Promise<Said> {
  const { record, rules, request } = head;
  const verification: MonitorQuestion = {
    record,
    rules,
    echo: request.echo,
    fingerprintPrefix: FINGERPRINT_PREFIX,
    monitor: `/monitor?key=key&print=${FINGERPRINT_PREFIX}`,
    waitMs: durationMs(0),
    cancel: false,
    ...changes,
  };
  return saidBy(await bench.stub.fetch(MONITOR_CALL.url, { method: "POST", body: JSON.stringify(verification) }));
}

/** Its lock is longer than any pause of the alarm. */
function locked(): ExchangeHead {
  const head = asyncHead();
  return { ...head, rules: { ...head.rules, policy: { ...head.rules.policy, lockMs: durationMs(600_000) } } };
}

describe("an accepted request", () => {
  it("is answered with 202 at once, and its monitor gives the result as the replay does", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("done", { status: 201, headers: { "Cache-Control": "max-age=60" } }));
    bench.origin = held.origin;
    const head = asyncHead();
    const response = await bench.stub.fetch(EXCHANGE_CALL.url, { method: "POST", body: messageOf(head) });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      location: `/monitor?key=key&print=${FINGERPRINT_PREFIX}`,
      "retry-after": "1",
      "preference-applied": "respond-async",
      "idempotency-key": "key",
      "idempotency-status": "accepted",
    });
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 202,
      body: { status: "running", attempt: 1, monitor: `/monitor?key=key&print=${FINGERPRINT_PREFIX}` },
    });
    // A duplicate gets the same, whatever it prefers.
    expect(await bench.send(messageOf({ ...again(head), async: { ...ASYNC, accepts: false } }))).toMatchObject({
      status: 202,
    });
    expect((await look(bench, head)).status).toBe(202);
    held.release();
    await untilState(bench, head, "completed");
    const monitored = await look(bench, head);
    expect(monitored).toMatchObject({ status: 201, text: "done", isReplay: true });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "done", isReplay: true });
    expect(bench.calls).toEqual(["POST /act 1"]);
  });

  it("gives the result itself if it comes while the client waits", async () => {
    const bench = new ShardBench();
    expect(await bench.send(messageOf(asyncHead("retry", 5000)))).toMatchObject({
      status: 201,
      text: "answer 1",
      isReplay: false,
    });
  });

  it("tells nothing of another content, and nothing where there is no record", async () => {
    const bench = new ShardBench();
    const head = asyncHead();
    await bench.send(messageOf(head));
    await untilState(bench, head, "completed");
    const other = await look(bench, head, { fingerprintPrefix: "e".repeat(32) });
    expect(other.status).toBe(404);
    expect(await look(bench, asyncHead())).toEqual(other);
  });

  it("is tried again after a refusal, and given up after its last attempt", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Response("busy", { status: 503 });
    const head = asyncHead();
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 202 });
    await untilState(bench, head, "waiting");
    for (const attempt of [2, 3]) {
      const record = await bench.stored(head.record.id);
      expect(record).toMatchObject({ state: "waiting", attempt: { number: attempt - 1 } });
      expect(JSON.parse((await look(bench, head)).text)).toMatchObject({ status: "waiting", attempt: attempt - 1 });
      vi.setSystemTime(Date.now() + SCHEDULE.longestPauseMs);
      await bench.deliverAlarm();
      await bench.called(attempt);
      await untilState(bench, head, attempt === 3 ? "failed" : "waiting");
    }
    const given = await look(bench, head);
    expect(given).toMatchObject({ status: 502, code: "attempts-exhausted" });
    expect(JSON.parse(given.text)).toMatchObject({ lastStatus: 503, retryable: true });
    // A request that comes again begins anew.
    bench.origin = () => new Response("done");
    await bench.send(messageOf(again(head)));
    await untilState(bench, head, "completed");
    expect(bench.calls.at(-1)).toBe("POST /act 4");
  });

  it.each([10, 100_000])("goes on after the object is lost, with a body of %i bytes", async (size) => {
    const bench = new ShardBench();
    const bodies: number[] = [];
    bench.origin = async (request) => {
      bodies.push((await request.arrayBuffer()).byteLength);
      return bodies.length === 1 ? new Promise<Response>(() => undefined) : new Response("done");
    };
    const head = asyncHead();
    const body = new Uint8Array(size);
    const message = encodeMessage({ head, body });
    expect(await bench.send(message)).toMatchObject({ status: 202 });
    await bench.called(1);
    await bench.lose();
    vi.setSystemTime(Date.now() + 60_000);
    await bench.deliverAlarm();
    await bench.deliverAlarm();
    await bench.called(2);
    await untilState(bench, head, "completed");
    expect(bodies).toEqual([size, size]);
    await bench.deliverAlarm();
    const left = await bench.within((_ledger, { storage }) => [
      storage.sql.exec("SELECT count(*) AS n FROM records WHERE request IS NOT NULL OR accepted IS NOT NULL").one()[
        "n"
      ],
      storage.sql.exec("SELECT count(*) AS n FROM chunks").one()["n"],
    ]);
    expect(left).toEqual([0, 0]);
  });

  it("waits for its turn while as many others are in flight as may be", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("done"));
    bench.origin = held.origin;
    const heads = Array.from({ length: PLACES + 2 }, () => asyncHead());
    for (const head of heads) expect(await bench.send(messageOf(head))).toMatchObject({ status: 202 });
    await bench.called(PLACES);
    const states = await Promise.all(heads.map(async ({ record }) => (await bench.stored(record.id))?.state));
    expect(states.filter((state) => state === "waiting")).toHaveLength(2);
    held.release();
    for (const head of heads) await untilState(bench, head, "completed");
    expect(bench.calls).toHaveLength(PLACES + 2);
  });

  it("that waits for its turn is begun by the alarm within a minute if those before it are lost", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Promise<Response>(() => undefined);
    for (let sent = 0; sent < PLACES; sent += 1) await bench.send(messageOf(locked()));
    await bench.called(PLACES);
    const head = locked();
    await bench.send(messageOf(head));
    expect(await bench.alarmAt()).toBeLessThanOrEqual(Date.now() + 60_000);
    await bench.lose();
    bench.origin = () => new Response("done");
    await bench.deliverAlarm();
    await untilState(bench, head, "completed");
  });

  it("tells a client that waits for its turn of its result at once", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("done"));
    bench.origin = held.origin;
    for (let place = 0; place < PLACES; place += 1) await bench.send(messageOf(asyncHead()));
    await bench.called(PLACES);
    const last = asyncHead();
    await bench.send(messageOf(last));
    const looking = look(bench, last, { waitMs: durationMs(5000) });
    held.release();
    expect(await looking).toMatchObject({ status: 200, text: "done" });
  });

  it("is cancelled while nothing is in flight, and only then", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("busy", { status: 503 }));
    bench.origin = held.origin;
    const head = asyncHead();
    await bench.send(messageOf(head));
    expect(await look(bench, head, { cancel: true })).toMatchObject({ status: 409, code: "cancel-refused" });
    held.release();
    await untilState(bench, head, "waiting");
    expect(await look(bench, head, { cancel: true, fingerprintPrefix: "e".repeat(32) })).toMatchObject({ status: 404 });
    expect(await look(bench, head, { cancel: true })).toMatchObject({ status: 204 });
    expect(await bench.stored(head.record.id)).toBeNull();
    expect(await look(bench, head)).toMatchObject({ status: 404 });
  });

  it("tells those who wait for it at once that it is cancelled", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Response("busy", { status: 503 });
    const head = asyncHead();
    await bench.send(messageOf(head));
    await untilState(bench, head, "waiting");
    const looking = look(bench, head, { waitMs: durationMs(600_000) });
    expect(await look(bench, head, { waitMs: durationMs(50) })).toMatchObject({ status: 202 });
    expect(await look(bench, head, { cancel: true })).toMatchObject({ status: 204 });
    expect(await looking).toMatchObject({ status: 404 });
  });

  it("of a route that verifies: its monitor asks the origin as a retry does, without the alarm", async () => {
    const bench = new ShardBench();
    let status = 404;
    bench.origin = ({ method }) =>
      method === "GET" ? new Response("it took effect", { status }) : new Response("?", { status: 504 });
    const head = asyncHead("verify");
    await bench.send(messageOf(head));
    await untilState(bench, head, "unknown");
    const waiting = { waitMs: durationMs(60_000) };
    // Within the lock the attempt may still be in flight.
    expect(await look(bench, head, waiting)).toMatchObject({ status: 409, code: "outcome-unknown" });
    status = 200;
    expect(await look(bench, head, waiting)).toMatchObject({ status: 200, text: "it took effect" });
    expect(await look(bench, head)).toMatchObject({ status: 200, text: "it took effect" });
    expect(bench.calls.map((call) => call.split(" ")[0])).toEqual(["POST", "GET", "GET"]);
  });

  it("of a route that verifies: looks that do not wait take no places from others while the origin is asked", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("it took effect"));
    bench.origin = (request, number) =>
      request.method === "GET" ? held.origin(request, number) : new Response("?", { status: 504 });
    const head = asyncHead("verify");
    await bench.send(messageOf(head));
    await untilState(bench, head, "unknown");
    const looks = await Promise.all(Array.from({ length: 150 }, () => look(bench, head)));
    expect(new Set(looks.map(({ code }) => code))).toEqual(new Set(["outcome-unknown"]));
    const retrying = bench.send(messageOf(again(head)));
    await bench.called(2);
    held.release();
    expect(await retrying).toMatchObject({ status: 200, text: "it took effect" });
  });

  it("of a route that verifies: a retry asks with its own credential in the form that the key had first", async () => {
    const bench = new ShardBench();
    bench.origin = ({ method, url, headers }) => {
      if (method !== "GET") return new Response("?", { status: 504 });
      if (headers.get("authorization") !== "new") return new Response("no", { status: 401 });
      return new Response("it took effect", { status: decodeURIComponent(url).endsWith("/k:charge") ? 200 : 404 });
    };
    const { call, verification, ...others } = asyncHead("verify");
    if (verification === null) throw new Error("a route that does not verify");
    const key = { text: "k", form: "Idempotency-Key: {key}:charge" };
    const keyed = "https://api.example/%7Bkey%7D";
    const head = { ...others, call: { ...call, key }, verification: { ...verification, keyed } };
    await bench.send(messageOf(head));
    await untilState(bench, head, "unknown");
    const renamed = { ...call, key: { ...key, form: "Idempotency-Key: {key}:refund" } };
    const renewed = { ...verification, keyed, headers: [["authorization", "new"]] as const };
    const retry = { ...again(head), call: renamed, verification: renewed };
    expect(await bench.send(messageOf(retry))).toMatchObject({ status: 200, text: "it took effect" });
  });

  it("of a route that verifies: a retry with a new credential is heard although a monitor's question is under way", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("no", { status: 401 }));
    bench.origin = (request, number) => {
      if (request.method !== "GET") return new Response("?", { status: 504 });
      const isNew = request.headers.get("authorization") === "new";
      return isNew ? new Response("it took effect") : held.origin(request, number);
    };
    const head = asyncHead("verify");
    const { verification } = head;
    if (verification === null) throw new Error("a route that does not verify");
    await bench.send(messageOf(head));
    await untilState(bench, head, "unknown");
    await look(bench, head);
    await bench.called(2);
    const renewed = { ...verification, headers: [["authorization", "new"]] as const };
    const retrying = bench.send(messageOf({ ...again(head), verification: renewed }));
    // These come after it.
    for (let looks = 0; looks < 10; looks += 1) await look(bench, head);
    held.release();
    expect(await retrying).toMatchObject({ status: 200, text: "it took effect" });
  });

  it("of a route that holds stays unknown, and goes on when an operator has released it", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Response("?", { status: 504 });
    const head = asyncHead("hold");
    await bench.send(messageOf(head));
    await untilState(bench, head, "unknown");
    expect(await look(bench, head)).toMatchObject({ status: 409, code: "outcome-unknown" });
    bench.origin = () => new Response("done");
    const event = { type: "release", by: "admin", reason: "it had no effect" } as const;
    const change = encodeMessage({
      head: { id: head.record.id, event, headers: [] },
      body: new Uint8Array(),
    });
    await bench.stub.fetch(CHANGE_CALL.url, { method: "POST", body: change });
    vi.setSystemTime(Date.now() + 60_000);
    await bench.deliverAlarm();
    await untilState(bench, head, "completed");
    expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
  });
});
