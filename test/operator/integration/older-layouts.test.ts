// Operators and two layouts of real objects: records of the older one are listed, found, changed and counted where they are, and
// closing it seals its objects.

import { ADMIN } from "../../support/integration/operators.ts";
import { env } from "cloudflare:test";
import { expect, it } from "vitest";
import { layoutName } from "../../../src/kernel/config/layout.ts";
import { readConfig } from "../../../src/features/settings.ts";
import type { Layouts } from "../../../src/kernel/config/layout.ts";
import { nameRecord } from "../../../src/kernel/request/record-name.ts";
import type { RecordSummary } from "../../../src/operator/operator.ts";
import { ShardOperator } from "../../../src/operator/shard-operator.ts";
import { ShardPlaces } from "../../../src/operator/shards.ts";
import { TrafficReader } from "../../../src/operator/traffic-reader.ts";
import { placeOf } from "../../../src/kernel/object/shard-place.ts";
import { parseExposition, sumOf } from "../../support/exposition.ts";
import { Deployments, keysOfEach } from "../../support/integration/deployments.ts";
import { headOf, messageOf, ShardBench } from "../../support/integration/shard-bench.ts";

interface Scene {
  readonly operator: ShardOperator;
  readonly places: ShardPlaces;
  readonly layouts: Layouts;
  readonly titles: { readonly own: string; readonly older: string };
  /** Gives the key a record in one of the layouts, in its object there. */
  readonly claim: (key: string, layout: "own" | "older") => Promise<void>;
}

function randomLetters(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(7)), (byte) => String.fromCharCode(97 + (byte % 26))).join(
    "",
  );
}

/** Two objects, and three newer ones, with names of their own. */
function startScene(path = "/act"): Scene {
  const letters = randomLetters();
  return sceneOf(`3${letters}`, `2${letters}`, path);
}

function sceneOf(own: string, older: string, path = "/act"): Scene {
  const settings = { origin: "https://origin.example", shards: own, previous_shards: [older], scope: ["none"] };
  const read = readConfig({ IDEMPOTENCY: settings, ROUTES: [{ path }] });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const { routes } = read.config;
  const [route] = routes;
  const [elder] = route?.layouts.elders ?? [];
  if (route === undefined || elder === undefined) throw new Error("no older layout");
  const { layouts } = route;
  return {
    operator: new ShardOperator(env.KEY_SHARD, routes),
    places: new ShardPlaces(routes),
    layouts,
    titles: { own, older },
    async claim(key, which) {
      const layout = which === "own" ? layouts.own : elder;
      const id = await nameRecord(key, [], layoutName(layout));
      const bench = new ShardBench(placeOf(id, layout).name);
      expect(await bench.send(messageOf(headOf({ record: { id, key, route: path } })))).toMatchObject({ status: 201 });
    },
  };
}

function readerOf({ listed: shards, totals }: Pick<ShardPlaces, "listed" | "totals">, route: string): TrafficReader {
  return new TrafficReader({
    namespace: env.KEY_SHARD,
    shards,
    totals,
    routes: [route],
    mayRotate: () => true,
    flush: () => Promise.resolve(),
  });
}

/** What other tests have counted is not in them. */
function ownTotals({ listed: all, totals }: ShardPlaces): Pick<ShardPlaces, "listed" | "totals"> {
  return { listed: all, totals: { ...totals, name: crypto.randomUUID() } };
}

const ALL = { states: [], route: null, since: null, until: null, key: null, idPrefix: null };

async function listed(operator: ShardOperator, filter: object = {}): Promise<readonly RecordSummary[]> {
  return (await operator.list({ ...ALL, ...filter }, 100, null))?.records ?? [];
}

it("records of an older layout are listed, found by key and id, and changed where they are", async () => {
  const { operator, titles, claim } = startScene();
  const [older, newer] = [crypto.randomUUID(), crypto.randomUUID()];
  await claim(older, "older");
  await claim(newer, "own");
  const seen = (await listed(operator)).map(({ key, layout }) => [key, layout] as const);
  expect(seen).toEqual([
    [newer, titles.own],
    [older, titles.older],
  ]);
  const [record] = await listed(operator, { key: older });
  if (record === undefined) throw new Error("not found by its key");
  expect(record).toMatchObject({ key: older, layout: titles.older });
  expect(record.shard).toMatch(new RegExp(`^shard-[01]-of-${titles.older}$`));
  expect(await listed(operator, { idPrefix: record.id.slice(0, 12) })).toEqual([record]);
  expect(await operator.inspect(record.id)).toMatchObject(record);
  const change = { action: "forget", by: ADMIN, reason: "test", response: null } as const;
  expect(await operator.change(record.id, change)).toEqual({ kind: "forgotten" });
  expect(await operator.inspect(record.id)).toBeNull();
  expect((await listed(operator)).map(({ key }) => key)).toEqual([newer]);
});

