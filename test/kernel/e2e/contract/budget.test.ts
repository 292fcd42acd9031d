// Regression test: what a request costs of the runtime, counted in the running gateway. The numbers are in one table, in
// test/bench/README.md; a change that moves one has to update it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countingBundle } from "../../../bench/budget-bundle.ts";
import { BUDGET_COUNTS } from "../../../bench/budget-counts.ts";
import { type Origin, startOrigin } from "../../../bench/processes.ts";
import { BODY, HEADERS } from "../../../bench/requests-of-load.ts";
import { readPage } from "../../../support/docs.ts";
import { type Gateway, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { until } from "../../../support/e2e/scene.ts";

/** Counts of the background, such as handing over the Worker's traffic, come in addition: the least of some tries has none. */
const TRIES = 5;

const PAGE = "https://shop.example.com";

/** Routes that read more of a message than the plain one, and what their clients send with a key. */
const READING = [
  // feature: json-rpc begins
  {
    route: { path: "/jsonrpc/*", jsonrpc: true },
    sent: (key: string) => ({
      key,
      body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pay","arguments":{"amount":4200,"note":"order 1138"}}}',
    }),
  },
  // feature: json-rpc ends
  // feature: verdicts begins
  {
    route: { path: "/verdicts/*", verdicts: [{ at: "/error", is: "refused" }] },
    sent: (key: string) => ({ key, body: BODY }),
  },
  // feature: verdicts ends
  {
    route: { path: "/json_scope/*", scope: ["header:authorization", "json:/source"] },
    sent: (key: string) => ({ key, body: BODY }),
  },
  // feature: content-keys begins
  {
    route: { path: "/digest/*", key_from: [{ digest: ["json:/description"], window: "10m", repeat: "replay" }] },
    sent: (key: string) => ({ key: null, body: BODY.replace("order 1138", key) }),
  },
  // feature: content-keys ends
  // feature: problem-shapes begins
  {
    route: { path: "/problems/*", problems: "acp" },
    sent: (key: string) => ({ key, body: BODY }),
  },
  // feature: problem-shapes ends
];

/** Settings that cost nothing where they have nothing to do. */
const FREE = {
  path: "/free/*",
  scope: ["header:authorization", "path", "route:payments"],
  refused: ["5xx", 425, 429],
  ambiguous: [408],
  after_refusal: "any", // feature: verdicts
};

const ROUTES = [
  ...READING.map(({ route }) => route),
  { path: "/v1/*" },
  { path: "/late/*", duplicate: "wait" },
  FREE,
  { path: "/new_keys/*", new_keys: "NEW_KEYS" },
  { path: "/cors/*", cors: { origins: [PAGE] } },
  { path: "/encrypt_responses/*", encrypt_responses: true },
];

/** The routes with one setting more than the plain one. Their requests come from a page. */
const SETTINGS = ["new_keys", "cors", "encrypt_responses"];

let origin: Origin;
let gateway: Gateway;
let stateDir: string;
let bundle: string;

beforeAll(async () => {
  origin = await startOrigin();
  bundle = await countingBundle();
  stateDir = await mkdtemp(join(tmpdir(), "onceway-budget-"));
  gateway = await startWorkerd({
    stateDir,
    vars: { IDEMPOTENCY: { origin: origin.url, shards: 1 }, ROUTES, NEW_KEYS: {} },
    bindings: { ENCRYPTION_SECRET: "s".repeat(64) },
    bundle,
  });
});
afterAll(async () => {
  await gateway.stop();
  origin.stop();
  for (const folder of [stateDir, bundle]) await rm(folder, { recursive: true });
});

/** `null`: without a key. */
async function send(key: string | null, { path = "v1/payments", origin: from, body = BODY }: Sent = {}): Promise<void> {
  const { host: _host, "content-length": _length, ...headers } = HEADERS;
  const origins = from === undefined ? {} : { origin: from };
  const keys = key === null ? {} : { "idempotency-key": key };
  const init = { method: "POST", headers: { ...headers, ...origins, ...keys }, body };
  const response = await fetch(`${gateway.url}/${path}`, init);
  expect(response.status).toBe(201);
  await response.arrayBuffer();
}

interface Sent {
  readonly path?: string;
  /** The page that it comes from; none by default. */
  readonly origin?: string;
  readonly body?: string;
}

async function takeCounts(): Promise<readonly number[]> {
  return v.parse(v.array(v.number()), await (await fetch(`${gateway.url}/counts`)).json());
}

/** Until the object has written what it has counted: whether a request sets a timer depends on whether another one is pending. */
function untilAtRest(): Promise<true> {
  return until(
    async () => ((await (await fetch(`${gateway.url}/pending`)).json()) === 0 ? true : null),
    "no timer is pending",
  );
}

/** The counts of what is done with each of these keys, each the least of all. */
async function countsOf(
  keys: readonly string[],
  act: (key: string) => Promise<unknown> = (key) => send(key),
): Promise<readonly number[]> {
  const all: (readonly number[])[] = [];
  for (const key of keys) {
    await untilAtRest();
    await takeCounts();
    await act(key);
    all.push(await takeCounts());
  }
  return BUDGET_COUNTS.map((_, at) => Math.min(...all.map((one) => one[at] ?? Number.NaN)));
}

/** What the first has more than the second. */
function moreThan(counts: readonly number[], plain: readonly number[]): readonly number[] {
  return counts.map((count, at) => count - (plain[at] ?? 0));
}

function freshKeys(): readonly string[] {
  return Array.from({ length: TRIES }, () => freshKey());
}

function readTable(title: string): readonly string[] {
  const { text } = readPage("test/bench/README.md");
  const [, table = ""] = new RegExp(`\\| ${title} \\| .*\\n\\| .*\\n((?:\\|.*\\n)*)`).exec(text) ?? [];
  return table.trimEnd().split("\n");
}

/** The rows of the table, without those that are all zero. */
function tableRows(columns: readonly (readonly number[])[]): readonly string[] {
  return BUDGET_COUNTS.map((what, at) => ({ what, numbers: columns.map((column) => column[at] ?? 0) }))
    .filter(({ numbers }) => numbers.some((number) => number !== 0))
    .map(({ what, numbers }) => `| ${what} | ${numbers.join(" | ")} |`);
}

describe("the budget of a request", () => {
  it("is the table in the documentation", async () => {
    const keys = freshKeys();
    // A shard's one-time work: its tables, its alarm, the address of its origin.
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await send(freshKey());
    const first = await countsOf(keys);
    // The origin answers late, so that the second finds the first in flight.
    const late = (key: string): Promise<void> => send(key, { path: "late/payments" });
    await late(freshKey());
    const alone = await countsOf(freshKeys(), late);
    const both = await countsOf(freshKeys(), (key) => Promise.all([late(key), late(key)]));
    const open = (key: string | null): Promise<void> => send(key, { path: "open/payments" });
    await open(null);
    const unprotected = await countsOf(freshKeys(), () => open(null));
    const keyed = await countsOf(freshKeys(), open);
    gateway = await restarted();
    await send(freshKey());
    const cold = await countsOf(keys);
    for (const key of keys) await send(key);
    const hot = await countsOf(keys);
    const columns = [first, cold, hot, moreThan(both, alone), unprotected, keyed];
    expect(readTable("the runtime's")).toEqual(tableRows(columns));
  });

  it("is the table in the documentation for each setting that costs something", async () => {
    const keys = freshKeys();
    const routes = ["v1", ...SETTINGS];
    const fromPage = (route: string, key: string): Promise<void> =>
      send(`${route}-${key}`, { path: `${route}/payments`, origin: PAGE });
    const firsts: (readonly number[])[] = [];
    const replays: (readonly number[])[] = [];
    for (const route of routes) {
      for (let warmUp = 0; warmUp < 3; warmUp += 1) await fromPage(route, freshKey());
      firsts.push(await countsOf(keys, (key) => fromPage(route, key)));
    }
    gateway = await restarted();
    await send(freshKey());
    for (const route of routes) replays.push(await countsOf(keys, (key) => fromPage(route, key)));
    const [plainFirst = [], plainReplay = []] = [firsts[0], replays[0]];
    const columns = SETTINGS.flatMap((_, at) => [
      moreThan(firsts[at + 1] ?? [], plainFirst),
      moreThan(replays[at + 1] ?? [], plainReplay),
    ]);
    expect(readTable("more of the runtime's")).toEqual(tableRows(columns));
  });

  it("is the table in the documentation for each setting that reads more of a message", async () => {
    const keys = freshKeys();
    const plain = { route: { path: "/v1/*" }, sent: (key: string) => ({ key, body: BODY }) };
    const kinds = [plain, ...READING].map(({ route, sent }) => (key: string) => {
      const { key: own, body } = sent(`${route.path.slice(1, -2)}-${key}`);
      return send(own, { path: `${route.path.slice(1, -2)}/payments`, body });
    });
    const [firsts, replays]: [(readonly number[])[], (readonly number[])[]] = [[], []];
    for (const act of kinds) {
      for (let warmUp = 0; warmUp < 3; warmUp += 1) await act(freshKey());
      firsts.push(await countsOf(keys, act));
    }
    gateway = await restarted();
    await send(freshKey());
    for (const act of kinds) replays.push(await countsOf(keys, act));
    const [plainFirst = [], plainReplay = []] = [firsts[0], replays[0]];
    const columns = READING.flatMap((_, at) => [
      moreThan(firsts[at + 1] ?? [], plainFirst),
      moreThan(replays[at + 1] ?? [], plainReplay),
    ]);
    expect(readTable("more for what is read")).toEqual(tableRows(columns));
  });
});

it("counts nothing for settings that have nothing to do", async () => {
  const keys = freshKeys();
  const [plain, free] = ["v1", "free"].map(
    (route) => (key: string) => send(`${route}-${key}`, { path: `${route}/payments` }),
  );
  const counts: (readonly number[])[] = [];
  for (const act of [plain, free]) {
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await act?.(freshKey());
    counts.push(await countsOf(keys, async (key) => act?.(key)));
  }
  gateway = await restarted();
  await send(freshKey());
  for (const act of [plain, free]) counts.push(await countsOf(keys, async (key) => act?.(key)));
  const [plainFirst, freeFirst, plainReplay, freeReplay] = counts;
  expect(freeFirst).toEqual(plainFirst);
  expect(freeReplay).toEqual(plainReplay);
});

/** Its Worker remembers nothing, its objects everything. */
async function restarted(): Promise<Gateway> {
  await gateway.stop();
  return gateway.restart();
}
