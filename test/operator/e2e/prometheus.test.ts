// @module-tag needs/prometheus
// @module-tag needs/promtool
// A real Prometheus reads the metrics: after a known load, `increase()` equals what the origin and the client have counted,
// also for the first requests and across restarts. Prometheus also reads the dashboard's queries and the alert rules.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OUTCOMES } from "../../../src/kernel/record/outcome.ts";
import { ATTEMPT_VERDICTS } from "../../../src/kernel/record/timeline.ts";
import { BOUNDS_MS } from "../../../src/kernel/traffic/histogram.ts";
import { COUNTED_NAMES as COUNTERS } from "../../../src/kernel/traffic/route-counters.ts";
import { freshKey } from "../../support/http.ts";
import { programPath } from "../../support/programs.ts";
import { type Prometheus, type Series, startPrometheus } from "../../support/prometheus.ts";
import { type Client, clientOf, until } from "../../support/e2e/scene.ts";
import { BASE, type OperatorScene, READ_TOKEN, startOperatorScene } from "../../support/e2e/operator-scene.ts";

const GRAFANA = fileURLToPath(new URL("../../../src/operator/grafana/", import.meta.url));
const ALERTS = `${GRAFANA}alerts.yaml`;
const ROUTES = ["/counted/*", "/passing/*", "/never/*"];

let scene: OperatorScene;
let prometheus: Prometheus;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 64 }, [
    { path: "/counted/*" },
    { path: "/passing/*", key: "optional" },
    { path: "/never/*" },
  ]);
  const { url } = scene.gateway;
  const path = `${BASE}/metrics`;
  prometheus = await startPrometheus({ url, path, token: READ_TOKEN, everyMs: 1000, rules: [ALERTS] });
});
afterAll(async () => {
  await prometheus.close();
  await scene.close();
});

/** By the value of one label. */
function byLabel(series: readonly Series[], label: string): object {
  return Object.fromEntries(series.map(({ labels, value }) => [labels[label], Math.round(value * 1e6) / 1e6]));
}

/** When the last scrape was made, in milliseconds: a window that ends there needs no extrapolation. */
async function lastScrape(): Promise<number> {
  const [series] = await prometheus.query("max(timestamp(onceway_requests_total))");
  return Math.round((series?.value ?? 0) * 1000);
}

/** Resolves when a scrape has read that many requests in all, with its time. */
async function scraped(requests: number): Promise<number> {
  await until(async () => {
    const [total] = await prometheus.query("sum(onceway_requests_total)");
    return total?.value === requests ? true : null;
  }, `${requests} requests in a scrape`);
  return lastScrape();
}

/** A hundred keys, each sent once and twice again, and whatever else there is: 385 requests. */
async function load(client: Client): Promise<void> {
  const path = "/counted/a";
  const keys = Array.from({ length: 100 }, freshKey);
  for (let time = 0; time < 3; time += 1) {
    const answers = await Promise.all(keys.map((key) => client.send({ path, key })));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
  }
  const others = [
    ...keys.slice(0, 40).map((key) => client.send({ path, key, body: "another" })),
    ...keys.slice(0, 25).map(() => client.send({ path, key: freshKey(), behave: { status: 503 } })),
    ...keys.slice(0, 15).map(() => client.send({ path })),
    ...keys.slice(0, 5).map(() => client.send({ path: "/passing/a" })),
  ];
  await Promise.all(others);
}

const REQUESTS = 385;
const COUNTED = { first: 100, replay: 200, mismatch: 40, refused: 25, "key-missing": 15 };

function promtool(...args: readonly string[]): string {
  return execFileSync(programPath("promtool"), args, { encoding: "utf8" });
}

