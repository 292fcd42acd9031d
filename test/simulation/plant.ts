// Breaks the life cycle on purpose, so that the tests of the simulation can show that a rule finds it. To be imported before anything
// that imports the life cycle; after each test everything is whole again.

import { afterEach, expect, vi } from "vitest";
import type { LifeCycleEvent, LifeCycleStep } from "../../src/kernel/record/events.ts";
import type * as LifeCycle from "../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord } from "../../src/kernel/record/record.ts";
import type { EpochMs } from "../../src/kernel/record/units.ts";
import { explore, type Exploration, isAFew, type IsEnough } from "./explore.ts";
import { extrasOf } from "./plan.ts";

export type Steps = typeof LifeCycle.step;
/** `null`: this step is as it would be. */
type Broken = (actual: Steps, ...taken: Parameters<Steps>) => LifeCycleStep | null;

const planted = vi.hoisted((): { step: Broken | null } => ({ step: null }));

vi.mock(import("../../src/kernel/record/life-cycle.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const step: Steps = (...taken) => planted.step?.(actual.step, ...taken) ?? actual.step(...taken);
  return { ...actual, step };
});

afterEach(() => {
  planted.step = null;
  vi.restoreAllMocks();
});

/** Breaks some steps of records that exist. */
export function plantStep(
  broken: (actual: Steps, record: IdempotencyRecord, event: LifeCycleEvent, now: EpochMs) => LifeCycleStep | null,
): void {
  planted.step = (actual, record, event, _policy, now) => (record === null ? null : broken(actual, record, event, now));
}

/** Breaks some steps, also those of keys without a record. */
export function plantAnyStep(broken: Broken): void {
  planted.step = broken;
}

/** As many as the slowest of the planted faults takes, and as many again. */
export const MOST = 6_000;
export const SEED = 1;

/** The rule finds a planted fault within so many interleavings. */
export async function expectFound(rule: RegExp, ...extras: readonly string[]): Promise<void> {
  const isFound: IsEnough = (broken) => isAFew(broken) || rule.test(textOf(broken));
  expectViolation(await explore(MOST, SEED, () => undefined, extrasOf(extras), isFound), rule);
}

export function expectViolation({ broken }: Exploration, rule: RegExp): void {
  expect(textOf(broken)).toMatch(rule);
}

function textOf(broken: Exploration["broken"]): string {
  return broken.flatMap(({ violations }) => violations).join("\n");
}

/** A method as it is, for one that stands in its place. */
export function original<T extends object, Name extends keyof T>(prototype: T, name: Name): T[Name] {
  return prototype[name];
}
