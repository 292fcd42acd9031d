// Destinations of events and what routes publish: what is read, and what is refused with its remedy.

import { describe, expect, it } from "vitest";
import { readConfig } from "../../../../src/features/settings.ts";
import { destinationsIn } from "../../../../src/features/outbox/settings/read-destinations.ts";
import { configWarnings } from "../../../../src/cli/check/file.ts";

const SECRET = `whsec_${btoa("0".repeat(32))}`;
const QUEUE = { name: "audit", queue: "AUDIT" };
const HOOK = { name: "billing", url: "https://billing.example/hooks", secret: "HOOK_SECRET" };
const PUBLISH = { to: "billing", type: "order.created" };

function env(destinations: unknown, route: object = {}, more: object = {}): Readonly<Record<string, unknown>> {
  return {
    IDEMPOTENCY: { origin: "https://api.example" },
    ROUTES: [{ path: "/v1/orders", ...route }],
    DESTINATIONS: destinations,
    AUDIT: {},
    HOOK_SECRET: SECRET,
    ...more,
  };
}

const ALERTED = { alerts: ["outcome-unknown"], console: "https://ops.example/_onceway/" };

function problems(...given: Parameters<typeof env>): readonly string[] {
  const read = readConfig(env(...given));
  return read.ok ? [] : read.problems.map(({ path, message }) => `${path} ${message}`);
}

describe("destinations", () => {
  it("are queues and webhooks, with defaults", () => {
    const given = env([
      QUEUE,
      { ...HOOK, secret: ["HOOK_SECRET", "HOOK_SECRET"].slice(1), give_up: { after: "1h" }, ...ALERTED },
    ]);
    const HOUR_MS = 3_600_000;
    expect([...destinationsIn(given).values()]).toEqual([
      {
        name: "audit",
        target: { kind: "queue", binding: "AUDIT" },
        giveUpAfterMs: 72 * HOUR_MS,
        keepDeadMs: 720 * HOUR_MS,
        alerts: [],
        console: null,
      },
      {
        name: "billing",
        target: { kind: "webhook", url: "https://billing.example/hooks", secrets: ["HOOK_SECRET"] },
        giveUpAfterMs: HOUR_MS,
        keepDeadMs: 720 * HOUR_MS,
        alerts: ["outcome-unknown"],
        console: "https://ops.example/_onceway",
      },
    ]);
    expect(problems([QUEUE, HOOK])).toEqual([]);
  });

  it("refuse a secret that is none, without showing it", () => {
    const found = problems([HOOK], {}, { HOOK_SECRET: "password-123" }).join("\n");
    expect(found).toContain("DESTINATIONS[0].secret the secret HOOK_SECRET is none for webhooks (Standard Webhooks)");
    expect(found).not.toContain("password");
  });

  it("may be plain http on the same machine", () => {
    expect(problems([{ ...HOOK, url: "http://127.0.0.1:9/hook" }])).toEqual([]);
  });

  it("to which nothing is published, and which get no alerts, are warned of", () => {
    const reported = { ...HOOK, name: "ops", ...ALERTED };
    const read = readConfig(env([QUEUE, HOOK, reported], { publish: [PUBLISH] }));
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    expect(configWarnings(read.config).map(({ message }) => message)).toEqual([
      expect.stringContaining('nothing is published to "audit"'),
    ]);
  });
});

describe("publish", () => {
  it("becomes part of the route's policy, with defaults, and of no other route's", () => {
    const longest = "t".repeat(255);
    const given = env([HOOK], {
      publish: [PUBLISH, { ...PUBLISH, type: longest, when: [100, 599, "4xx"], data: "none", step: "pay" }],
    });
    const read = readConfig({ ...given, ROUTES_2: [{ path: "/v1/other" }] });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const [route, other] = read.config.routes;
    expect(route?.rules.policy.publish).toEqual([
      { ...PUBLISH, when: ["2xx"], data: "response" },
      { ...PUBLISH, type: longest, when: [100, 599, "4xx"], data: "none", step: "pay" },
    ]);
    expect(route?.keyFormat.max).toBe(255 - ":pay".length);
    expect(other?.rules.policy).not.toHaveProperty("publish");
    expect(other?.keyFormat.max).toBe(255);
  });

  it("is refused with a member that it does not know, and not left out", () => {
    expect(problems([HOOK], { publish: [{ ...PUBLISH, wen: ["2xx"] }] })).toEqual([
      "ROUTES[0].publish[0].wen unknown setting: leave it out",
    ]);
    const problem = "ROUTES[0].publish must be a list of tables: write publish = [{ to";
    expect(problems([HOOK], { publish: PUBLISH })).toEqual([expect.stringContaining(problem)]);
  });

  it("needs keys that leave room for the step, and an open response", () => {
    const steps = { publish: [{ ...PUBLISH, step: "payment" }] };
    expect(problems([HOOK], { ...steps, key_format: { max: 250 } }).join("\n")).toContain(
      "ROUTES[0].key_format.max must not exceed 247, because the next step gets <key>:payment",
    );
    expect(
      problems([HOOK], { ...steps, encrypt_responses: true }, { ENCRYPTION_SECRET: "0".repeat(64) }).join("\n"),
    ).toContain("ROUTES[0].publish must be empty with encrypt_responses = true");
  });
});
