// `onceway plan`: how many shards a load needs on Cloudflare, which limit it meets first, and what it costs. Talks to nobody.

import { type Command, InvalidArgumentError, Option } from "commander";

import { MAX_SHARDS } from "../kernel/config/layout.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, parseDuration, type Parsed, parseSize } from "../kernel/config/units.ts";
import { Failure, REFUSED } from "./exit-codes.ts";
import { jsonLine, lookOf } from "./look.ts";
import { type LimitUse, planCapacity } from "./plan-capacity.ts";
import { planText } from "./plan-text.ts";

/** Bounds of the settings that the figures stand for. */
const MAX_TIMEOUT_MS = 15 * MINUTE_MS;
const MAX_RESPONSE_BYTES = 1e9;
const MAX_HEADER_BYTES = 128 * 1024;
const MAX_RETENTION_MS = 365 * DAY_MS;
const MAX_REMEMBER_MS = 3650 * DAY_MS;

/** More than any account is served. It keeps every figure finite. */
const MAX_RATE = 1e9;

interface PlanOptions {
  readonly rps: number;
  readonly originMs: number;
  readonly response: number;
  readonly headers: number;
  readonly maxResponseBody: number;
  readonly retention: number;
  readonly remember?: number;
  readonly replays: number;
  readonly spike: number;
  readonly shards?: number;
  readonly json?: boolean;
}

export function definePlan(command: Command): Command {
  return command
    .summary("how many shards a load needs on Cloudflare, and what it costs")
    .description(
      "Computes, for a gateway on Cloudflare (Workers Paid): how many shards a load needs, how much of each limit of an object it uses, which limit it meets first, and the dollars of a month of 30 days. Shards bear the peak; storage and dollars follow the average. A number is enough if the peak uses at most 60% of an object's six calls, because calls come at random and wait for each other long before, and 80% of the other limits.",
    )
    .requiredOption("--rps <N>", "requests with a key per second, on average", number("--rps 2000", 0, MAX_RATE))
    .requiredOption(
      "--origin-ms <N>",
      "milliseconds until the headers of the origin's response",
      number("--origin-ms 300", 0, MAX_TIMEOUT_MS),
    )
    .addOption(
      new Option("--response <SIZE>", "of the bodies of the origin's responses: 0B, 500B, 4kB, 2MiB")
        .argParser(readResponse)
        .default(4_000, "4kB"),
    )
    .addOption(
      new Option("--headers <SIZE>", "of the responses' headers, with their names: look at a real answer (curl -I)")
        .argParser(readHeaders)
        .default(500, "500B"),
    )
    .addOption(
      new Option("--max-response-body <SIZE>", "the setting: shards keep no larger bodies")
        .argParser(readResponse)
        .default(10_000_000, "10MB"),
    )
    .addOption(
      new Option("--retention <DURATION>", "how long records are kept: 24h, 7d")
        .argParser(readRetention)
        .default(24 * HOUR_MS, "24h"),
    )
    .addOption(
      new Option(
        "--remember <DURATION>",
        "the setting: how long keys are remembered, 30d; longer than the retention",
      ).argParser(readRemember),
    )
    .option("--replays <SHARE>", "the share of the requests that are replays, from 0 to 1", readShare, 0)
    .option("--spike <N>", "the peak, as a multiple of the average", number("--spike 3", 1, 1e6), 2)
    .option("--shards <N>", "judge this number of shards (default: the recommended one)", readShards)
    .option(
      "--json",
      "print one JSON object: {load, shards, limits: [{name, perShard, limit, used, enough}], waiting, month, dollars, ...}",
    )
    .addHelpText(
      "after",
      "\nExit codes: 0 the shards are enough, 1 they are not, 2 wrong arguments.\n\nExample: npx onceway plan --rps 2000 --origin-ms 300 --response 4kB --retention 24h",
    )
    .action(plan);
}

function plan({ rps, originMs, retention, remember, replays, spike, shards, json, ...sizes }: PlanOptions): void {
  if (remember !== undefined && remember <= retention) {
    throw new InvalidArgumentError("--remember must be longer than --retention: write --remember 30d.");
  }
  const load = {
    requestsPerSecond: rps,
    replays,
    spike,
    originMs,
    responseBytes: sizes.response,
    headerBytes: sizes.headers,
    maxResponseBytes: sizes.maxResponseBody,
    retentionMs: retention,
    rememberMs: remember ?? null,
  };
  const result = planCapacity(load, shards ?? null);
  if (json === true) console.log(jsonLine(result));
  else console.log(planText(result, lookOf(process.stdout)));
  const { neededShards, recommendedShards } = result;
  if (recommendedShards === null && neededShards > MAX_SHARDS) {
    throw new Failure(
      REFUSED,
      `No number of shards is enough: ${neededShards} would be needed, and ${MAX_SHARDS} is the most. ${ADVICE[result.limits[0].name]}`,
    );
  }
  if (!result.isEnough) {
    throw new Failure(REFUSED, `${shards} shards are too few: write shards = ${recommendedShards ?? neededShards}.`);
  }
}

const SPLIT = "Split the routes over several gateways (Workers with objects of their own)";

/** What helps when no number of shards does, by the limit that is met first. */
const ADVICE: Readonly<Record<LimitUse["name"], string>> = {
  calls: `${SPLIT}, or make the origin faster.`,
  requests: `${SPLIT}.`,
  storage: `${SPLIT}, keep records for a shorter time (retention, remember), or lower max_response_body.`,
};

/** A number above zero, or from `min` on. */
function number(example: string, min: number, max: number): (text: string) => number {
  const least = min === 0 ? "above 0" : `${min} or more`;
  return (text) => {
    const value = Number(text);
    if (/^\d+(?:\.\d+)?$/.test(text) && value > 0 && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Write a number ${least}, at most ${max}, without a unit: ${example}.`);
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
  const value = readSize(text);
  if (value <= MAX_RESPONSE_BYTES) return value;
  throw new InvalidArgumentError("A shard keeps 1GB of a response at most; larger ones go to R2.");
}

function readHeaders(text: string): number {
  const value = readSize(text);
  if (value <= MAX_HEADER_BYTES) return value;
  throw new InvalidArgumentError("The runtime takes 128KiB of headers at most: write 500B.");
}

/** The settings take no 0, but answers such as 204 have no body. */
function readSize(text: string): number {
  return /^0+B?$/.test(text) ? 0 : read(parseSize(/^\d+$/.test(text) ? Number(text) : text));
}

function readRetention(text: string): number {
  const value = read(parseDuration(text));
  if (value <= MAX_RETENTION_MS) return value;
  throw new InvalidArgumentError("It is at most 365d.");
}

function readRemember(text: string): number {
  const value = read(parseDuration(text));
  if (value <= MAX_REMEMBER_MS) return value;
  throw new InvalidArgumentError("It is at most 3650d.");
}

function read(parsed: Parsed<number>): number {
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.message}.`);
}
