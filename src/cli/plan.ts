// `onceway plan`: how many shards a load needs on Cloudflare, which limit it meets first, and what it costs. Talks to nobody.

import { type Command, InvalidArgumentError, Option } from "commander";

import { DAY_MS, HOUR_MS, MINUTE_MS, parseDuration, type Parsed, parseSize } from "../config/units.ts";
import { Failure, REFUSED } from "./exit-codes.ts";
import { jsonLine, lookOf } from "./look.ts";
import { MAX_SHARDS, planCapacity } from "./plan-capacity.ts";
import { planText } from "./plan-text.ts";

/** Bounds of the settings that the figures stand for. */
const MAX_TIMEOUT_MS = 15 * MINUTE_MS;
const MAX_RESPONSE_BYTES = 1e9;
const MAX_RETENTION_MS = 365 * DAY_MS;

/** More than any account is served. It keeps every figure finite. */
const MAX_RATE = 1e9;

interface PlanOptions {
  readonly rps: number;
  readonly originMs: number;
  readonly response: number;
  readonly retention: number;
  readonly replays: number;
  readonly spike: number;
  readonly shards?: number;
  readonly json?: boolean;
}

export function definePlan(command: Command): Command {
  return command
    .summary("how many shards a load needs on Cloudflare, and what it costs")
    .description(
      "Computes, for a gateway on Cloudflare (Workers Paid): how many shards a load needs, how much of each limit of an object it uses, which limit it meets first, and the dollars of a month of 30 days. Shards bear the peak; storage and dollars follow the average.",
    )
    .requiredOption("--rps <N>", "requests with a key per second, on average", number("--rps", 0, MAX_RATE))
    .requiredOption(
      "--origin-ms <N>",
      "milliseconds until the headers of the origin's response",
      number("--origin-ms", 0, MAX_TIMEOUT_MS),
    )
    .addOption(
      new Option("--response <SIZE>", "of the origin's responses: 500B, 4kB, 2MiB")
        .argParser(readResponse)
        .default(4_000, "4kB"),
    )
    .addOption(
      new Option("--retention <DURATION>", "how long records are kept: 24h, 7d")
        .argParser(readRetention)
        .default(24 * HOUR_MS, "24h"),
    )
    .option("--replays <SHARE>", "the share of the requests that are replays, from 0 to 1", readShare, 0)
    .option("--spike <N>", "the peak, as a multiple of the average", number("--spike", 1, 1e6), 2)
    .option("--shards <N>", "judge this number of shards (default: the recommended one)", readShards)
    .option(
      "--json",
      "print one JSON object: {load, shards, limits: [{name, perShard, limit, used}], month, dollars, ...}",
    )
    .addHelpText(
      "after",
      "\nExit codes: 0 the shards are enough, 1 they are not, 2 wrong arguments.\n\nExample: npx onceway plan --rps 2000 --origin-ms 300 --response 4kB --retention 24h",
    )
    .action(plan);
}

function plan({ rps, originMs, response, retention, replays, spike, shards, json }: PlanOptions): void {
  const load = {
    requestsPerSecond: rps,
    replays,
    spike,
    originMs,
    responseBytes: response,
    retentionMs: retention,
  };
  const result = planCapacity(load, shards ?? null);
  if (json === true) console.log(jsonLine(result));
  else console.log(planText(result, lookOf(process.stdout)));
  const { neededShards, recommendedShards } = result;
  if (recommendedShards === null && neededShards > MAX_SHARDS) {
    throw new Failure(
      REFUSED,
      `No number of shards is enough: ${neededShards} would be needed, and ${MAX_SHARDS} is the most. Split the routes over several gateways, or keep records for a shorter time.`,
    );
  }
  if (!result.isEnough) {
    throw new Failure(REFUSED, `${shards} shards are too few: write shards = ${recommendedShards ?? neededShards}.`);
  }
}

/** A number above zero, or from `min` on. */
function number(option: string, min: number, max: number): (text: string) => number {
  const least = min === 0 ? "above 0" : `${min} or more`;
  return (text) => {
    const value = Number(text);
    if (/^\d+(?:\.\d+)?$/.test(text) && value > 0 && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Write a number ${least}, at most ${max}, without a unit: ${option} 300.`);
  };
}

function readShare(text: string): number {
  const value = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && value < 1) return value;
  throw new InvalidArgumentError("Write a share from 0 to below 1: 0.1 for one request in ten.");
}

function readShards(text: string): number {
  const value = Number(text);
  if (/^[1-9]\d*$/.test(text) && value <= MAX_SHARDS) return value;
  throw new InvalidArgumentError(`Write a whole number from 1 to ${MAX_SHARDS}.`);
}

function readResponse(text: string): number {
  // A bare number is bytes here as in the settings, where it needs no quotes.
  const value = read(parseSize(/^\d+$/.test(text) ? Number(text) : text));
  if (value <= MAX_RESPONSE_BYTES) return value;
  throw new InvalidArgumentError("A shard keeps 1GB of a response at most; larger ones go to R2.");
}

function readRetention(text: string): number {
  const value = read(parseDuration(text));
  if (value <= MAX_RETENTION_MS) return value;
  throw new InvalidArgumentError("It is at most 365d.");
}

function read(parsed: Parsed<number>): number {
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.message}.`);
}
