// A plan as people read it. Pure.

import { formatDuration, formatSize } from "../kernel/config/units.ts";
import { columns, type Look } from "./look.ts";
import { MAX_SHARDS } from "../kernel/config/layout.ts";
import { type LimitUse, type MonthlyCost, OPERABLE_SHARDS, type Plan } from "./plan-capacity.ts";
import { REMEMBERED_BYTES } from "./plan-cost.ts";
import type { Waiting } from "./plan-waiting.ts";
import { PLAN_DOLLARS } from "./prices.ts";

export function planText(plan: Plan, look: Look): string {
  const { load, limits, waiting } = plan;
  const [first] = limits;
  const share = `${rounded(load.replays * 100)}% of them replays`;
  const size = `responses of ${formatSize(load.responseBytes)} and ${formatSize(load.headerBytes)} of headers, kept for ${formatDuration(load.retentionMs)}`;
  return [
    `${rounded(load.requestsPerSecond)} requests/s (${share}), ${rounded(plan.peakRequestsPerSecond)}/s at the peak; origin ${rounded(load.originMs)} ms; ${size}`,
    "",
    shardsLine(plan, look),
    "",
    ...indented(columns([["in each shard", "", "limit", "used", "enough up to"], ...limits.map(limitRow)])),
    "",
    `The limit met first is that of ${WORDS[first.name]}: these shards are enough up to ${rounded(first.enoughUpToRequestsPerSecond)} requests/s.`,
    waitingText(waiting),
    `${rounded(plan.records)} records at a time, of ${bytes(plan.bytesPerRecord)} each${rememberedText(plan)}; ${rounded(plan.rowsPerKey)} rows written for each key.`,
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
    ...notes(plan),
  ].join("\n");
}

function rememberedText({ load, rememberedKeys }: Plan): string {
  if (load.rememberMs === null) return "";
  return `, and ${rounded(rememberedKeys)} keys remembered for ${formatDuration(load.rememberMs)}, of ${bytes(REMEMBERED_BYTES)} each`;
}

function shardsLine({ shards, neededShards, isEnough }: Plan, look: Look): string {
  const needed = rounded(neededShards);
  if (shards > MAX_SHARDS)
    return `No number of shards is enough: ${needed} are needed, and the setting takes ${MAX_SHARDS}.`;
  return `${look.paint("bold", `shards = ${shards}`)}  (${isEnough ? "" : "too few; "}needed: ${needed} or more)`;
}

function waitingText({ share, meanMs }: Waiting): string {
  if (meanMs === null) return "At the peak calls wait for each other longer and longer, until it is over.";
  return `At the peak ${rounded(share * 100)}% of the calls wait for another one of their shard: all calls ${rounded(meanMs)} ms on average.`;
}

function notes({ load, shards, keepsBodies }: Plan): readonly string[] {
  const notKept = `Responses above max_response_body (${formatSize(load.maxResponseBytes)}) are not kept in shards, and not counted as storage: bind an R2 bucket as BODIES, or raise max_response_body and write --max-response-body.`;
  const many = `With more than ${OPERABLE_SHARDS} shards, counted with those of previous_shards, the console's overview needs more calls than one request may make; lists from 5,000 on, a scrape of the metrics from 10,000 on. Each scrape calls every shard. Split the routes over several gateways (Workers with objects of their own).`;
  return [...(keepsBodies ? [] : [notKept]), ...(shards > OPERABLE_SHARDS ? [many] : [])].flatMap((note) => ["", note]);
}

const WORDS: Readonly<Record<LimitUse["name"], string>> = {
  calls: "calls to the origin in flight",
  requests: "requests/s at the peak",
  storage: "storage",
};

function limitRow({ name, perShard, limit, used, enough }: LimitUse): readonly string[] {
  const text = name === "storage" ? bytes : rounded;
  return [WORDS[name], text(perShard), text(limit), `${rounded(used * 100)}%`, `${rounded(enough * 100)}%`];
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
