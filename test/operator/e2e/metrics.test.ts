// The numbers that operators see after a known set of requests, with real processes: each is exact, the format is valid for a
// collector, and the log contains nothing of a request that does not belong there.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Metric, parseExposition, sumOf } from "../../support/exposition.ts";
import { freshKey, headerValue } from "../../support/http.ts";
import { expectProblem } from "../../support/e2e/problem.ts";
import { clientOf, until } from "../../support/e2e/scene.ts";
import {
  askGateway,
  BASE,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../support/e2e/operator-scene.ts";

const SECRET = "Bearer sk_live_never_in_a_log";
const BODY = '{"iban":"DE00-never-in-a-log"}';
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 4, timeout: "2s", lock: "2500ms", log: "all", server_timing: true }, [
    { path: "/counted/*" },
    { path: "/timed/*" },
    { path: "/waits/*", duplicate: "wait", wait: "2s" },
    { path: "/optional/*", key: "optional" },
    { path: "/keyless/*", key: "optional" },
    { path: "/small/*", max_request_body: "10B" },
    { path: "/quiet/*", log: "errors", server_timing: false },
    { path: "/traced/*" },
    { path: "/recent/*" },
    { path: "/held/*", unknown: "hold" },
  ]);
});
afterAll(() => scene.close());

