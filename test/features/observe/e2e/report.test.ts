// Routes that are only observed, with real requests: the client sees the API alone, and the report says what enforcing would have done, as operators, the
// command line, the console and the metrics read it.

import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import { runOnceway } from "../../../support/command-line.ts";
import { ADMIN_TOKEN, type OperatorScene, startOperatorScene } from "../../../support/e2e/operator-scene.ts";
import { until } from "../../../support/e2e/scene.ts";

/** Requests that are less apart count as overlapping, because clocks of isolates differ. */
const APART_MS = 300;

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 2, scope: ["header:authorization"], timeout: "2s", lock: "3s" }, [
    { path: "/pay/*", mode: "observe", observe: { effect: "/id" } },
    { path: "/plain/*", mode: "observe", unknown: "retry", max_request_body: 100, max_response_body: 500 },
    { path: "/tokens/*", mode: "observe" },
    { path: "/stream/*", mode: "observe" },
    { path: "/left/*", mode: "observe" },
    { path: "/silent/*", mode: "observe", observe: { effect: "/id" }, note: { request: "none" } },
    { path: "/partly/*", mode: "observe", enforce: "50%" },
  ]);
});
afterAll(() => scene.close());

const reported = v.object({
  routes: v.array(
    v.object({
      route: v.string(),
      protectedShare: v.nullable(v.number()),
      seen: v.number(),
      counts: v.record(v.string(), v.number()),
      lines: v.array(v.object({ kind: v.string(), count: v.nullable(v.number()), setting: v.nullable(v.string()) })),
      examples: v.array(v.object({ kind: v.string(), key: v.nullable(v.string()), keyHash: v.string() })),
    }),
  ),
});

async function reportOf(route: string) {
  const { json } = await scene.ask("GET", "/report");
  const found = v.parse(reported, json).routes.find((one) => one.route === route);
  if (found === undefined) throw new Error(`no ${route} in the report`);
  return found;
}

