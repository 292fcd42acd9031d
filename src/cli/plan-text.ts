// A plan as people read it. Pure.

import { formatDuration, formatSize } from "../config/units.ts";
import { columns, type Look } from "./look.ts";
import type { LimitUse, MonthlyCost, Plan } from "./plan-capacity.ts";
import { PLAN_DOLLARS } from "./prices.ts";

export function planText(plan: Plan, look: Look): string {
  const { load, limits, shards, neededShards } = plan;
  const [first] = limits;
  const share = `${rounded(load.replays * 100)}% of them replays`;
  const size = `responses of ${formatSize(load.responseBytes)}, kept for ${formatDuration(load.retentionMs)}`;
  return [
    `${rounded(load.requestsPerSecond)} requests/s (${share}), ${rounded(plan.peakRequestsPerSecond)}/s at the peak; origin ${rounded(load.originMs)} ms; ${size}`,
    "",
    `${look.paint("bold", `shards = ${shards}`)}  (${plan.isEnough ? "" : "too few; "}needed: ${rounded(neededShards)} or more)`,
    "",
    ...indented(columns([["in each shard", "", "limit", "used"], ...limits.map(limitRow)])),
    "",
    `The limit met first is that of ${WORDS[first.name]}, at ${rounded(first.reachedAtRequestsPerSecond)} requests/s.`,
    `${rounded(plan.records)} records at a time, of ${bytes(plan.bytesPerRecord)} each; ${rounded(plan.rowsPerKey)} rows written for each key.`,
    "",
    ...indented(
      columns([
        ["a month", "", "included", "dollars"],
        ...plan.month.map(costRow),
        ["Workers Paid", "", "", money(PLAN_DOLLARS)],
        ["in all", "", "", money(plan.dollars)],
      ]),
    ),
    "",
    "Not included: the Worker's processor time, R2, larger requests, retries that meet an attempt in flight.",
  ].join("\n");
}

const WORDS: Readonly<Record<LimitUse["name"], string>> = {
  calls: "calls to the origin in flight",
  requests: "requests/s at the peak",
  storage: "storage",
};

function limitRow({ name, perShard, limit, used }: LimitUse): readonly string[] {
  const text = name === "storage" ? bytes : rounded;
  return [WORDS[name], text(perShard), text(limit), `${rounded(used * 100)}%`];
}

const COSTS: Readonly<Record<MonthlyCost["what"], string>> = {
  workerRequest: "Worker requests",
  objectRequest: "object requests",
  rowWritten: "rows written",
  rowRead: "rows read",
  gigabyteSecond: "GB-seconds of duration",
  gigabyteMonth: "GB of storage",
};

function costRow({ what, amount, included, dollars }: MonthlyCost): readonly string[] {
  return [COSTS[what], rounded(amount), rounded(included), money(dollars)];
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}

/** Three digits that count, or all of those before the point. */
function rounded(value: number): string {
  const digits = Math.max(3, Math.floor(Math.log10(Math.max(1, value))) + 1);
  return new Intl.NumberFormat("en-US", { maximumSignificantDigits: Math.min(digits, 21) }).format(value);
}

function bytes(value: number): string {
  if (value >= 1e9) return `${rounded(value / 1e9)} GB`;
  if (value >= 1e6) return `${rounded(value / 1e6)} MB`;
  return value >= 1e3 ? `${rounded(value / 1e3)} kB` : `${rounded(value)} B`;
}

function money(dollars: number): string {
  return new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(dollars);
}
