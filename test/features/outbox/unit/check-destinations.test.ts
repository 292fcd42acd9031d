// The destinations of a whole wrangler.toml: what the file says elsewhere about their queues and secrets.

import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { blockWith } from "../../../support/docs.ts";

const BASE = `
name = "gateway"
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]
routes = ["api.example.com/*"]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
`;
const PUBLISH = 'publish = [{ to = "next", type = "a" }, { to = "hook", type = "a" }]';
const DESTINATIONS = `vars.DESTINATIONS = [{ name = "next", queue = "NEXT" }, { name = "hook", url = "https://hooks.example/", secret = ["NEW", "OLD"] }]
`;
const FILE = `${BASE}
vars.ROUTES = [{ path = "/v1/payments", ${PUBLISH} }]
${DESTINATIONS}`;
const NEXT = '[[queues.producers]]\nqueue = "payments"\nbinding = "NEXT"\n';
// feature: queues begins
const QUEUE = `${BASE}
vars.IDEMPOTENCY = { origin = "https://api.example" }
vars.QUEUES = [{ queue = "orders", to = "/in", dead_letter = { binding = "DEAD" }, ${PUBLISH} }]
${DESTINATIONS}`;
const CONSUMED = `[[queues.consumers]]
queue = "orders"
max_retries = 100
dead_letter_queue = "orders-lost"
[[queues.producers]]
queue = "orders-dead"
binding = "DEAD"
${NEXT}`;
// feature: queues ends

function problems(toml: string): readonly string[] {
  const found = checkWranglerConfig(parse(toml)).flatMap((environment) => environment.problems);
  for (const { message } of found) expect(message).toMatch(/: (?:write|make) /);
  return found.map(({ path, message }) => `${path} ${message}`);
}

describe("a file with destinations", () => {
  it.each([
    "[[queues.producers]]",
    "idempotencykey", // feature: key-sources
  ])("is fine as the page of events shows it, with %s", (text) => {
    const block = blockWith("src/features/outbox/README.md", text);
    const placed = '[vars.IDEMPOTENCY]\nlocation_hint = "weur"\n';
    const shown = parse(block.includes("[vars.IDEMPOTENCY]") ? block : `${block}\n${placed}`);
    expect(checkWranglerConfig({ ...parse(BASE), ...shown })).toMatchObject([{ problems: [], warnings: [] }]);
  });

  it.each([
    ["no trigger at all", "", true],
    ["no cron", "[triggers]\ncrons = []\n", true],
    ["a cron", '[triggers]\ncrons = ["*/5 * * * *"]\n', false],
  ])("is warned of alerts of silent shards with %s", (_what, triggers, isWarned) => {
    const alerted = FILE.replace('"OLD"] }', '"OLD"], alerts = ["silent-shard"] }');
    const file = `${alerted}${NEXT}${triggers}`;
    const [checked] = checkWranglerConfig(parse(file));
    const reported = checked?.warnings.filter(({ path }) => path === "DESTINATIONS").map(({ message }) => message);
    const warning =
      '"hook" never gets an alert of a silent shard, because no cron trigger looks for one: write [triggers] with crons = ["* * * * *"]';
    expect([checked?.problems, reported]).toEqual([[], isWarned ? [warning] : []]);
  });

  it("is fine with a producer for each queue, and its secrets elsewhere", () => {
    expect(problems(FILE + NEXT)).toEqual([]);
  });

  it.each([
    ["a queue without a producer", FILE, 'DESTINATIONS the binding "NEXT" of "next" is no queue'],
    // feature: queues begins
    [
      "a queue that publishes to itself",
      QUEUE + CONSUMED.replace("payments", "orders"),
      'QUEUES[0].publish "next" leads back to "orders"',
    ],
    [
      "alerts of dead letters in a queue that it consumes",
      `${QUEUE.replace('queue = "NEXT" }', 'queue = "NEXT", alerts = ["dead-letter"] }').replace('{ to = "next", type = "a" }, ', "")}${CONSUMED.replace("payments", "orders")}`,
      'DESTINATIONS "next" gets alerts of dead letters in "orders"',
    ],
    // feature: queues ends
    [
      "a secret in the file",
      `${FILE}vars.OLD = "whsec_${btoa("0".repeat(32))}"\n${NEXT}`,
      "OLD is a secret, and whoever has this file or an older version of it can read it: make a new one",
    ],
  ])("is refused with %s", (_what, toml, problem) => {
    expect(problems(toml)).toEqual([expect.stringContaining(problem)]);
  });
});
