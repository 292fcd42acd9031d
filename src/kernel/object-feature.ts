// What a feature is within an object, and what it gets of it. All features of an object stand in one list (features/object.ts), in the order of
// their work; nothing registers itself.

import type { AnsweredCall } from "./call.ts";
import type { Due } from "./due.ts";
import type { ExchangePorts } from "./object/exchange-ports.ts";
import type { Exchanges } from "./object/exchanges.ts";
import type { RecordSteps } from "./object/record-steps.ts";
import type { Elders } from "./previous-shards/elders.ts";
import type { EpochMs } from "./record/units.ts";
import type { StepHook } from "./step-hook.ts";
import type { LedgerStorage } from "./store/ledger.ts";

/** What an object gives to its features. */
export interface ObjectKernel extends Pick<
  ExchangePorts,
  "ledger" | "alarm" | "timers" | "waitUntil" | "reporter" | "shard"
> {
  readonly env: Readonly<Record<string, unknown>>;
  readonly storage: LedgerStorage;
  readonly steps: RecordSteps;
  readonly elders: Elders;
  /** Runs an exchange whose answer goes to no client. */
  readonly deliver: Exchanges["deliver"];
}

export interface ObjectFeature {
  readonly name: string;
  /** Its parts in steps of records, in this order. */
  readonly hooks?: readonly StepHook[];
  /** What it does at the alarm, in this order. */
  readonly dues?: readonly Due[];
  /** What has been put off by a clock that was ahead is due at once; returns how much that was. */
  readonly bringBack?: (now: EpochMs) => number;
  readonly calls?: readonly AnsweredCall[];
  /** What it holds now, for its metrics in the Worker (`MetricsFeature.held`); plain data. */
  readonly numbers?: () => unknown;
}

export type ObjectFeatures = (kernel: ObjectKernel) => readonly ObjectFeature[];