it("a layout that is closed is sealed for the one in force, and may go when its records have gone", async () => {
  const { operator, layouts, titles, claim } = startScene();
  const key = crypto.randomUUID();
  await claim(key, "older");
  const stateNow = async () => (await operator.counts()).layouts;
  expect(await stateNow()).toMatchObject([
    { layout: titles.own, left: null, objects: 3, open: 3, routes: ["POST PATCH /act"] },
    { layout: titles.older, left: titles.own, objects: 2, open: 2, sealed: 0, empty: 0, mayGo: false },
  ]);
  const closed = { layout: titles.older, open: 0, sealed: 1, empty: 1, keys: 1, next: [titles.own], mayGo: false };
  expect(await operator.close(titles.older, ADMIN)).toMatchObject({ kind: "closed", layout: closed });
  // Once more changes nothing.
  expect(await operator.close(titles.older, ADMIN)).toMatchObject({ kind: "closed", layout: closed });
  expect(await stateNow()).toMatchObject([{ open: 3 }, closed]);
  const [record] = await listed(operator, { key });
  if (record === undefined) throw new Error("not found");
  await operator.change(record.id, { action: "forget", by: ADMIN, reason: "test", response: null });
  expect(await stateNow()).toMatchObject([
    { open: 3, mayGo: false },
    { sealed: 0, empty: 2, keys: 0, mayGo: true },
  ]);
  expect(layouts.own.shards).toBe(titles.own);
});

it("what a layout has counted is in the totals when it may go, although nobody has scraped before", async () => {
  const route = `/act-${crypto.randomUUID()}`;
  const { operator, places, titles, claim } = startScene(route);
  const key = crypto.randomUUID();
  await claim(key, "older");
  await operator.close(titles.older, ADMIN);
  const [record] = await listed(operator, { key });
  if (record === undefined) throw new Error("not found");
  await operator.change(record.id, { action: "forget", by: ADMIN, reason: "test", response: null });
  const reason = expect.stringContaining("lack 1 request that it has answered");
  expect((await operator.counts()).layouts).toMatchObject([{}, { layout: titles.older, mayGo: true, reason }]);
  // The older layout has left the configuration, and its objects are asked no more.
  const own = places.listed.filter(({ layout }) => layout === titles.own);
  const metrics = parseExposition(await readerOf({ listed: own, totals: places.totals }, route).metrics());
  expect(sumOf(metrics, "onceway_requests_total", { route, outcome: "first" })).toBe(1);
});

it("a layout in force, an unknown one, and one with an object for each key cannot be closed", async () => {
  const { operator, titles } = startScene();
  expect(await operator.close(titles.own, ADMIN)).toEqual({ kind: "refused", why: "in-force" });
  expect(await operator.close("64", ADMIN)).toEqual({ kind: "refused", why: "unknown" });
  const settings = { origin: "https://origin.example", shards: `2${randomLetters()}`, previous_shards: ["per-key"] };
  const read = readConfig({ IDEMPOTENCY: settings, ROUTES: [{ path: "/act" }] });
  if (!read.ok) throw new Error("invalid");
  const perKey = new ShardOperator(env.KEY_SHARD, read.config.routes);
  expect(await perKey.close("per-key", ADMIN)).toEqual({ kind: "refused", why: "per-key" });
});

it("metrics count the objects of each layout by state", async () => {
  const { operator, places, titles, claim } = startScene();
  await claim(crypto.randomUUID(), "older");
  await operator.close(titles.older, ADMIN);
  const metrics = parseExposition(await readerOf(ownTotals(places), "/act").metrics());
  const objects = metrics.filter(({ name }) => name === "onceway_layout_objects");
  expect(objects.map(({ labels, value }) => [labels["layout"], labels["state"], value])).toEqual([
    [titles.own, "open", 3],
    [titles.own, "sealed", 0],
    [titles.own, "empty", 0],
    [titles.older, "open", 0],
    [titles.older, "sealed", 1],
    [titles.older, "empty", 1],
  ]);
});

it("metrics count the questions to the older layout, and the requests that were sent on", async () => {
  const bench = new Deployments();
  const [before, newer] = [bench.deploy(2), bench.deploy(3, [2])];
  // In different older objects: one that has been asked names its few keys, and is asked about no others.
  const [key = "", other = ""] = await keysOfEach(2);
  expect(await before.send(key)).toMatchObject({ status: 201 });
  expect(await newer.send(key)).toMatchObject({ status: 201, isReplay: true });
  expect(await newer.send(other)).toMatchObject({ status: 201, isReplay: false });
  expect(bench.calls).toHaveLength(2);
  const { places } = sceneOf(bench.layout(3), bench.layout(2));
  const metrics = parseExposition(await readerOf(ownTotals(places), "/*").metrics());
  const counted = metrics.filter(({ name }) => /^onceway_(?:asks|moved)_total$/.test(name));
  expect(counted.map(({ labels, value }) => [labels["route"], labels["answer"], value])).toEqual([
    ["/*", "absent", 1],
    ["/*", "here", 1],
    ["/*", "failed", 0],
    ["/*", undefined, 1],
  ]);
});
