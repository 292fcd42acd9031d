// Destinations of events and what routes publish: what is read, and what is refused with its remedy.

import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config/read.ts";
import { destinationsIn } from "../../../src/config/read-destinations.ts";
import { configWarnings } from "../../../src/config/check-file.ts";

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

const TOLD = { alerts: ["in-doubt"], console: "https://ops.example/_onceway/" };

function problems(...given: Parameters<typeof env>): readonly string[] {
  const read = readConfig(env(...given));
  return read.ok ? [] : read.problems.map(({ path, message }) => `${path} ${message}`);
}

describe("destinations", () => {
  it("are queues and webhooks, with defaults", () => {
    const given = env([
      QUEUE,
      { ...HOOK, secret: ["HOOK_SECRET", "HOOK_SECRET"].slice(1), give_up: { after: "1h" }, ...TOLD },
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
        alerts: ["in-doubt"],
        console: "https://ops.example/_onceway",
      },
    ]);
    expect(problems([QUEUE, HOOK])).toEqual([]);
  });

  it.each([
    [
      { name: "billing" },
      "DESTINATIONS must be a list of destinations, like every variable whose name starts with DESTINATIONS: write [[vars.DESTINATIONS]]",
    ],
    [["text"], "DESTINATIONS[0] must be a table"],
    [[{ queue: "AUDIT" }], "DESTINATIONS[0].name is missing"],
    [[{ ...QUEUE, name: "a b" }], "DESTINATIONS[0].name must have 1 to 64 letters"],
    [[QUEUE, QUEUE], 'DESTINATIONS[1].name names the destination "audit" again'],
    [[{ name: "a" }], "DESTINATIONS[0] says nothing about where events go"],
    [[{ ...HOOK, queue: "AUDIT" }], "DESTINATIONS[0] has both queue and url"],
    [[{ ...QUEUE, queue: "OTHER" }], 'DESTINATIONS[0].queue there is no queue binding "OTHER"'],
    [[{ ...QUEUE, secret: "HOOK_SECRET" }], "DESTINATIONS[0].secret is for a webhook"],
    [[{ ...HOOK, url: "http://billing.example/" }], "DESTINATIONS[0].url must be https"],
    [[{ ...HOOK, url: "/hooks" }], "DESTINATIONS[0].url must be an absolute URL"],
    [[{ ...HOOK, url: "https://me:pw@billing.example/" }], "DESTINATIONS[0].url must carry neither credentials"],
    [[{ name: "billing", url: HOOK.url }], 'DESTINATIONS[0].secret is missing: write secret = "HOOK_SECRET"'],
    [[{ ...HOOK, secret: "OTHER" }], "DESTINATIONS[0].secret there is no secret OTHER: write whsec_"],
    [[{ ...HOOK, secret: [] }], "DESTINATIONS[0].secret must name at least one secret"],
    [[{ ...HOOK, secret: ["HOOK_SECRET", "HOOK_SECRET"] }], "DESTINATIONS[0].secret lists HOOK_SECRET twice"],
    [[{ ...HOOK, sekret: "x" }], "DESTINATIONS[0].sekret unknown setting"],
    [[{ ...HOOK, give_up: { after: "60d" } }], "DESTINATIONS[0].give_up.after must not exceed 30d"],
    [[{ ...HOOK, alerts: "in-doubt" }], "DESTINATIONS[0].alerts must be a list"],
    [[{ ...HOOK, alerts: ["doubts"] }], "DESTINATIONS[0].alerts[0] must be"],
    [[{ ...HOOK, alerts: ["in-doubt", "in-doubt"] }], "DESTINATIONS[0].alerts lists in-doubt twice"],
    [[{ ...HOOK, console: "http://ops.example/" }], "DESTINATIONS[0].console must be https"],
    [[{ ...HOOK, console: "https://ops.example/?a" }], "DESTINATIONS[0].console must carry neither credentials"],
  ])("%j: %s", (destinations, message) => {
    expect(problems(destinations).join("\n")).toContain(message);
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
    const told = { ...HOOK, name: "ops", ...TOLD };
    const read = readConfig(env([QUEUE, HOOK, told], { publish: [PUBLISH] }));
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    expect(configWarnings(read.config).map(({ message }) => message)).toEqual([
      expect.stringContaining('nothing is published to "audit"'),
    ]);
  });
});

describe("publish", () => {
  it("becomes part of the route's policy, with defaults, and of no other route's", () => {
    const given = env([HOOK], { publish: [PUBLISH, { ...PUBLISH, when: [200, "4xx"], data: "none", step: "pay" }] });
    const read = readConfig({ ...given, ROUTES_2: [{ path: "/v1/other" }] });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const [route, other] = read.config.routes;
    expect(route?.rules.policy.publish).toEqual([
      { ...PUBLISH, when: ["2xx"], data: "response" },
      { ...PUBLISH, when: [200, "4xx"], data: "none", step: "pay" },
    ]);
    expect(route?.keyFormat.max).toBe(255 - ":pay".length);
    expect(other?.rules.policy).not.toHaveProperty("publish");
    expect(other?.keyFormat.max).toBe(255);
  });

  it.each([
    [[{ ...PUBLISH, to: "biling" }], 'publish[0].to there is no destination "biling"; did you mean "billing"?'],
    [[{ ...PUBLISH, to: "x" }], 'publish[0].to there is no destination "x": write one of billing'],
    [[{ to: "billing" }], "publish[0].type"],
    [[{ ...PUBLISH, type: "" }], "publish[0].type must have 1 to 255 characters"],
    [[{ ...PUBLISH, when: [] }], "publish[0].when must list statuses"],
    [[{ ...PUBLISH, when: ["6xx"] }], "publish[0].when must list statuses"],
    [[{ ...PUBLISH, when: [99] }], "publish[0].when must list statuses"],
    [[{ ...PUBLISH, data: "all" }], "publish[0].data must be one of its values"],
    [[{ ...PUBLISH, step: "a:b" }], "publish[0].step must have 1 to 64 letters"],
    ["billing", "publish must be a list of tables"],
  ])("%j: %s", (publish, message) => {
    expect(problems([HOOK], { publish }).join("\n")).toContain(`ROUTES[0].${message}`);
  });

  it("needs keys that leave room for the step, and an open response", () => {
    const steps = { publish: [{ ...PUBLISH, step: "payment" }] };
    expect(problems([HOOK], { ...steps, key_format: { max: 250 } }).join("\n")).toContain(
      "ROUTES[0].key_format.max must not exceed 247, because the next step gets <key>:payment",
    );
    expect(problems([HOOK], { ...steps, sealed: true }, { SEAL_SECRET: "0".repeat(64) }).join("\n")).toContain(
      "ROUTES[0].publish must be empty with sealed = true",
    );
  });
});
