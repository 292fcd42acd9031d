// An operator of a layout with 4,096 objects in one process: no request makes more than 900 calls to objects, those between objects counted too. What a
// request has not asked is said, and is complete after a few of them.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordPageSchema } from "../../../src/operator/record-schema.ts";
import { hoursSchema } from "../../../src/operator/hours-schema.ts";
import { layoutsSchema, totalsSchema } from "../../../src/operator/gateway-schema.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { HOLD, type LargeScene, SHARDS, startLargeScene } from "../../support/e2e/large-scene.ts";
import { ADMIN_TOKEN } from "../../support/e2e/operator-scene.ts";
import { freshKey } from "../../support/http.ts";

const MAX_CALLS = 900;
const UNKNOWN = 3;

let scene: LargeScene;
let keys: readonly string[];
beforeAll(async () => {
  scene = await startLargeScene();
  keys = await scene.unknown(UNKNOWN);
});
afterAll(() => scene.close());

async function drain(): Promise<v.InferOutput<typeof totalsSchema>> {
  const { text, calls } = await scene.ask("/drain");
  expect(calls).toBeLessThanOrEqual(MAX_CALLS);
  return v.parse(totalsSchema, JSON.parse(text));
}

describe("a request about 4,096 objects", () => {
  it("says how many have never been asked, until each has its turn, and then how old the answers are", async () => {
    const first = await drain();
    expect(first.notAsked.missing).toBeGreaterThan(3000);
    expect(first.notAsked.missing).toBeLessThan(SHARDS);
    let last = first;
    for (let more = true; more; more = last.notAsked.missing > 0) {
      const next = await drain();
      expect(next.notAsked.missing).toBeLessThan(last.notAsked.missing);
      last = next;
    }
    expect(last).toMatchObject({ unknown: UNKNOWN, unreachable: [] });
    expect(last.notAsked.earlier).toBeGreaterThan(3000);
    expect(Date.parse(last.notAsked.oldestAnswerAt ?? "")).toBeLessThan(Date.now());
    // Where the decisions are needed.
    expect(last.shards.filter(({ unknown }) => unknown > 0)).toHaveLength(UNKNOWN);
  }, 300_000);

  it("names on the overview what needs a decision, and says what was not asked now", async () => {
    const { text, status, calls } = await scene.ask("");
    expect(status).toBe(200);
    expect(calls).toBeLessThanOrEqual(MAX_CALLS);
    for (const key of keys) expect(text).toContain(key);
    expect(text).toContain("3 records need a decision");
    expect(text).toMatch(/3,\d{3} shards were not asked now: their numbers are up to \d/);
    expect(text).toContain("in 4096 shards");
  });

  it("lists unknown records page by page until all objects are asked", async () => {
    const found: string[] = [];
    let pages = 0;
    for (let cursor = ""; ; pages += 1) {
      const { text, calls } = await scene.ask(`/records?state=unknown${cursor === "" ? "" : `&cursor=${cursor}`}`);
      expect(calls).toBeLessThanOrEqual(MAX_CALLS);
      const page = v.parse(recordPageSchema, JSON.parse(text));
      found.push(...page.records.map(({ key }) => key));
      expect(page.parts.count).toBe(SHARDS / 256);
      if (page.cursor === null) break;
      ({ cursor } = page);
    }
    expect(found.toSorted()).toEqual(keys.toSorted());
    expect(pages).toBeLessThanOrEqual(SHARDS / 256);
    const url = scene.gateway.url;
    const listed = await callOnceway(["records", "list", "--state", "unknown", "--json"], {
      ONCEWAY_URL: url,
      ONCEWAY_TOKEN: ADMIN_TOKEN,
    });
    expect(listed.stdout.trim().split("\n")).toHaveLength(UNKNOWN);
  });

  it("scrapes less than 100 kB, with one series for all shards of the layout", async () => {
    const key = freshKey();
    expect((await scene.send({ path: HOLD, key })).status).toBe(201);
    const { text, bytes, calls } = await scene.ask("/metrics");
    expect(calls).toBeLessThanOrEqual(MAX_CALLS);
    expect(bytes).toBeLessThan(100_000);
    expect(text).toContain('onceway_records{state="unknown"} 3');
    expect(text).toContain('onceway_layout_objects{layout="4096",state="open"} 4096');
    expect(text).toMatch(/onceway_shard_size_bytes\{shard="one-of-4096"\} \d+/);
    expect(text).toMatch(/onceway_shards_not_asked\{numbers="earlier"\} 3\d{3}/);
    expect(text).not.toContain("shard-");
    expect(text).toContain('onceway_requests_total{route="/pay",outcome="origin-dropped"} 3');
  });

  it("has the last day of all objects as far as they have been asked", async () => {
    const { text, calls } = await scene.ask("/hours");
    expect(calls).toBeLessThanOrEqual(MAX_CALLS);
    const { hours } = v.parse(hoursSchema, JSON.parse(text));
    const counted = hours.flatMap(({ routes }) => routes).filter(({ route }) => route === HOLD);
    expect(counted.reduce((sum, { requests }) => sum + requests, 0)).toBeGreaterThanOrEqual(UNKNOWN);
  });

  it("counts each layout's objects", async () => {
    const { text } = await scene.ask("/layouts");
    const { layouts } = v.parse(layoutsSchema, JSON.parse(text));
    expect(layouts).toMatchObject([{ layout: String(SHARDS), objects: SHARDS, open: SHARDS, unknown: UNKNOWN }]);
  });

  const reason = "a test";
  it.each<readonly [string, Parameters<LargeScene["ask"]>[1]]>([
    ["/health", {}],
    ["/recent", {}],
    ["/outbox", {}],
    ["/positions", {}],
    ["/audit", {}],
    ["/metrics?shards=1", {}],
    ["/records?limit=500", {}],
    ["/records?cursor=last", {}],
    ["/outbox/resend", { body: { destination: "sink", reason, confirm: true } }],
    ["/outbox/drop", { body: { destination: "sink", reason, preview: true } }],
    ["/records/change", { body: { change: "release", filter: { state: "unknown" }, reason, preview: true } }],
    ["/scopes/forget", { body: { scope: { "header:authorization": "Bearer one" }, reason, preview: true } }],
    ["/console/records?state=unknown", {}],
    ["/console/shards", {}],
    ["/console/day", {}],
    ["/console/events", {}],
    ["/console/claims", {}],
    ["/console/audit", {}],
  ])(
    "makes at most 900 calls: %s",
    async (path, how) => {
      const { status, calls, text } = await scene.ask(path, how);
      expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
      expect(calls).toBeLessThanOrEqual(MAX_CALLS);
    },
    60_000,
  );

  it("makes at most 900 calls for a record that is found by its id alone, and says when it has not asked all", async () => {
    const id = "0".repeat(64);
    const { status, calls } = await scene.ask(`/records/${id}`);
    expect(status).toBe(503);
    expect(calls).toBeLessThanOrEqual(MAX_CALLS);
  });
});
