import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { describeConfig, flatEntry } from "../../../../src/cli/check/describe.ts";
import { claimsNode } from "../../../../src/features/claims/cli/node.ts";
import { readConsumerTokens } from "../../../../src/features/claims/settings/consumer-checks.ts";
import type { ConsumerGroup } from "../../../../src/kernel/config/resolved.ts";
import { configOf, problemsOf } from "../../../kernel/unit/config/support.ts";

type Settings = Readonly<Record<string, unknown>>;

const [BILLING, OTHER] = ["b".repeat(32), "c".repeat(32)];
const GROUP: Settings = { name: "billing", token: "BILLING_TOKEN" };
const WORKER: Settings = { BILLING_TOKEN: BILLING, OTHER_TOKEN: OTHER };

function groupOf(settings: Settings, others: Settings = {}): ConsumerGroup {
  const [group] = configOf({ ...WORKER, CONSUMERS: [{ ...GROUP, ...settings }], ...others }).consumers;
  if (group === undefined) throw new Error("no group");
  return group;
}

// feature: outbox begins
function problemsIn(settings: Settings, others: Settings = {}): readonly string[] {
  const found = problemsOf({ ...WORKER, CONSUMERS: [{ ...GROUP, ...settings }], ...others });
  return found.map(({ path, message }) => `${path}: ${message}`);
}
// feature: outbox ends

