// Operators and two layouts of real objects: records of the previous one are listed, found, changed and counted where they are, and
// it is closed.

import { ADMIN } from "../../../support/integration/operators.ts";
import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { layoutName } from "../../../../src/kernel/config/layout.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import type { Layouts } from "../../../../src/kernel/config/layout.ts";
import { nameRecord } from "../../../../src/kernel/request/record-name.ts";
import { type CloseLayout, layoutCloser } from "../../../../src/features/previous-shards/operator/close.ts";
import { workerKernel } from "../../../support/integration/worker-kernel.ts";
import type { RecordSummary } from "../../../../src/operator/operator.ts";
import { ShardOperator } from "../../../../src/operator/shard-operator.ts";
import { ShardDirectory } from "../../../../src/operator/shards.ts";
import { TrafficReader } from "../../../../src/operator/traffic-reader.ts";
import { shardAddressOf } from "../../../../src/kernel/object/shard-address.ts";
import { parseExposition, sumOf } from "../../../support/exposition.ts";
import { Deployments, keysOfEach } from "../../../support/integration/deployments.ts";
import { headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";

interface Scene {
  readonly operator: ShardOperator;
  readonly close: CloseLayout;
  readonly directory: ShardDirectory;
  readonly layouts: Layouts;
  readonly titles: { readonly own: string; readonly previous: string };
  /** Gives the key a record in one of the layouts, in its object there. */
  readonly claim: (key: string, layout: "own" | "previous") => Promise<void>;
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

function sceneOf(own: string, previous: string, path = "/act"): Scene {
  const settings = { origin: "https://origin.example", shards: own, previous_shards: [previous], scope: ["none"] };
  const read = readConfig({ IDEMPOTENCY: settings, ROUTES: [{ path }] });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const { routes } = read.config;
  const [route] = routes;
  const [before] = route?.layouts.previous ?? [];
  if (route === undefined || before === undefined) throw new Error("no previous layout");
  const { layouts } = route;
  return {
    operator: new ShardOperator(env.KEY_SHARD, routes),
    close: layoutCloser(workerKernel(routes)),
    directory: new ShardDirectory(routes),
    layouts,
    titles: { own, previous },
    async claim(key, which) {
      const layout = which === "own" ? layouts.own : before;
      const id = await nameRecord(key, [], layoutName(layout));
      const bench = new ShardBench(shardAddressOf(id, layout).name);
      expect(await bench.send(messageOf(headOf({ record: { id, key, route: path } })))).toMatchObject({ status: 201 });
    },
  };
}

function readerOf({ listed: all, totals }: Pick<ShardDirectory, "listed" | "totals">, route: string): TrafficReader {
  return new TrafficReader({
    namespace: env.KEY_SHARD,
    directory: { listed: all, askedAlone: all, gatherings: [], totals },
    routes: [route],
    mayRotate: () => true,
    flush: () => Promise.resolve(),
  });
}

/** What other tests have counted is not in them. */
function ownTotals({ listed: all, totals }: ShardDirectory): Pick<ShardDirectory, "listed" | "totals"> {
  return { listed: all, totals: { ...totals, name: crypto.randomUUID() } };
}

const ALL = { states: [], route: null, since: null, until: null, key: null, idPrefix: null };

async function listed(operator: ShardOperator, filter: object = {}): Promise<readonly RecordSummary[]> {
  return (await operator.list({ ...ALL, ...filter }, 100, null))?.records ?? [];
}

it("records of a previous layout are listed, found by key and id, and changed where they are", async () => {
  const { operator, titles, claim } = startScene();
  const [previous, newer] = [crypto.randomUUID(), crypto.randomUUID()];
  await claim(previous, "previous");
  await claim(newer, "own");
  const seen = (await listed(operator)).map(({ key, layout }) => [key, layout] as const);
  expect(seen).toEqual([
    [newer, titles.own],
    [previous, titles.previous],
  ]);
  const [record] = await listed(operator, { key: previous });
  if (record === undefined) throw new Error("not found by its key");
  expect(record).toMatchObject({ key: previous, layout: titles.previous });
  expect(record.shard).toMatch(new RegExp(`^shard-[01]-of-${titles.previous}$`));
  expect(await listed(operator, { idPrefix: record.id.slice(0, 12) })).toEqual([record]);
  expect(await operator.inspect(record.id)).toMatchObject(record);
  const change = { action: "forget", by: ADMIN, reason: "test", response: null, isPreview: false } as const;
  expect(await operator.change(record.id, change)).toEqual({ kind: "forgotten" });
  expect(await operator.inspect(record.id)).toBeNull();
  expect((await listed(operator)).map(({ key }) => key)).toEqual([newer]);
});

it("a layout that is closed may go when its records have gone", async () => {
  const { operator, close, layouts, titles, claim } = startScene();
  const key = crypto.randomUUID();
  await claim(key, "previous");
  const stateNow = async () => (await operator.counts()).layouts;
  expect(await stateNow()).toMatchObject([
    { layout: titles.own, next: null, objects: 3, open: 3, routes: ["POST PATCH /act"] },
    { layout: titles.previous, next: titles.own, objects: 2, open: 2, closed: 0, empty: 0, mayGo: false },
  ]);
  const closed = { layout: titles.previous, open: 0, closed: 1, empty: 1, closedFor: [titles.own], mayGo: false };
  expect(await close.perform({ layout: titles.previous }, ADMIN)).toMatchObject({ kind: "done", view: closed });
  // Once more changes nothing.
  expect(await close.perform({ layout: titles.previous }, ADMIN)).toMatchObject({ kind: "done", view: closed });
  expect(await stateNow()).toMatchObject([{ open: 3 }, closed]);
  const [record] = await listed(operator, { key });
  if (record === undefined) throw new Error("not found");
  await operator.change(record.id, { action: "forget", by: ADMIN, reason: "test", response: null, isPreview: false });
  expect(await stateNow()).toMatchObject([
    { open: 3, mayGo: false },
    { closed: 0, empty: 2, mayGo: true },
  ]);
  expect(layouts.own.shards).toBe(titles.own);
});

it("what a layout has counted is in the totals when it may go, although nobody has scraped before", async () => {
  const route = `/act-${crypto.randomUUID()}`;
  const { operator, close, directory, titles, claim } = startScene(route);
  const key = crypto.randomUUID();
  await claim(key, "previous");
  await close.perform({ layout: titles.previous }, ADMIN);
  const [record] = await listed(operator, { key });
  if (record === undefined) throw new Error("not found");
  await operator.change(record.id, { action: "forget", by: ADMIN, reason: "test", response: null, isPreview: false });
  const reason = expect.stringContaining("lack 1 request that it has answered");
  expect((await operator.counts()).layouts).toMatchObject([{}, { layout: titles.previous, mayGo: true, reason }]);
  // It has left the configuration, and its objects are asked no more.
  const own = directory.listed.filter(({ layout }) => layout === titles.own);
  const metrics = parseExposition(await readerOf({ listed: own, totals: directory.totals }, route).metrics());
  expect(sumOf(metrics, "onceway_requests_total", { route, outcome: "first" })).toBe(1);
});

it("a layout in force, an unknown one, and one with an object for each key cannot be closed", async () => {
  const { close, titles } = startScene();
  expect(await close.perform({ layout: titles.own }, ADMIN)).toMatchObject({ kind: "refused", why: "in-force" });
  expect(await close.perform({ layout: "64" }, ADMIN)).toMatchObject({ kind: "refused", why: "unknown" });
  const settings = { origin: "https://origin.example", shards: `2${randomLetters()}`, previous_shards: ["per-key"] };
  const read = readConfig({ IDEMPOTENCY: settings, ROUTES: [{ path: "/act" }] });
  if (!read.ok) throw new Error("invalid");
  expect(await layoutCloser(workerKernel(read.config.routes)).perform({ layout: "per-key" }, ADMIN)).toMatchObject({
    kind: "refused",
    why: "per-key",
  });
});

it("metrics count the objects of each layout by state", async () => {
  const { close, directory, titles, claim } = startScene();
  await claim(crypto.randomUUID(), "previous");
  await close.perform({ layout: titles.previous }, ADMIN);
  const metrics = parseExposition(await readerOf(ownTotals(directory), "/act").metrics());
  const objects = metrics.filter(({ name }) => name === "onceway_layout_objects");
  expect(objects.map(({ labels, value }) => [labels["layout"], labels["state"], value])).toEqual([
    [titles.own, "open", 3],
    [titles.own, "closed", 0],
    [titles.own, "empty", 0],
    [titles.previous, "open", 0],
    [titles.previous, "closed", 1],
    [titles.previous, "empty", 1],
  ]);
});

it("metrics count the requests whose keys begin in another layout", async () => {
  const bench = new Deployments();
  const [before, newer] = [bench.deploy(2), bench.deploy(3, [2])];
  const [key = "", other = ""] = await keysOfEach(2);
  expect(await before.send(key)).toMatchObject({ status: 201 });
  await bench.close(2, 3);
  expect(await newer.send(key)).toMatchObject({ status: 201, isReplay: true });
  expect(await newer.send(other)).toMatchObject({ status: 201, isReplay: false });
  const { directory } = sceneOf(bench.layout(3), bench.layout(2));
  const metrics = parseExposition(await readerOf(ownTotals(directory), "/*").metrics());
  const counted = metrics.filter(({ name }) => name === "onceway_elsewhere_total");
  expect(counted.map(({ labels, value }) => [labels["route"], labels["answer"], value])).toEqual([
    ["/*", "closed", 1],
    ["/*", "first", 0],
  ]);
});

it("a layout is closed after those before it, and not if the next one is closed already", async () => {
  const bench = new Deployments();
  const shards = [1, 2, 3].map((count) => bench.layout(count));
  const settings = { origin: "https://origin.example", shards: shards[2], previous_shards: shards.slice(0, 2) };
  const read = readConfig({ IDEMPOTENCY: settings, ROUTES: [{ path: "/act" }] });
  if (!read.ok) throw new Error("invalid");
  const closeLayout = layoutCloser(workerKernel(read.config.routes));
  const [first = "", second = ""] = shards;
  expect(await closeLayout.perform({ layout: second }, ADMIN)).toMatchObject({ kind: "refused", why: "before-open" });
  expect(await closeLayout.perform({ layout: first }, ADMIN)).toMatchObject({ kind: "done" });
  expect(await closeLayout.perform({ layout: second }, ADMIN)).toMatchObject({ kind: "done" });
  const other = new Deployments();
  await other.close(2, 3);
  await expect(other.close(1, 2)).rejects.toThrow("next-closed");
});

/** The objects; those with these names do not answer. */
function withoutAnswers(isSilent: (name: string) => boolean): DurableObjectNamespace {
  return new Proxy(env.KEY_SHARD, {
    get: (namespace, property) => {
      if (property === "idFromName") return (name: string) => namespace.idFromName(name);
      return (id: DurableObjectId, options: DurableObjectNamespaceGetDurableObjectOptions) => {
        const fetch = (): Promise<never> => Promise.reject(new Error("no answer"));
        return isSilent(id.name ?? "") ? { fetch } : namespace.get(id, options);
      };
    },
  });
}

describe("objects that do not answer", () => {
  const bench = new Deployments();
  const [first, second, third] = [bench.layout(1), bench.layout(2), bench.layout(3)];
  const read = readConfig({
    IDEMPOTENCY: { origin: "https://origin.example", shards: third, previous_shards: [first, second] },
    ROUTES: [{ path: "/act" }],
  });
  const close = (layout: string, isSilent: (name: string) => boolean): ReturnType<CloseLayout["perform"]> => {
    if (!read.ok) throw new Error("invalid");
    return layoutCloser(workerKernel(read.config.routes, withoutAnswers(isSilent))).perform({ layout }, ADMIN);
  };

  it("keep their layout from being closed, and the next one open, as long as one of them may be open", async () => {
    // If none answers, or one of the next layout, which may be closed.
    await expect(close(first, (name) => name.endsWith(`-of-${first}`))).rejects.toThrow(`every object of ${first}`);
    await expect(close(first, (name) => name === `shard-0-of-${second}`)).rejects.toThrow(`shard-0-of-${second}`);
    expect(await close(first, () => false)).toMatchObject({ kind: "done", view: { open: 0, closed: 0, empty: 1 } });

    // Of an older layout. Its own stay as they are, and are closed later.
    await expect(close(second, (name) => name.endsWith(`-of-${first}`))).rejects.toThrow(`shard-0-of-${first}`);
    const part = await close(second, (name) => name === `shard-1-of-${second}`);
    expect(part).toMatchObject({ kind: "done", view: { empty: 1, unreachable: [`shard-1-of-${second}`] } });
    expect(await close(second, () => false)).toMatchObject({ kind: "done", view: { empty: 2, unreachable: [] } });
  });
});