describe("Prometheus", () => {
  it("finds every series of every route at its first scrape, each at 0, although no request has come", async () => {
    await scraped(0);
    const counts = await prometheus.query('count by (__name__, route) ({__name__=~"onceway_.*", route!=""})');
    const perRoute = {
      onceway_requests_total: OUTCOMES.length,
      onceway_attempts_total: 2,
      onceway_verdicts_total: ATTEMPT_VERDICTS.length,
      onceway_elsewhere_total: COUNTERS.elsewhere.length,
      onceway_given_up_total: 1,
      onceway_findings_total: 1,
      onceway_origin_seconds_bucket: BOUNDS_MS.length + 1,
      onceway_origin_seconds_sum: 1,
      onceway_origin_seconds_count: 1,
      onceway_gateway_seconds_bucket: BOUNDS_MS.length + 1,
      onceway_gateway_seconds_sum: 1,
      onceway_gateway_seconds_count: 1,
    };
    for (const route of ROUTES) {
      const its = counts.filter(({ labels }) => labels["route"] === route);
      expect(byLabel(its, "__name__")).toEqual(perRoute);
    }
    expect(await prometheus.query('{__name__=~"onceway_.*", route!=""} != 0')).toEqual([]);
    expect(byLabel(await prometheus.query("count by (__name__) ({shard!=''})"), "__name__")).toMatchObject({
      onceway_calls_queued_total: 64,
      onceway_alarm_lag_seconds: 64,
      onceway_shard_up: 64,
    });
  });

  it("counts with increase() what client and origin count, from the first request on and after a crash", async () => {
    const from = await lastScrape();
    await load(scene);
    const at = await scraped(REQUESTS);
    const increase = (what: string, by: string, time = at): Promise<readonly Series[]> =>
      prometheus.query(`sum by (${by}) (increase(${what}[10m])) > 0`, time);

    const counted = '{route="/counted/*"}';
    expect(byLabel(await increase(`onceway_requests_total${counted}`, "outcome"), "outcome")).toEqual(COUNTED);
    expect(byLabel(await increase('onceway_requests_total{route="/passing/*"}', "outcome"), "outcome")).toEqual({
      "passed-through": 5,
    });
    expect(byLabel(await increase("onceway_attempts_total", "kind"), "kind")).toEqual({ first: 125 });
    expect(byLabel(await increase("onceway_verdicts_total", "verdict"), "verdict")).toEqual({
      result: 100,
      refused: 25,
    });
    expect(byLabel(await increase("onceway_origin_seconds_count", "route"), "route")).toEqual({ "/counted/*": 125 });
    expect(byLabel(await increase('onceway_origin_seconds_bucket{le="+Inf"}', "le"), "le")).toEqual({ "+Inf": 125 });
    expect(byLabel(await increase("onceway_gateway_seconds_count", "route"), "route")).toEqual({ "/counted/*": 380 });
    // What stands there, now and before, differs by as much, without any extrapolation.
    const last = await prometheus.query(`sum by (outcome) (onceway_requests_total${counted}) > 0`, at);
    expect(byLabel(last, "outcome")).toEqual(COUNTED);
    expect(await prometheus.query(`sum(onceway_requests_total)`, from)).toMatchObject([{ value: 0 }]);

    await scene.gateway.kill9();
    const again = await scene.gateway.restart();
    try {
      await scraped(REQUESTS);
      await load(clientOf(again.url));
      const end = await scraped(2 * REQUESTS);
      const both = Object.fromEntries(Object.entries(COUNTED).map(([outcome, count]) => [outcome, 2 * count]));
      expect(byLabel(await increase(`onceway_requests_total${counted}`, "outcome", end), "outcome")).toEqual(both);
    } finally {
      await again.stop();
    }
  });

  it("accepts the alert rules and every query of the dashboard", async () => {
    expect(promtool("check", "rules", ALERTS)).toContain("21 rules found");
    const dashboard = readFileSync(`${GRAFANA}dashboard.json`, "utf8");
    const expressions = [...dashboard.matchAll(/"expr": "((?:[^"\\]|\\.)*)"/g)].map(([, quoted]) =>
      String(JSON.parse(`"${quoted}"`))
        .replaceAll("$route", ".*")
        .replaceAll("$__rate_interval", "1m"),
    );
    expect(expressions.length).toBeGreaterThan(15);
    for (const expression of expressions) await prometheus.query(expression);
  });
});

