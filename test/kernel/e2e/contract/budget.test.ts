// Regression test: what a request costs of the runtime, counted in the running gateway. The numbers are in one table, in
// test/bench/README.md; a change that moves one has to update it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BUDGET_COUNTS } from "../../../bench/budget-counts.ts";
import { type Origin, startOrigin } from "../../../bench/processes.ts";
import { BODY, HEADERS } from "../../../bench/requests-of-load.ts";
import { readPage } from "../../../support/docs.ts";
import { type Gateway, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { until } from "../../../support/e2e/scene.ts";
import { projectDir } from "../../../support/wrangler.ts";

/** Counts of the background, such as handing over the Worker's traffic, come in addition: the least of some tries has none. */
const TRIES = 5;

const PAGE = "https://shop.example.com";

const ROUTES = [
  { path: "/v1/*" },
  { path: "/new_keys/*", new_keys: "NEW_KEYS" },
  { path: "/cors/*", cors: { origins: [PAGE] } },
  { path: "/encrypt_responses/*", encrypt_responses: true },
];

/** The routes with one setting more than the plain one. Their requests come from a page. */
const SETTINGS = ["new_keys", "cors", "encrypt_responses"];

let origin: Origin;
let gateway: Gateway;
let stateDir: string;

beforeAll(async () => {
  origin = await startOrigin();
  stateDir = await mkdtemp(join(tmpdir(), "onceway-budget-"));
  gateway = await startWorkerd({
    stateDir,
    vars: { IDEMPOTENCY: { origin: origin.url, shards: 1 }, ROUTES, NEW_KEYS: {} },
    bindings: { ENCRYPTION_SECRET: "s".repeat(64) },
    main: join(projectDir, "test/bench/budget/index.ts"),
  });
});
afterAll(async () => {
  await gateway.stop();
  origin.stop();
  await rm(stateDir, { recursive: true });
});

async function send(key: string, route: string | null = null): Promise<void> {
  const { host: _host, "content-length": _length, ...headers } = HEADERS;
  const origins = route === null ? {} : { origin: PAGE };
  const init = { method: "POST", headers: { ...headers, ...origins, "idempotency-key": key }, body: BODY };
  const response = await fetch(`${gateway.url}/${route ?? "v1"}/payments`, init);
  expect(response.status).toBe(201);
  await response.arrayBuffer();
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

/** The counts of a request with each of these keys, each the least of all. */
async function countsOf(keys: readonly string[], route: string | null = null): Promise<readonly number[]> {
  const all: (readonly number[])[] = [];
  for (const key of keys) {
    await untilAtRest();
    await takeCounts();
    await send(key, route);
    all.push(await takeCounts());
  }
  return BUDGET_COUNTS.map((_, at) => Math.min(...all.map((one) => one[at] ?? Number.NaN)));
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
    const keys = Array.from({ length: TRIES }, () => freshKey());
    // A shard's one-time work: its tables, its alarm, the address of its origin.
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await send(freshKey());
    const first = await countsOf(keys);
    gateway = await restarted();
    await send(freshKey());
    const cold = await countsOf(keys);
    for (const key of keys) await send(key);
    const hot = await countsOf(keys);
    expect(readTable("the runtime's")).toEqual(tableRows([first, cold, hot]));
  });

  it("is the table in the documentation for each setting that costs something", async () => {
    const keys = Array.from({ length: TRIES }, () => freshKey());
    const routes = ["v1", ...SETTINGS];
    const firsts: (readonly number[])[] = [];
    const replays: (readonly number[])[] = [];
    for (const route of routes) {
      for (let warmUp = 0; warmUp < 3; warmUp += 1) await send(freshKey(), route);
      firsts.push(
        await countsOf(
          keys.map((key) => `${route}-${key}`),
          route,
        ),
      );
    }
    gateway = await restarted();
    await send(freshKey());
    for (const route of routes)
      replays.push(
        await countsOf(
          keys.map((key) => `${route}-${key}`),
          route,
        ),
      );
    const [plainFirst = [], plainReplay = []] = [firsts[0], replays[0]];
    const more = (counts: readonly number[], plain: readonly number[]) =>
      counts.map((count, at) => count - (plain[at] ?? 0));
    const columns = SETTINGS.flatMap((_, at) => [
      more(firsts[at + 1] ?? [], plainFirst),
      more(replays[at + 1] ?? [], plainReplay),
    ]);
    expect(readTable("more of the runtime's")).toEqual(tableRows(columns));
  });
});

/** Its Worker remembers nothing, its objects everything. */
async function restarted(): Promise<Gateway> {
  await gateway.stop();
  return gateway.restart();
}
