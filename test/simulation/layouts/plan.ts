// What is fixed before an interleaving with several layouts begins: which deployments send requests side by side, the keys, the
// faults, and the weight of each kind of step. Layouts are named by their numbers of objects, as in a configuration.

import type { Layout, Layouts } from "../../../src/kernel/config/layout.ts";
import type { Policy } from "../../../src/kernel/record/record.ts";
import { KEY_HASH_DIGITS, type RecordId, recordId } from "../../../src/kernel/record/units.ts";
import { layoutName } from "../../../src/kernel/config/layout.ts";
import type { Random } from "../random.ts";

export const KINDS = [
  "request",
  "deliver",
  "reply",
  "commit",
  "arrive",
  "act",
  "answer",
  "body",
  "operator",
  "close",
  "layout out",
  "timer",
  "time",
  "alarm",
  // From here on: faults.
  "crash",
  "message lost",
  "message late",
  "message twice",
  "reply lost",
  "connection lost",
  "alarm twice",
  "clock back",
  "disk full",
] as const;
export type Kind = (typeof KINDS)[number];
export const FAULTS: readonly Kind[] = KINDS.slice(KINDS.indexOf("crash"));

function layout(shards: number): Layout {
  return { shards, jurisdiction: null, locationHint: null };
}

const [L64, L128, L256, L512] = [layout(64), layout(128), layout(256), layout(512)];

/** Workers of one deployment. */
export interface Deployment extends Layouts {
  readonly name: string;
}

export function deployment(own: Layout, ...elders: readonly Layout[]): Deployment {
  const list = elders.map(({ shards }) => shards).join(", ");
  return { name: elders.length === 0 ? `${own.shards}` : `${own.shards} [${list}]`, own, elders };
}

const A = deployment(L64);
const B = deployment(L128, L64);
const C = deployment(L256, L64, L128);
const D = deployment(L512, L64, L128, L256);

/** Deployments that run side by side: rollouts, roll-backs, and what a configuration can get wrong. */
interface Setting {
  readonly deployments: readonly Deployment[];
  /** One that is not in force, because it has been rolled back, but whose operator has closed layouts. */
  readonly rolledBack?: Deployment;
  readonly isContradiction: boolean;
}

const SETTINGS: readonly Setting[] = [
  { deployments: [A, B], isContradiction: false },
  { deployments: [A, B], isContradiction: false },
  { deployments: [A, B, C], isContradiction: false },
  { deployments: [A, B, C], isContradiction: false },
  { deployments: [B, C], isContradiction: false },
  { deployments: [A, C], isContradiction: false },
  { deployments: [B, C, D], isContradiction: false },
  { deployments: [B, C], rolledBack: D, isContradiction: false },
  // 128 is forgotten in the list.
  { deployments: [A, B, deployment(L256, L64)], isContradiction: false },
  // Back for real, to other objects.
  { deployments: [A, B, deployment({ ...L64, shards: "64b" }, L64, L128)], isContradiction: false },
  { deployments: [deployment(L64, L128), B], isContradiction: true },
];

/**
 * Each key is its own hash. With 64 objects all three share one; with 128 the first and the last do. They differ in their first digit, so
 * that a list may name one and not the others.
 */
const KEYS = ["00000000", "10000040", "20000080"].map((start) => (start + start).padEnd(KEY_HASH_DIGITS, "0"));

/** The name of a key's record in a layout. */
export function nameIn(key: string, at: Layout): RecordId {
  return recordId(`${key} in ${layoutName(at)}`);
}

export function keyOf(id: string): string {
  return id.slice(0, KEY_HASH_DIGITS);
}

export interface Plan {
  readonly unknown: Policy["unknown"];
  /** Whether keys are remembered after their records have expired. */
  readonly remembers: boolean;
  readonly deployments: readonly Deployment[];
  /** Those whose operators may close an older layout's objects. */
  readonly closers: readonly Deployment[];
  readonly keys: readonly string[];
  /** Two deployments each follow the other: their new keys may get 503 for ever. */
  readonly isContradiction: boolean;
  /** Whether SQLite refuses new records in sealed objects. Otherwise the code alone does. */
  readonly hasTriggers: boolean;
  readonly requests: number;
  readonly steps: number;
  readonly decisions: number;
  readonly faults: number;
  readonly keptBytes: number;
  readonly streams: false;
  /** Whether it ends in a calm phase, which takes as long as all steps before it. */
  readonly endsCalmly: boolean;
  readonly weights: Readonly<Record<Kind, number>>;
}

export function drawPlan(random: Random): Plan {
  const some = (...of: readonly number[]): number => random.of(of);
  const { deployments, rolledBack, isContradiction } = random.of(SETTINGS);
  const closers = rolledBack === undefined ? deployments : [...deployments, rolledBack];
  // The more layouts are older than one, the more there is to close out of order.
  const elders = Math.max(...closers.map((one) => one.elders.length));
  const hasTriggers = random.oneIn(16);
  const first = random.below(KEYS.length);
  const keys = [...KEYS.slice(first), ...KEYS.slice(0, first)].slice(0, some(1, 1, 1, 2, 3));
  const plan = {
    unknown: random.of(["retry", "hold"] as const),
    deployments,
    closers: closers.filter((one) => one.elders.length > 0),
    keys,
    isContradiction,
    hasTriggers,
    requests: 2 + random.below(4),
    steps: 16 + random.below(24),
    decisions: some(0, 0, 0, 1, 2),
    faults: some(0, 1, 2, 4),
    keptBytes: random.oneIn(12) ? 3 : 1000,
    streams: false as const,
    endsCalmly: random.oneIn(3),
    weights: {
      request: some(4, 8, 16),
      deliver: some(8, 16),
      reply: some(4, 8, 16),
      commit: some(4, 8, 16),
      arrive: 12,
      act: 8,
      answer: some(4, 8, 16),
      body: some(4, 16),
      operator: some(1, 4),
      close: elders > 2 ? some(0, 8, 16) : some(0, 0, 0, 1),
      "layout out": 0,
      timer: some(1, 4, 16),
      time: some(1, 2, 4),
      alarm: some(1, 4, 12),
      crash: some(0, 1, 3),
      "message lost": some(0, 0, 1),
      "message late": some(0, 1, 2),
      "message twice": some(0, 1, 2),
      "reply lost": some(0, 1, 2),
      "connection lost": some(0, 1, 2),
      "alarm twice": some(0, 0, 1),
      "clock back": some(0, 1, 2),
      "disk full": some(0, 0, 1),
    },
  };
  // Not drawn, so that the other draws stay as they are.
  const whole = { ...plan, remembers: plan.steps % 8 === 0 };
  if (plan.steps % 4 !== 1) return whole;
  // Layouts are left and taken out of the settings: that takes until their records have expired.
  return { ...whole, steps: 2 * plan.steps, weights: { ...plan.weights, close: 8, "layout out": 8 } };
}
