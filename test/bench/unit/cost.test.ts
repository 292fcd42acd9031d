// The cost page's figures are what `npm run bench -- cost` prints today.

import { expect, it } from "vitest";
import { dollarsPerMillion, replayUsage } from "../cost/cost.ts";
import { costTable, shardsTable, storageTable } from "../cost/tables.ts";
import { readPage } from "../../support/docs.ts";

it.each([
  ["first requests, 10 a second over 64 shards", "first, shared shards, 10 a second"],
  ["first requests, 1000 a second", "first, shared shards, 1000 a second"],
  ["first requests, 100 a second, responses of 20 kB", "first, 100 a second, responses of 20 kB"],
  [
    "accepted requests with 3 looks at their monitor, 10 a second",
    "accepted, with 3 looks at its monitor, 10 a second",
  ],
  ["accepted requests with 3 looks, 1000 a second", "accepted, with 3 looks at its monitor, 1000 a second"],
  ["more for an event to a webhook, 10 a second", "more for an event to a webhook, 10 a second"],
  ["more for an event to a webhook, 1000 a second", "more for an event to a webhook, 1000 a second"],
  ["more for an event to a queue, 1000 a second", "more for an event to a queue, 1000 a second"],
  ["claims with their completions, 10 a second", "claim and completion, 10 a second"],
  ["claims with their completions, 1000 a second", "claim and completion, 1000 a second"],
  ["claims in batches of 100, 1000 a second", "claim and completion, 1000 a second, in batches of 100"],
  ["claims with a position, in batches of 100", "claim and completion with a position, in batches of 100"],
  ["first requests, one object per key", "first, one object per key"],
  ["replays", "replay"],
  ["a Worker that only forwards", "a Worker that only forwards"],
])("%s", (onPage, printed) => {
  const row = costTable()
    .split("\n")
    .find((line) => line.startsWith(`| ${printed} |`));
  const totals = [...(row ?? "").matchAll(/\*\*([\d.]+)\*\*/g)].map(([, total = ""]) => total);
  expect(totals).toHaveLength(3);
  expect(readPage("test/bench/README.md").text).toContain(`| ${onPage} | ${totals.join(" | ")} |\n`);
});

it("a replay, as the page about logs compares it", () => {
  const dollars = dollarsPerMillion(replayUsage()).total.toFixed(2);
  expect(readPage("src/kernel/traffic/README.md").text).toContain(`more than a replay itself costs (${dollars})`);
});

it("the page of the settings says how many shards a load needs, and what records take, as the bench prints it", () => {
  const { text: page } = readPage("src/kernel/config/README.md");
  expect(page).toContain(shardsTable());
  expect(page).toContain(storageTable());
});