describe("a group of consumers", () => {
  it("needs no route, and has defaults of its own", () => {
    const { route, maxLockMs, tokens, group } = groupOf({});
    expect({ group, maxLockMs, tokens }).toEqual({ group: "billing", maxLockMs: 900_000, tokens: ["BILLING_TOKEN"] });
    expect(route).toMatchObject({ path: "claims:billing", methods: ["CLAIM"], scope: [] });
    expect(route.rules.policy).toEqual({
      unknown: "hold",
      lockMs: 60_000,
      retentionMs: 7 * 86_400_000,
      unknownRetentionMs: 365 * 86_400_000,
    });
  });

  // feature: outbox begins
  it("publishes what it says, or else what IDEMPOTENCY says", () => {
    const others = {
      IDEMPOTENCY: { publish: [{ to: "audit", type: "done" }], encrypt_responses: true, forward_key: "charge" },
      DESTINATIONS: [{ name: "audit", queue: "AUDIT" }],
      AUDIT: {},
    };
    const audit = { to: "audit", when: ["2xx"], data: "response" };
    expect(groupOf({}, others).route.rules.policy.publish).toEqual([{ ...audit, type: "done" }]);
    const own = groupOf({ publish: [{ to: "audit", type: "charged", step: "payment" }] }, others);
    expect(own.route.rules.policy.publish).toEqual([{ ...audit, type: "charged", step: "payment" }]);
    // A key with the step is a key too.
    expect(own.route.keyFormat.max).toBe(255 - ":payment".length);
    expect(groupOf({ publish: [] }, others).route.rules.policy.publish).toBeUndefined();
    const described = describeConfig(
      configOf({ ...WORKER, CONSUMERS: [GROUP], ...others, IDEMPOTENCY: { publish: [{ to: "audit", type: "done" }] } }),
    );
    expect(described).toContain('claims:billing: publishes "done" to');
  });
  // feature: outbox ends

  // feature: outbox begins
  it("refuses to publish to nowhere, and what a claim does not have", () => {
    expect(problemsIn({ publish: [{ to: "audit", type: "charged" }] })).toEqual([
      'CONSUMERS[0].publish[0].to: there is no destination "audit": write [[vars.DESTINATIONS]] with name = "audit"',
    ]);
    const others = { DESTINATIONS: [{ name: "audit", queue: "AUDIT" }], AUDIT: {} };
    expect(problemsIn({ publish: [{ to: "audit", type: "charged", data: "origin" }] }, others)).toEqual([
      'CONSUMERS[0].publish[0].data: must not be "origin", because a claim has no response in which an origin could say anything: write data = "response"',
    ]);
  });
  // feature: outbox ends

  it("inherits where records are from IDEMPOTENCY, and nothing that is about calls", () => {
    const IDEMPOTENCY = {
      shards: 7,
      previous_shards: [3], // feature: previous-shards
      unknown: "retry",
      lock: "50s",
      timeout: "45s",
      retention: "30d",
      unknown_retention: "400d",
      remember: "700d",
      async: "always", // feature: accepted
    };
    const { route } = groupOf({ lock: "10s" }, { IDEMPOTENCY });
    expect(route.layouts.own.shards).toBe(7);
    expect(route.layouts.previous).toMatchObject([{ shards: 3 }]); // feature: previous-shards
    expect(route.rules.policy).toEqual({
      unknown: "hold",
      lockMs: 10_000,
      retentionMs: 7 * 86_400_000,
      unknownRetentionMs: 400 * 86_400_000,
    });
    expect(groupOf({ shards: 8 }, { IDEMPOTENCY }).route.layouts.own.shards).toBe(8);
  });

  it("has a path that is the gateway's only if there is a group", () => {
    expect(configOf({ ...WORKER, CONSUMERS: [GROUP] }).consumerPath).toBe("/_claims");
    const IDEMPOTENCY = { origin: "https://api.example", consumer_path: "/in/claims" };
    expect(configOf({ ...WORKER, IDEMPOTENCY, CONSUMERS: [GROUP] }).consumerPath).toBe("/in/claims");
    expect(configOf({ IDEMPOTENCY, ROUTES: [{ path: "/in/claims/x" }] }).consumerPath).toBeNull();
  });

  it("shares neither its name nor a token with another", () => {
    const twice = problemsOf({ ...WORKER, CONSUMERS: [GROUP], CONSUMERS_2: [{ ...GROUP, token: "OTHER_TOKEN" }] });
    expect(twice).toMatchObject([{ path: "CONSUMERS_2[0].name" }]);
    const same = problemsOf({ ...WORKER, CONSUMERS: [GROUP, { ...GROUP, token: "OTHER_TOKEN" }] });
    expect(same).toMatchObject([
      { path: "CONSUMERS[1].name", message: 'names the group "billing" again: write each group once' },
    ]);
    const values = problemsOf({
      BILLING_TOKEN: BILLING,
      OTHER_TOKEN: BILLING,
      CONSUMERS: [GROUP, { name: "b", token: "OTHER_TOKEN" }],
    });
    expect(values).toMatchObject([{ path: "OTHER_TOKEN" }]);
  });

  it("gives all its tokens, while one is changed for another", () => {
    const { consumers } = configOf({ ...WORKER, CONSUMERS: [{ ...GROUP, token: ["BILLING_TOKEN", "OTHER_TOKEN"] }] });
    expect(readConsumerTokens(WORKER, consumers).tokens).toEqual([
      { group: "billing", token: BILLING },
      { group: "billing", token: OTHER },
    ]);
  });

  it("is shown with what a claim is worth", () => {
    const config = configOf({
      ...WORKER,
      CONSUMERS: [GROUP, { name: "mail", token: "OTHER_TOKEN", unknown: "retry", lock: "5m" }],
    });
    const text = describeConfig(config);
    expect(text).toContain("claims:billing  claim");
    expect(text).toContain(
      "claims:billing: a claim holds its key for 60s, at most 15m; if its holder does not say how it ended, nobody gets the key",
    );
    expect(text).toContain(
      "claims:mail: a claim holds its key for 5m, at most 15m; if its holder does not say how it ended, the next one gets the key",
    );
    expect((claimsNode.entries?.of(config) ?? []).map(flatEntry)).toMatchObject([
      { group: "billing", unknown: "hold", lockMs: 60_000 },
      {},
    ]);
  });
});

describe("a file with groups", () => {
  const FILE = `
main = "src/index.ts"
compatibility_date = "2026-11-01"
compatibility_flags = ["nodejs_compat", "enable_request_signal"]
[[durable_objects.bindings]]
name = "KEY_SHARD"
class_name = "KeyShard"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["KeyShard"]
[[vars.CONSUMERS]]
name = "billing"
token = "BILLING_TOKEN"
`;

  it("is fine without its secrets, and refused with them", () => {
    const [fine] = checkWranglerConfig(parse(FILE));
    expect(fine?.problems).toEqual([]);
    const [bad] = checkWranglerConfig(parse(`${FILE}\n[vars]\nBILLING_TOKEN = "${BILLING}"\n`));
    expect(bad?.problems).toMatchObject([{ path: "BILLING_TOKEN", message: expect.stringContaining("is a secret") }]);
  });
});