async function scrape(one: Pick<OperatorScene, "gateway"> = scene): Promise<readonly Metric[]> {
  const reported = await askGateway(`${one.gateway.url}${BASE}/metrics`, "GET", { token: READ_TOKEN });
  expect(reported.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return parseExposition(reported.text);
}

/** Counts of one route by the value of a label. */
function byLabel(metrics: readonly Metric[], name: string, route: string, label: string): object {
  const values = new Set(metrics.flatMap((one) => (one.name === name ? [one.labels[label] ?? ""] : [])));
  const sums = [...values].map((value) => [value, sumOf(metrics, name, { route, [label]: value })] as const);
  return Object.fromEntries(sums.filter(([, sum]) => sum > 0));
}

describe("the metrics", () => {
  it("count every request once, by route and outcome, and every attempt and verdict", async () => {
    const key = freshKey();
    const path = "/counted/a";
    const send = (more: object = {}): Promise<{ readonly status: number }> => scene.send({ path, key, ...more });
    expect((await send()).status).toBe(201);
    // Two replays of the shard, and the rest from the isolate's memory; the metrics do not distinguish them.
    for (let time = 0; time < 5; time += 1) expect((await send()).status).toBe(201);
    expect((await send({ body: "other" })).status).toBe(422);
    expect((await scene.send({ path })).status).toBe(400);
    expect((await scene.send({ path, key: "no spaces here" })).status).toBe(400);

    const busy = freshKey();
    const first = scene.send({ path, key: busy, behave: { hold: true } });
    await scene.origin.arrived(busy);
    expect((await scene.send({ path, key: busy })).status).toBe(409);
    const during = await scrape();
    expect(sumOf(during, "onceway_calls_in_flight")).toBe(1);
    expect(sumOf(during, "onceway_records", { state: "started" })).toBe(1);
    expect(sumOf(during, "onceway_oldest_attempt_seconds")).toBeGreaterThan(0);
    await scene.origin.release(busy);
    expect((await first).status).toBe(200);

    const refused = freshKey();
    expect((await scene.send({ path, key: refused, behave: { status: 503 } })).status).toBe(503);
    expect((await scene.send({ path, key: refused })).status).toBe(201);
    expect((await scene.send({ path, key: freshKey(), behave: { status: 504 } })).status).toBe(504);
    expect((await scene.send({ path, key: freshKey(), behave: { drop: "after-effect" } })).status).toBe(502);

    const metrics = await scrape();
    expect(byLabel(metrics, "onceway_requests_total", "/counted/*", "outcome")).toEqual({
      first: 3,
      replay: 5,
      mismatch: 1,
      "key-missing": 1,
      "key-invalid": 1,
      "in-flight": 1,
      refused: 1,
      ambiguous: 1,
      "origin-dropped": 1,
    });
    expect(byLabel(metrics, "onceway_attempts_total", "/counted/*", "kind")).toEqual({ first: 5, again: 1 });
    expect(byLabel(metrics, "onceway_verdicts_total", "/counted/*", "verdict")).toEqual({
      result: 3,
      refused: 1,
      ambiguous: 2,
    });
    expect(sumOf(metrics, "onceway_origin_seconds_count", { route: "/counted/*" })).toBe(6);
    expect(sumOf(metrics, "onceway_gateway_seconds_count", { route: "/counted/*" })).toBe(15);
    expect(sumOf(metrics, "onceway_calls_in_flight")).toBe(0);
    expect(sumOf(metrics, "onceway_shard_up")).toBe(4);
    expect(sumOf(metrics, "onceway_shard_size_bytes")).toBeGreaterThan(4096);
  });

  it("also count answers that the Worker gives without the shard's decision", async () => {
    await scene.send({ path: "/small/a", key: freshKey() });
    await scene.send({ path: "/keyless/a" });
    const key = freshKey();
    const first = scene.send({ path: "/waits/a", key, behave: { hold: true } });
    await scene.origin.arrived(key);
    const second = scene.send({ path: "/waits/a", key });
    await scene.origin.release(key);
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    const metrics = await scrape();
    expect(byLabel(metrics, "onceway_requests_total", "/small/*", "outcome")).toEqual({ "body-too-large": 1 });
    expect(byLabel(metrics, "onceway_requests_total", "/keyless/*", "outcome")).toEqual({ "passed-through": 1 });
    expect(byLabel(metrics, "onceway_requests_total", "/waits/*", "outcome")).toEqual({ first: 1, replay: 1 });
  });

  it("count with an object for each key what Workers answer, and report nothing of what the objects hold", async () => {
    const own = await startOperatorScene({ shards: "per-key" }, [{ path: "/own/*" }]);
    try {
      const key = freshKey();
      for (let time = 0; time < 4; time += 1) await own.send({ path: "/own/a", key });
      await own.send({ path: "/own/a" });
      const metrics = await scrape(own);
      // The first two came from the object, which cannot be scraped.
      expect(byLabel(metrics, "onceway_requests_total", "/own/*", "outcome")).toEqual({ replay: 2, "key-missing": 1 });
      expect(metrics.filter(({ name }) => /records|size|alarm/.test(name))).toEqual([]);
    } finally {
      await own.close();
    }
  });

  it("count an attempt as lost when its process was killed, and start at zero in the new process", async () => {
    const own = await startOperatorScene({ shards: 1, timeout: "2s", lock: "2500ms" }, [
      { path: "/lost/*", unknown: "hold" },
    ]);
    try {
      const key = freshKey();
      await own.send({ path: "/lost/a", key: freshKey() });
      const doomed = own.send({ path: "/lost/a", key, behave: { hold: true } }).catch(() => null);
      await own.origin.arrived(key);
      await own.gateway.kill9();
      await doomed;
      const gateway = await own.gateway.restart();
      const again = { ...own, ...clientOf(gateway.url), gateway };
      try {
        await until(async () => {
          const { status, body } = await again.send({ path: "/lost/a", key });
          expect(status).toBe(409);
          return body.includes("outcome-unknown") ? true : null;
        }, "the end of the lock");
        // It is written down by the alarm: a request that only looks changes nothing.
        const metrics = await until(async () => {
          const some = await scrape(again);
          return sumOf(some, "onceway_verdicts_total") > 0 ? some : null;
        }, "the alarm");
        expect(byLabel(metrics, "onceway_verdicts_total", "/lost/*", "verdict")).toEqual({ lost: 1 });
        expect(sumOf(metrics, "onceway_requests_total", { outcome: "first" })).toBe(0);
        expect(sumOf(metrics, "onceway_records", { state: "unknown" })).toBe(1);
      } finally {
        await gateway.stop();
      }
    } finally {
      await own.close();
    }
  });
});

const recentSchema = v.object({
  exchanges: v.array(v.looseObject({ route: v.string(), outcome: v.string(), keyHash: v.nullable(v.string()) })),
  cursor: v.string(),
});
type Recent = v.InferOutput<typeof recentSchema>;

async function recent(cursor: string | null): Promise<Recent> {
  const { json } = await scene.ask("GET", `/recent${cursor === null ? "" : `?after=${cursor}`}`, { token: READ_TOKEN });
  return v.parse(recentSchema, json);
}

describe("the feed of exchanges", () => {
  it("shows each exchange once to a reader that returns with the cursor", async () => {
    let { cursor } = await recent(null);
    const key = freshKey();
    // Counted, and no exchange of the gateway's.
    await scene.send({ path: "/optional/recent" });
    for (let time = 0; time < 4; time += 1) await scene.send({ path: "/recent/a", key });
    await scene.send({ path: "/recent/a" });
    const seen: Recent["exchanges"] = [];
    await until(async () => {
      const page = await recent(cursor);
      ({ cursor } = page);
      expect(page.exchanges.filter(({ route }) => route === "/optional/*")).toEqual([]);
      seen.push(...page.exchanges.filter(({ route }) => route === "/recent/*"));
      return seen.length >= 5 ? true : null;
    }, "five exchanges");
    const rest = await recent(cursor);
    expect(rest.exchanges.filter(({ route }) => route === "/recent/*")).toEqual([]);
    expect(seen.map(({ outcome }) => outcome).toSorted()).toEqual([
      "first",
      "key-missing",
      "replay",
      "replay",
      "replay",
    ]);
    const first = seen.find(({ outcome }) => outcome === "first");
    expect(first).toMatchObject({ status: 201, attempt: 1, originMs: expect.any(Number) });
    expect(new Set(seen.flatMap(({ keyHash }) => keyHash ?? [])).size).toBe(1);
    expect(logged("/recent/*").length).toBeGreaterThan(0);
    expect(logged("/optional/*")).toEqual([]);
    expect((await scene.ask("GET", "/recent?after=yesterday")).status).toBe(400);
  });
});

const lineSchema = v.looseObject({ message: v.literal("exchange"), route: v.string(), outcome: v.string() });

/** The lines of one route. */
function logged(route: string): readonly v.InferOutput<typeof lineSchema>[] {
  return scene.gateway
    .output()
    .split("\n")
    .flatMap((line) => {
      const at = line.indexOf('{"message":"exchange"');
      return at === -1 ? [] : [v.parse(lineSchema, JSON.parse(line.slice(at)))];
    })
    .filter((line) => line.route === route);
}

describe("the log", () => {
  it("has one line for each exchange, with the trace and without data of the request", async () => {
    const key = freshKey();
    const headers = [
      ["Authorization", SECRET],
      ["traceparent", TRACEPARENT],
      ["tracestate", "vendor=1"],
    ] as const;
    const message = { path: "/traced/a?token=never-in-a-log", key, headers, body: BODY };
    await scene.send({ ...message, behave: { status: 503 } });
    await scene.send(message);
    await scene.send(message);
    const refused = await scene.send({ ...message, key: "key,never-in-a-log" });
    const { instance } = expectProblem(refused, { code: "key-invalid", status: 400, retryable: false, echo: null });
    await until(() => Promise.resolve(logged("/traced/*").length >= 4 ? true : null), "four lines");
    const lines = logged("/traced/*");
    expect(lines).toMatchObject([
      {
        outcome: "refused",
        status: 503,
        attempt: 1,
        traceId: TRACE_ID,
        shard: expect.stringMatching(/^shard-\d-of-4$/),
      },
      { outcome: "first", status: 201, attempt: 2, traceId: TRACE_ID, originMs: expect.any(Number) },
      {
        outcome: "replay",
        status: 201,
        attempt: 2,
        traceId: TRACE_ID,
        spanId: null,
        originMs: null,
        instance: expect.stringMatching(/^urn:uuid:/),
      },
      { outcome: "key-invalid", status: 400, keyHash: null, shard: "worker", instance },
    ]);
    const output = scene.gateway.output();
    for (const secret of [key, "never-in-a-log", "never_in_a_log", "sk_live"]) expect(output).not.toContain(secret);

    // Each attempt is a span of its own, and the log knows it.
    const requests = await scene.origin.requests(key);
    const parents = requests.map(({ headers: sent }) => sent.find(([name]) => name === "traceparent")?.[1]);
    expect(parents).toEqual(lines.slice(0, 2).map(({ spanId }) => `00-${TRACE_ID}-${String(spanId)}-01`));
    expect(new Set(parents).size).toBe(2);
    expect(parents).not.toContain(TRACEPARENT);
    expect(requests.flatMap(({ headers: sent }) => sent).filter(([name]) => name === "tracestate")).toEqual([
      ["tracestate", "vendor=1"],
      ["tracestate", "vendor=1"],
    ]);
  });

  it("does not pass on an invalid trace, and starts none", async () => {
    const key = freshKey();
    const headers = [
      ["traceparent", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
      ["tracestate", "vendor=1"],
    ] as const;
    await scene.send({ path: "/quiet/a", key, headers });
    const [request] = await scene.origin.requests(key);
    expect(request?.headers.filter(([name]) => name.startsWith("trace"))).toEqual([]);
  });

  it("has only errors on a route that logs errors only", async () => {
    const key = freshKey();
    await scene.send({ path: "/quiet/b", key });
    await scene.send({ path: "/quiet/b", key: freshKey(), behave: { drop: "after-effect" } });
    await until(() => Promise.resolve(logged("/quiet/*").length >= 1 ? true : null), "a line");
    expect(logged("/quiet/*")).toMatchObject([{ outcome: "origin-dropped", status: 502 }]);
  });
});

describe("Server-Timing", () => {
  it("shows where the time went, beside the origin's own entries", async () => {
    const key = freshKey();
    const path = "/timed/a";
    const first = await scene.send({ path, key, behave: { headers: [["Server-Timing", "db;dur=5"]] } });
    expect(headerValue(first, "server-timing")).toMatch(
      /^db;dur=5, origin;dur=\d+, gateway;dur=\d+, hop;dur=\d+(?:, shard;desc="local")?$/,
    );
    // From the shard, and then from the isolate's memory, to which there is no way.
    for (const hop of [/, hop;dur=\d+, shard;desc="local"$/, /;desc="replay"$/]) {
      const again = await scene.send({ path, key });
      expect(headerValue(again, "server-timing")).toMatch(/^gateway;dur=\d+;desc="replay"/);
      expect(headerValue(again, "server-timing")).toMatch(hop);
    }
    expect(headerValue(await scene.send({ path }), "server-timing")).toMatch(/^gateway;dur=\d+$/);
  });

  it("changes nothing where it is off", async () => {
    const key = freshKey();
    const behave = { headers: [["Server-Timing", "db;dur=5"] as [string, string]] };
    for (let time = 0; time < 3; time += 1) {
      const response = await scene.send({ path: "/quiet/timing", key, behave });
      expect(headerValue(response, "server-timing")).toBe("db;dur=5");
    }
  });
});