describe("the alert rules", () => {
  const series = (name: string, values: string): object => ({ series: name, values });
  const requests = (outcome: string): string => `onceway_requests_total{route="/a",outcome="${outcome}"}`;

  const letters = (reason: string): string => `onceway_dead_letters_total{queue="orders",reason="${reason}"}`;

  /** That after a quarter of an hour the alert fires once for each of these sets of labels. */
  const expectFiring = async (
    alert: string,
    input: readonly object[],
    by: string,
    expected: readonly string[],
  ): Promise<void> => {
    const dir = await mkdtemp(join(tmpdir(), "onceway-rules-"));
    try {
      const expr = `count by (${by}) (ALERTS{alertname="${alert}",alertstate="firing"})`;
      const test = {
        interval: "1m",
        input_series: input,
        promql_expr_test: [{ expr, eval_time: "16m", exp_samples: expected.map((labels) => ({ labels, value: 1 })) }],
      };
      // JSON is YAML.
      const file = join(dir, "rules.json");
      await writeFile(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: "1m", tests: [test] }));
      expect(promtool("test", "rules", file)).toContain("SUCCESS");
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  };

  it.each([
    ["OncewayAttemptOld", "onceway_oldest_attempt_seconds", "600x30"],
    ["OncewayAlarmLate", "onceway_alarm_lag_seconds", "600x30"],
    ["OncewayWaitingLate", "onceway_oldest_waiting_seconds", "600x30"],
    ["OncewayShardDown", "onceway_shard_up", "0x30"],
    ["OncewayShardLarge", "onceway_shard_size_bytes", "9000000000x30"],
    ["OncewayCallsQueued", "onceway_calls_queued_total", "0+1x30"],
  ])("%s keeps shards of the same name in several processes apart", async (alert, metric, values) => {
    const labels = ["a", "b"].map((instance) => `{instance="${instance}",shard="shard-0-of-64"}`);
    const input = labels.map((text) => series(`${metric}${text}`, values));
    await expectFiring(alert, input, "instance, shard", labels);
  });

  it.each([
    ["OncewayOutcomeUnknown", 'onceway_records{state="unknown",', "1x30"],
    ["OncewayOutcomeUnknownOld", "onceway_oldest_unknown_seconds{", "90000x30"],
    ["OncewayCountsUnwritten", "onceway_counts_unwritten{", "1x30"],
  ])("%s names each process that has such records, once", async (alert, metric, values) => {
    const all = ["a", "b"].flatMap((instance) =>
      [0, 1].map((shard) => `instance="${instance}",shard="shard-${shard}-of-2"}`),
    );
    const input = all.map((labels) => series(`${metric}${labels}`, values));
    await expectFiring(alert, input, "instance, shard", ['{instance="a"}', '{instance="b"}']);
  });

  it.each([
    [
      "OncewayGatewayDown",
      true,
      [series('up{job="onceway",instance="a"}', "1x30"), series('up{job="onceway",instance="b"}', "1x5 0x25")],
    ],
    ["OncewayGatewayDown", false, [series('up{job="onceway",instance="a"}', "1x30"), series('up{job="node"}', "0x30")]],
    ["OncewayCallsQueued", true, [series('onceway_calls_queued_total{shard="a"}', "0+1x30")]],
    ["OncewayOutcomeUnknown", true, [series('onceway_records{shard="a",state="unknown"}', "1x30")]],
    ["OncewayOutcomeUnknown", false, [series('onceway_records{shard="a",state="unknown"}', "0x30")]],
    ["OncewayShardDown", true, [series('onceway_shard_up{shard="a"}', "0x30")]],
    [
      "OncewayStoreUnavailable",
      true,
      [series(requests("store-unavailable"), "0x5 0+1x20"), series(requests("first"), "0+6x30")],
    ],
    [
      "OncewayStoreUnavailable",
      false,
      [series(requests("store-unavailable"), "0x30"), series(requests("first"), "0x30")],
    ],
    ["OncewayMismatches", true, [series(requests("mismatch"), "0+1x30"), series(requests("first"), "0+9x30")]],
    ["OncewayMismatches", false, [series(requests("mismatch"), "0x30"), series(requests("first"), "0+9x30")]],
    ["OncewayConflicts", true, [series(requests("in-flight"), "0+1x30"), series(requests("first"), "0+9x30")]],
    ["OncewayConflicts", false, [series(requests("in-flight"), "0x30"), series(requests("first"), "0x30")]],
    ["OncewayDoubledOperation", true, [series('onceway_findings_total{route="/a",finding="doubled"}', "0x5 1x25")]],
    ["OncewayDoubledOperation", false, [series('onceway_findings_total{route="/a",finding="pending"}', "0x5 1x25")]],
    ["OncewayGivenUp", true, [series('onceway_given_up_total{route="/a"}', "0x5 1x25")]],
    ["OncewayGivenUp", false, [series('onceway_given_up_total{route="/a"}', "7x30")]],
    ["OncewayWaitingLate", false, [series('onceway_oldest_waiting_seconds{shard="a"}', "0x5 290x25")]],
    ["OncewayOutboxDead", true, [series('onceway_outbox{destination="a",state="dead"}', "0x5 2x25")]],
    ["OncewayOutboxDead", false, [series('onceway_outbox{destination="a",state="pending"}', "7x30")]],
    ["OncewayOutboxLate", true, [series('onceway_outbox_oldest_seconds{destination="a"}', "1000x30")]],
    ["OncewayOutboxLate", false, [series('onceway_outbox_oldest_seconds{destination="a"}', "890x30")]],
    ["OncewayPositionHeld", true, [series('onceway_position_held_seconds{group="a"}', "1000x30")]],
    ["OncewayPositionHeld", false, [series('onceway_position_held_seconds{group="a"}', "890x30")]],
    ["OncewayDeadLetters", true, [series(letters("rejected"), "0x10 1x20"), series(letters("exhausted"), "0x30")]],
    ["OncewayDeadLetters", false, [series(letters("rejected"), "7x30")]],
  ])("%s fires: %s", async (alert, isFiring, input) => {
    await expectFiring(alert, input, "", isFiring ? ["{}"] : []);
  });
});
