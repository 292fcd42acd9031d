// `onceway check --against`: which configurations are refused, given the gateway that runs. Those that forget layouts: test/features/previous-shards.

import { describe, expect, it } from "vitest";
import { compareLayouts, type GatewayComparison } from "../../../src/cli/check-against.ts";
import type { RunningLayout } from "../../../src/kernel/node-feature.ts";
import { compareToPay, FINE, messages, published, routesOf, running } from "../../support/running-gateway.ts";

it("a method that has no route any more is warned of", () => {
  const found = compareLayouts(
    routesOf({ path: "/pay", methods: ["POST"] }),
    [running(64)],
    published(["POST PATCH /pay"]),
  );
  expect(found).toEqual({
    problems: [],
    warnings: [
      {
        path: "ROUTES",
        message: "leaves PATCH /pay without protection: a retry of a request of before acts again",
      },
    ],
  });
});

describe("a jurisdiction of the gateway itself", () => {
  const warned = (jurisdiction: string | null, ...layouts: readonly RunningLayout[]): readonly string[] =>
    compareLayouts(routesOf({ path: "/pay" }), layouts, [], jurisdiction).warnings.map(({ path }) => path);

  it("is warned of where no layout in force has it: totals and audit log begin anew", () => {
    const eu = { layout: "64-eu", jurisdiction: "eu" };
    expect(warned("eu", running(64))).toContain("IDEMPOTENCY.jurisdiction");
    expect(warned(null, running(64, eu))).toContain("IDEMPOTENCY.jurisdiction");
    // It was left for another, and may have been of any.
    expect(warned("eu", running(64), running(64, { ...eu, next: "64" }))).toContain("IDEMPOTENCY.jurisdiction");
  });

  it("is fine where a layout in force has it, and where nothing runs", () => {
    const eu = { layout: "64-eu", jurisdiction: "eu" };
    expect(warned("eu", running(64, eu), running(128))).not.toContain("IDEMPOTENCY.jurisdiction");
    expect(warned(null, running(64))).not.toContain("IDEMPOTENCY.jurisdiction");
    expect(warned("eu")).not.toContain("IDEMPOTENCY.jurisdiction");
  });
});

describe("another scope", () => {
  const compared = (settings: object, scope: readonly string[]): GatewayComparison =>
    compareLayouts(routesOf({ path: "/pay", ...settings }), [running(64)], published(["POST PATCH /pay"], scope));

  it("that is not a narrower one is refused without previous_scope", () => {
    expect(messages(compared({ scope: ["header:x-tenant"] }, ["header:authorization"]))).toEqual([
      'ROUTES[0].previous_scope: forgets the keys of scope = ["header:authorization"], which is in force: write previous_scope = [["header:authorization"]]',
    ]);
    const listed = { scope: ["header:x-tenant"], previous_scope: [["none"], ["header:authorization"]] };
    expect(compared(listed, ["header:authorization"])).toEqual(FINE);
  });

  it("that is a narrower one is warned of, because it may be meant to forget", () => {
    for (const [scope, before] of [
      [["header:authorization"], ["none"]],
      [["header:authorization", "header:x-tenant"], ["header:authorization"]],
    ] as const) {
      const { problems, warnings } = compared({ scope }, before);
      expect(problems).toEqual([]);
      const list = `[${before.map((part) => JSON.stringify(part)).join(", ")}]`;
      expect(warnings).toEqual([
        {
          path: "ROUTES[0].previous_scope",
          message: `forgets the keys of scope = ${list}, which is in force: write previous_scope = [${list}], unless the older scope showed one caller's answers to another`,
        },
      ]);
      expect(compared({ scope, previous_scope: [before] }, before)).toEqual(FINE);
    }
  });
});

describe("a route that is no longer encrypted", () => {
  const compared = (encrypted: unknown, before: boolean): GatewayComparison =>
    compareToPay({ encrypt_responses: encrypted }, { encryptResponses: before });

  it('is refused while encrypt_responses = true is in force, unless it is "past"', () => {
    expect(messages(compared(false, true))).toEqual([
      'ROUTES[0].encrypt_responses: leaves responses that do not open, because encrypt_responses = true is in force: write "past" for a retention first',
    ]);
    for (const [encrypted, before] of [
      ["past", true],
      [true, true],
      [true, false],
      [false, false],
    ] as const) {
      expect(compared(encrypted, before)).toEqual(FINE);
    }
  });
});

describe("what names a record by the host, and what the origin's key is", () => {
  const auth = "header:authorization";

  it("is compared when an origin becomes a binding or a URL again", () => {
    expect(messages(compareToPay({ origin: { entrypoint: "Api" } }, { scope: [auth] }))).toEqual([
      'ROUTES[0].previous_scope: forgets the keys of scope = ["header:authorization"], which is in force: write previous_scope = [["header:authorization", "any-host"]], unless the older scope showed one caller\'s answers to another',
    ]);
    const settled = { origin: { entrypoint: "Api" }, previous_scope: [[auth, "any-host"]] };
    expect(compareToPay(settled, { scope: [auth] })).toEqual(FINE);
    expect(messages(compareToPay({}, { scope: [auth, "host"] }))).toEqual([
      expect.stringContaining('write previous_scope = [["header:authorization", "host"]]'),
    ]);
    expect(compareToPay({ previous_scope: [[auth, "host"]] }, { scope: [auth, "host"] })).toEqual(FINE);
  });

  it("is compared when a proxy is no longer trusted", () => {
    expect(messages(compareToPay({ scope: [auth, "host"] }, { scope: [auth, "forwarded-host"] }))).toEqual([
      expect.stringMatching(/^IDEMPOTENCY\.trust_forwarded: .* write trust_forwarded = true until/),
    ]);
  });

  it("and what is compared of a request is told of", () => {
    const { problems, warnings } = compareToPay({ fingerprint: { body: "json" } }, { fingerprint: "{}" });
    expect(problems).toEqual([]);
    expect(warnings.map(({ path }) => path)).toEqual(["ROUTES[0].fingerprint"]);
  });
});