/** Sightings come after the answers. */
async function untilCounted(route: string, counts: Readonly<Record<string, number>>) {
  let last: unknown = null;
  return until(
    async () => {
      const report = await reportOf(route);
      last = report.counts;
      return Object.entries(counts).every(([name, count]) => report.counts[name] === count) ? report : null;
    },
    `${route} has ${JSON.stringify(counts)}`,
    15_000,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; it has ${JSON.stringify(last)}`);
  });
}

const CALLER = [["Authorization", "Bearer one"]] as const;
const made = (id: string) => ({ status: 201, body: JSON.stringify({ id }) });

// The report, its page and its metrics are of what the tests before it have sent.
describe("a gateway with observed routes", { shuffle: false }, () => {
  describe("an observed route", () => {
    it("counts effects that doubled, and what it would have answered, with examples", async () => {
      const send = (key: string, id: string, body?: string) =>
        scene.send({ path: "/pay/1", key, headers: CALLER, behave: made(id), ...(body === undefined ? {} : { body }) });
      const [doubled, known, reused] = [freshKey(), freshKey(), freshKey()];
      const held = { ...made("p1"), hold: true };
      const first = scene.send({ path: "/pay/1", key: doubled, headers: CALLER, behave: held });
      await scene.origin.arrived(doubled);
      const answers = [await send(doubled, "p2"), await send(known, "p3")];
      await scene.origin.release(doubled);
      answers.push(await first);
      await send(reused, "p4");
      await pause(APART_MS);
      answers.push(await send(known, "p3"), await send(reused, "p5", '{"amount":2}'));
      for (const one of answers) {
        expect(one.status).toBe(201);
        for (const name of ["idempotency-key", "idempotency-status", "idempotent-replayed"]) {
          expect(headerValue(one, name)).toBeNull();
        }
      }
      const report = await untilCounted("/pay/*", {
        first: 3,
        overlap: 1,
        replay: 1,
        "key-reused": 1,
        "effect:doubled": 1,
        "effect:deduplicated": 1,
      });
      expect(report).toMatchObject({ protectedShare: 0, seen: 6 });
      expect(report.lines).toContainEqual({ kind: "doubled", count: 1, setting: 'mode = "enforce"' });
      expect(report.lines).toContainEqual({ kind: "break", count: 1, setting: "fingerprint" });
      await until(async () => {
        const { examples } = await reportOf("/pay/*");
        const kinds = examples.map(({ kind, key }) => `${kind} ${key}`);
        return kinds.includes(`doubled ${doubled}`) && kinds.includes(`key-reused ${reused}`) ? kinds : null;
      }, "both examples");
      // Nobody's record: nothing was protected.
      const { json } = await scene.ask("GET", `/records?key=${doubled}`);
      expect(v.parse(v.object({ records: v.array(v.unknown()) }), json).records).toEqual([]);
    });

    it("counts requests without a key, invalid keys, bodies over limits and slow answers", async () => {
      const send = (message: Parameters<typeof scene.send>[0]) => scene.send({ headers: CALLER, ...message });
      await send({ path: "/plain/1", body: '{"a":1}' });
      await send({ path: "/plain/1", body: '{"a":1}' });
      await send({ path: "/plain/1", body: '{"a":2}' });
      await send({ path: "/plain/1", key: "not valid" });
      await send({ path: "/plain/1", key: freshKey(), body: JSON.stringify("x".repeat(200)) });
      await send({ path: "/plain/1", key: freshKey(), behave: { body: "y".repeat(600) } });
      await send({ path: "/plain/1", key: freshKey(), behave: { delayMs: 2200 } });
      const broken = freshKey();
      await send({ path: "/plain/1", key: broken, behave: { drop: "after-effect" } });
      // What isolates count alone comes with a later sighting.
      await send({ path: "/plain/1", key: freshKey() });
      await pause(APART_MS);
      await send({ path: "/plain/1", key: broken });
      await send({ path: "/plain/1", key: freshKey() });
      const { lines } = await untilCounted("/plain/*", {
        "key-missing": 2,
        "content-repeat": 1,
        "key-invalid": 1,
        "body-too-large": 1,
        "response-too-large": 1,
        "over-timeout": 1,
        unknown: 1,
      });
      for (const setting of ["key", "key_format", "max_request_body", "max_response_body", "timeout", "unknown"]) {
        expect(lines.map((line) => line.setting)).toContainEqual(expect.stringContaining(setting));
      }
    });

    it("passes an answer on as it comes, and one of many megabytes whole", async () => {
      const key = freshKey();
      const open = scene.open({
        path: "/stream/1",
        key,
        headers: CALLER,
        behave: { chunks: ["first", "last"], holdBody: 1 },
      });
      await open.piece;
      await scene.origin.release(key);
      expect((await open.response).body.toString()).toBe("firstlast");
      const large = { generated: { seed: "observed", bytes: 5_000_000 } };
      const answer = await scene.send({ path: "/stream/2", key: freshKey(), headers: CALLER, behave: large });
      expect(answer.body.byteLength).toBe(5_000_000);
      const upload = Buffer.alloc(3_000_000, "x");
      for (const chunked of [true, false]) {
        const uploaded = freshKey();
        await scene.send({ path: "/stream/3", key: uploaded, headers: CALLER, body: upload, chunked });
        const [seen] = await scene.origin.requests(uploaded);
        expect(seen?.body?.bytes).toBe(upload.byteLength);
      }
    });

    it("ends the call when its client leaves, as without a route, and nobody knows its outcome", async () => {
      const key = freshKey();
      const leaving = scene.open({ path: "/left/1", key, headers: CALLER, behave: { hold: true } });
      leaving.response.catch(() => null);
      await scene.origin.arrived(key);
      leaving.reset();
      await untilCounted("/left/*", { first: 1 });
      await scene.origin.release(key);
      await pause(APART_MS);
      await scene.send({ path: "/left/1", key, headers: CALLER });
      expect(await untilCounted("/left/*", { first: 1, unknown: 1 })).toMatchObject({ seen: 2 });
    });

    it("notices the key and request of another caller", async () => {
      const key = freshKey();
      for (const token of ["one", "two"]) {
        await scene.send({ path: "/tokens/1", key, headers: [["Authorization", `Bearer ${token}`]] });
      }
      const { lines } = await untilCounted("/tokens/*", { first: 1, "scope-splits": 1 });
      expect(lines).toContainEqual({ kind: "break", count: 1, setting: "scope" });
    });

    it("keeps no key where nothing is noted", async () => {
      const key = freshKey();
      for (const id of ["a", "b"]) await scene.send({ path: "/silent/1", key, headers: CALLER, behave: made(id) });
      await untilCounted("/silent/*", { "effect:doubled": 1 });
      const [example] = await until(async () => {
        const { examples } = await reportOf("/silent/*");
        return examples.length === 0 ? null : examples;
      }, "an example");
      expect(example?.key).toBeNull();
    });

    it("protects the share of keys that enforce says, and always the same", async () => {
      const keys = Array.from({ length: 40 }, () => freshKey());
      const send = async (key: string) => {
        const first = await scene.send({ path: "/partly/1", key, headers: CALLER });
        const second = await scene.send({ path: "/partly/1", key, headers: CALLER });
        return [first, second].map((one) => headerValue(one, "idempotency-status"));
      };
      const answered = await Promise.all(keys.map(send));
      const shares = new Set(answered.map((statuses) => statuses.join()));
      expect([...shares].toSorted()).toEqual([",", "first,replayed"]);
      for (const [at, key] of keys.entries()) {
        expect(await scene.origin.effects(key)).toBe(answered[at]?.[0] === "first" ? 1 : 2);
      }
    });
  });

  describe("the report", () => {
    it("is a command, a page and metrics", async () => {
      const { stdout, code } = await runOnceway(["report", "--since", "24h", "--url", scene.gateway.url], {
        ONCEWAY_TOKEN: ADMIN_TOKEN,
      });
      expect(code).toBe(0);
      expect(stdout).toContain("/pay/*");
      expect(stdout).toContain('mode = "enforce"');
      const metrics = await until(async () => {
        const { text } = await scene.ask("GET", "/metrics");
        return /onceway_observed_total\{route="\/plain\/\*",class="key-missing"\} 2/.test(text) ? text : null;
      }, "the isolate's counts");
      expect(metrics).toContain('onceway_observed_total{route="/pay/*",class="first"} 3');
      expect(metrics).toContain('onceway_observed_effects_total{route="/pay/*",evidence="doubled"} 1');
    });

    it("refuses what it does not know", async () => {
      for (const query of ["?since=8d", "?since=x", "?sinc=7d"]) {
        expect((await scene.ask("GET", `/report${query}`)).status).toBe(400);
      }
    });
  });
});
