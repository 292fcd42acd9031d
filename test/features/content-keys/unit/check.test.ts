// What `check` says of keys from content: what they mean, plainly, and what is probably a mistake.

import { describe, expect, it } from "vitest";
import { describeConfig } from "../../../../src/cli/check/describe.ts";
import { configWarnings } from "../../../../src/cli/check/file.ts";
import { configOf } from "../../../kernel/unit/config/support.ts";

function route(path: string, content: object, more: object = {}): object {
  const written = { digest: ["json:/order_id", "json:/amount"], window: "10m", repeat: "replay", ...content };
  return { path, key_from: ["header:Idempotency-Key", written], ...more };
}

const warningsOf = (...routes: readonly object[]): readonly string[] =>
  configWarnings(configOf({ IDEMPOTENCY: { origin: "https://api.example.org" }, ROUTES: routes })).map(
    ({ path, message }) => `${path}: ${message}`,
  );

describe("check", () => {
  it("prints which requests are one operation", () => {
    const text = describeConfig(
      configOf({
        ROUTES: [
          route("/orders", {}),
          route("/jobs", { digest: "request", window: "1h", repeat: "refuse" }),
          { path: "/plain" },
        ],
      }),
    );
    expect(text).toContain("/orders: two requests with equal order_id and amount within 10m are ONE operation");
    expect(text).toContain(
      "/jobs: two requests with all that the fingerprint counts equal within 1h are ONE operation",
    );
    expect(text).toContain("required (header:Idempotency-Key or its content)");
    expect(text).not.toContain("/plain: two requests");
  });

  it("warns of members that different operations have in common", () => {
    const [warning = "", ...more] = warningsOf(
      route("/a", { digest: ["json:/amount", "json:/currency"] }),
      route("/b", { digest: ["json:/amount", "json:/order_id"] }),
      route("/c", { digest: "request" }),
    );
    expect(warning).toMatch(/^ROUTES\[0\]\.key_from: makes keys from amount and currency alone/);
    expect(more).toEqual([]);
  });

  it("warns of money that may be meant to go twice", () => {
    const found = warningsOf(
      route("/v1/refunds", {}),
      route("/v1/payouts/*", {}),
      route("/v1/Transfers", {}),
      route("/v1/refunds/again", { repeat: "refuse" }),
    );
    expect(found.map((text) => text.slice(0, 28))).toEqual([0, 1, 2].map((at) => `ROUTES[${at}].key_from: has repe`));
  });

  it("warns where the origin would be asked about a key that it never gets", () => {
    const byKey = { unknown: "verify", verify: "/orders/by-key/{key}" };
    const byState = {
      unknown: "verify",
      verify: {
        path: "/orders/{json:/order_id}",
        happened: { "/status": ["paid"] },
        not_happened: { "/status": ["open"] },
        once: true,
        answer: "resource",
      },
    };
    expect(warningsOf(route("/orders", {}, byKey)).filter((text) => text.includes("digest"))).toHaveLength(1);
    expect(warningsOf(route("/orders", {}, byState)).filter((text) => text.includes("digest"))).toEqual([]);
  });
});
