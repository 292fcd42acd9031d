// A short run of `npm run chaos`: the harness works, faults of every kind strike, and no guarantee breaks. Long runs on
// other seeds are for the command itself.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runChaos } from "../../../chaos/chaos.ts";
import { checkHistory } from "../../../guarantees/check-history.ts";
import { BROKEN_DIMENSIONS, dimensionsWithout } from "../../../chaos/dimensions.ts";
import { readHistory } from "../../../guarantees/history.ts";
import { countRun, summarize } from "../../../guarantees/summary.ts";

const SECONDS = 15;

it("keeps every guarantee while everything fails", { timeout: 180_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "onceway-chaos-"));
  const file = join(folder, "history.jsonl");
  await runChaos({
    seed: "every-fault",
    seconds: SECONDS,
    clients: 16,
    dimensions: dimensionsWithout(BROKEN_DIMENSIONS),
    file,
  });
  const history = await readHistory(file);
  await rm(folder, { recursive: true, force: true });
  const violations = checkHistory(history);
  if (violations.length > 0) console.error(summarize(history, violations));
  expect(violations).toEqual([]);

  const { faults, answers, effects, arrivals, keys, events, messages } = countRun(history);
  const struck = [...faults.keys()];
  expect(struck).toContain("gateway: killed and restarted");
  expect(struck).toContain("gateway: stopped and continued");
  expect(struck.filter((name) => name.startsWith("origin: ")).length).toBeGreaterThanOrEqual(5);
  expect(struck.filter((name) => name.startsWith("client: ")).length).toBeGreaterThanOrEqual(2);
  expect(struck.filter((name) => name.startsWith("verification: ")).length).toBeGreaterThanOrEqual(2);
  expect(struck.filter((name) => name.startsWith("operator: ")).length).toBeGreaterThanOrEqual(3);
  expect(effects).toBeGreaterThan(0);
  expect(arrivals).toBeGreaterThan(effects / 2);
  expect(keys).toBeGreaterThan(10);
  expect(events).toBeGreaterThan(10);
  expect(answers.get("complete: settled")).toBeGreaterThan(10);
  expect(messages).toBeGreaterThan(10);
  expect(answers.get("delivery: acked")).toBeGreaterThanOrEqual(messages);
  expect(struck.filter((name) => name.startsWith("verification by state: ")).length).toBeGreaterThanOrEqual(2);
  const answered = [...answers.keys()];
  expect(answered.filter((name) => name.startsWith("key: ")).length).toBeGreaterThanOrEqual(3);
  expect(answers.get("observed: 201")).toBeGreaterThan(10);
});
