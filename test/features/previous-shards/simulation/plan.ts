// What is fixed before an interleaving with several layouts begins: which deployments send requests side by side, the keys, the
// faults, and the weight of each kind of step. Layouts are named by their numbers of objects, as in a configuration.

import type { Layout, Layouts } from "../../../../src/kernel/config/layout.ts";
import type { Policy } from "../../../../src/kernel/record/record.ts";
import { KEY_HASH_DIGITS, type RecordId, recordId } from "../../../../src/kernel/record/units.ts";
import { layoutName, layoutTitle } from "../../../../src/kernel/config/layout.ts";
import type { Random } from "../../../simulation/random.ts";

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
  "limiter",
  "close",
  "layout out",
  "layout out early",
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
  "isolate lost",
] as const;
export type Kind = (typeof KINDS)[number];
export const FAULTS: readonly Kind[] = KINDS.slice(KINDS.indexOf("crash"));

function layout(shards: Layout["shards"], jurisdiction: Layout["jurisdiction"] = null): Layout {
  return { shards, jurisdiction, locationHint: null };
}

const [L64, L128, L256, L512] = [layout(64), layout(128), layout(256), layout(512)];
const [PER_KEY, EU] = [layout("per-key"), layout(64, "eu")];

/** Workers of one deployment. */
export interface Deployment extends Layouts {
  readonly name: string;
}

export function deployment(own: Layout, ...previous: readonly Layout[]): Deployment {
  const list = previous.map(layoutTitle).join(", ");
  return { name: previous.length === 0 ? layoutTitle(own) : `${layoutTitle(own)} [${list}]`, own, previous };
}

const A = deployment(L64);
const B = deployment(L128, L64);
const C = deployment(L256, L64, L128);
const D = deployment(L512, L64, L128, L256);

/** Deployments that run side by side: rollouts, roll-backs, and what a configuration can get wrong. All of them begin keys in one layout. */
export interface Setting {
  readonly deployments: readonly Deployment[];
  /** One that is not in force, because it has been rolled back or was never deployed, but whose operator closes layouts. */
  readonly rolledBack?: Deployment;
  readonly isContradiction: boolean;
  /** Layouts are taken out too early in all interleavings. */
  readonly isOutEarly?: boolean;
  /** What is not drawn: how many faults there are, and how likely they and other steps are. */
  readonly faults?: number;
  readonly weights?: Partial<Record<Kind, number>>;
  /** Whether new keys are limited, so that a limiter is asked before each claim. */
  readonly limitsKeys?: boolean;
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
  // Into objects for each key, and out of them.
  { deployments: [A, deployment(PER_KEY, L64)], isContradiction: false },
  { deployments: [deployment(PER_KEY), deployment(L64, PER_KEY)], isContradiction: false },
  {
    deployments: [deployment(PER_KEY), deployment(L64, PER_KEY), deployment(L128, PER_KEY, L64)],
    isContradiction: false,
  },
  { deployments: [A, deployment(EU, L64)], isContradiction: false },
  // Two operators close two layouts for each other.
  { deployments: [A, B], rolledBack: deployment(L64, L128), isContradiction: true },
];

/**
 * Each key is its own hash. With 64 objects all three share one; with 128 the first and the last do. They differ in their first digit, so
 * that their slots differ.
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
  /** Whether a limiter is asked before a new key is claimed. */
  readonly limitsKeys: boolean;
  /** Whether keys are remembered after their records have expired. */
  readonly remembers: boolean;
  readonly deployments: readonly Deployment[];
  /** Those whose operators may close a previous layout's objects. */
  readonly closers: readonly Deployment[];
  readonly keys: readonly string[];
  /** Two layouts may be closed for each other: new keys then get 503 for ever. */
  readonly isContradiction: boolean;
  /** Whether SQLite refuses new records in closed objects. Otherwise the code alone does. */
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

/** `only`: instead of a setting that is drawn. */
export function drawPlan(random: Random, only: Setting | null = null): Plan {
  const some = (...of: readonly number[]): number => random.of(of);
  const drawn = random.of(SETTINGS);
  const setting = only ?? drawn;
  const { deployments, rolledBack, isContradiction, isOutEarly = false } = setting;
  const closers = rolledBack === undefined ? deployments : [...deployments, rolledBack];
  const hasTriggers = random.oneIn(16);
  const first = random.below(KEYS.length);
  const keys = [...KEYS.slice(first), ...KEYS.slice(0, first)].slice(0, some(1, 1, 1, 2, 3));
  const plan = {
    unknown: random.of(["retry", "hold"] as const),
    deployments,
    closers: closers.filter((one) => one.previous.length > 0),
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
      limiter: 8,
      close: some(0, 4, 8, 16),
      "layout out": 0,
      "layout out early": 0,
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
      "isolate lost": some(0, 0, 1),
    },
  };
  // Not drawn, so that the other draws stay as they are.
  const whole = {
    ...plan,
    remembers: plan.steps % 8 === 0,
    limitsKeys: setting.limitsKeys ?? plan.steps % 5 === 0,
    faults: setting.faults ?? plan.faults,
    weights: { ...plan.weights, ...setting.weights },
  };
  if (plan.steps % 4 !== 1 && !isOutEarly) return whole;
  // Layouts are closed and taken out of the settings: that takes until their records have expired.
  const out = { "layout out": 8, "layout out early": isOutEarly || plan.steps % 8 === 1 ? 8 : 0 };
  return { ...whole, steps: 2 * plan.steps, weights: { ...whole.weights, close: 8, ...out } };
}
