// How many calls one request of an operator makes, whatever the configuration lists, and that everything has its turn.

import { describe, expect, it } from "vitest";
import { epochMs } from "../../../src/kernel/record/units.ts";
import type { Layout } from "../../../src/kernel/config/layout.ts";
import {
  HALF_BUDGET,
  MAX_CALLS,
  planAsking,
  WHOLE_BUDGET,
  type AskingPlan,
} from "../../../src/operator/asking-plan.ts";
import { type ConfiguredLayout, ShardDirectory } from "../../../src/operator/shards.ts";

function directoryOf(...counts: readonly number[]): Pick<ShardDirectory, "askedAlone" | "gatherings" | "listed"> {
  const layouts = counts.map((shards, at): ConfiguredLayout => {
    const layout: Layout = {
      shards: `${shards}${"x".repeat(at)}` as Layout["shards"],
      jurisdiction: null,
      locationHint: null,
    };
    return { title: String(layout.shards), layout, next: null, routes: [] };
  });
  const directory = new ShardDirectory([]);
  return Object.assign(directory, { layouts });
}

const NOW = epochMs(1_795_250_000_000);

function callsOf({ alone, gatherings }: AskingPlan, questions: number): number {
  const asked = gatherings.reduce((sum, { ask }) => sum + ask, 0);
  return questions * (alone.length + gatherings.length) + asked;
}

describe("one request", () => {
  it.each([
    [64],
    [128],
    [129],
    [4096],
    [65_536],
    [64, 128, 4096],
    [65_536, 65_536],
    Array.from({ length: 20 }, () => 128),
    Array.from({ length: 9 }, () => 65_536),
    [...Array.from({ length: 9 }, () => 128), ...Array.from({ length: 9 }, () => 65_536)],
  ])("makes less than MAX_CALLS calls: %j", (...counts) => {
    const directory = directoryOf(...counts);
    for (const budget of [WHOLE_BUDGET, HALF_BUDGET]) {
      const plan = planAsking(directory, NOW, budget);
      expect(callsOf(plan, budget.questions)).toBeLessThanOrEqual(budget.calls);
      const planned = plan.gatherings.reduce((sum, { gathering }) => sum + gathering.count, 0);
      expect(plan.alone.length + planned + plan.missing).toBe(directory.listed.length);
    }
    expect(WHOLE_BUDGET.calls).toBeLessThan(MAX_CALLS);
  });

  it("asks every object of layouts of up to 128 objects, and hundreds of a large one", () => {
    expect(planAsking(directoryOf(64, 128), NOW)).toMatchObject({ gatherings: [], missing: 0 });
    expect(planAsking(directoryOf(64, 128), NOW).alone).toHaveLength(192);
    const large = planAsking(directoryOf(4096), NOW);
    expect(large.gatherings).toHaveLength(8);
    expect(large.gatherings.reduce((sum, { ask }) => sum + ask, 0)).toBe(750 - 16);
    expect(planAsking(directoryOf(600), NOW).gatherings.map(({ gathering }) => gathering.count)).toEqual([512, 88]);
  });

  it("leaves out in turn what it cannot ask", () => {
    const directory = directoryOf(...Array.from({ length: 6 }, () => 128));
    const asked = new Set<string>();
    for (let second = 0; second < 4; second += 1) {
      const { alone, missing } = planAsking(directory, NOW + second * 1000);
      expect(alone.length + missing).toBe(768);
      for (const { name } of alone) asked.add(name);
    }
    expect(asked.size).toBe(768);
  });
});
