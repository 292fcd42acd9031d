// Regression test: what a request costs of the runtime, counted in the running gateway. The numbers are in one table, in
// test/bench/README.md; a change that moves one has to update it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BUDGET_COUNTS } from "../../bench/budget-counts.ts";
import { type Origin, startOrigin } from "../../bench/processes.ts";
import { BODY, HEADERS } from "../../bench/requests-of-load.ts";
import { readPage } from "../../support/docs.ts";
import { type Gateway, startWorkerd } from "../../support/gateway.ts";
import { freshKey } from "../../support/http.ts";
import { projectDir } from "../../support/wrangler.ts";

/** Counts of the background, such as handing over the Worker's traffic, come in addition: the least of some tries has none. */
const TRIES = 5;

let origin: Origin;
let gateway: Gateway;
let stateDir: string;

beforeAll(async () => {
  origin = await startOrigin();
  stateDir = await mkdtemp(join(tmpdir(), "onceway-budget-"));
  gateway = await startWorkerd({
    stateDir,
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1 },
      ROUTES: [{ path: "/v1/*" }, { path: "/sealed/*", sealed: true }],
    },
    bindings: { SEAL_SECRET: "s".repeat(64) },
    main: join(projectDir, "test/bench/budget/index.ts"),
  });
});
afterAll(async () => {
  await gateway.stop();
  origin.stop();
  await rm(stateDir, { recursive: true });
});

async function send(key: string, folder: string): Promise<void> {
  const { host: _host, "content-length": _length, ...headers } = HEADERS;
  const init = { method: "POST", headers: { ...headers, "idempotency-key": key }, body: BODY };
  const response = await fetch(`${gateway.url}${folder}/payments`, init);
  expect(response.status).toBe(201);
  await response.arrayBuffer();
}

async function takeCounts(): Promise<readonly number[]> {
  return v.parse(v.array(v.number()), await (await fetch(`${gateway.url}/counts`)).json());
}

/** The counts of a request with each of these keys, each the least of all. */
async function countsOf(keys: readonly string[], folder: string): Promise<readonly number[]> {
  const all: (readonly number[])[] = [];
  for (const key of keys) {
    await takeCounts();
    await send(key, folder);
    all.push(await takeCounts());
  }
  return BUDGET_COUNTS.map((_, at) => Math.min(...all.map((one) => one[at] ?? Number.NaN)));
}

/** The rows of the table, without those that are all zero. */
function tableRows(columns: readonly (readonly number[])[]): readonly string[] {
  return BUDGET_COUNTS.map((what, at) => ({ what, numbers: columns.map((column) => column[at] ?? 0) }))
    .filter(({ numbers }) => numbers.some((number) => number !== 0))
    .map(({ what, numbers }) => `| ${what} | ${numbers.join(" | ")} |`);
}

describe("the budget of a request", () => {
  it.each([
    ["the runtime's", "/v1"],
    ["with `sealed`, the runtime's", "/sealed"],
  ])("is the table in the documentation: %s", async (heading, folder) => {
    const keys = Array.from({ length: TRIES }, () => freshKey());
    // A shard's one-time work: its tables, its alarm, the address of its origin.
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await send(freshKey(), folder);
    const first = await countsOf(keys, folder);
    gateway = await restarted();
    await send(freshKey(), folder);
    const cold = await countsOf(keys, folder);
    for (const key of keys) await send(key, folder);
    const hot = await countsOf(keys, folder);
    const { text } = readPage("test/bench/README.md");
    const [, after = ""] = text.split(`\n| ${heading} | `);
    const [, table = ""] = /^.*\n\| .*\n((?:\|.*\n)*)/.exec(after) ?? [];
    expect(table.trimEnd().split("\n")).toEqual(tableRows([first, cold, hot]));
  });
});

/** Its Worker remembers nothing, its objects everything. */
async function restarted(): Promise<Gateway> {
  await gateway.stop();
  return gateway.restart();
}
