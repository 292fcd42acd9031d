import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { configOf, PAYMENTS, problemsOf, routeOf } from "../../../kernel/unit/config/support.ts";

/** A file that is right but for its routes. */
const SOUND = `
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]
routes = ["api.example.com/*"]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
`;

const paths = (env: Readonly<Record<string, unknown>>) => problemsOf(env).map(({ path }) => path);

describe("async", () => {
  it("gives a route rules for its accepted requests, and no other", () => {
    expect(routeOf({}).rules.policy).not.toHaveProperty("schedule");
    for (const async of ["prefer", "always"]) {
      const route = routeOf({ async });
      expect(route.async).toBe(async);
      expect(route.rules.policy.schedule).toEqual({
        attempts: 20,
        firstPauseMs: 1000,
        longestPauseMs: 900_000,
        giveUpAfterMs: 86_400_000,
      });
    }
  });

  it.each([
    [{}, { attempts: 20, longestPauseMs: 900_000, giveUpAfterMs: 86_400_000 }],
    [{ attempts: 1 }, { attempts: 1, longestPauseMs: 900_000, giveUpAfterMs: 86_400_000 }],
    [{ after: "30d" }, { attempts: 20, longestPauseMs: 900_000, giveUpAfterMs: 2_592_000_000 }],
    // Below eight hours, the longest pause is 1/32.
    [{ after: "4h" }, { attempts: 20, longestPauseMs: 450_000, giveUpAfterMs: 14_400_000 }],
    [{ after: "60s" }, { attempts: 20, longestPauseMs: 1875, giveUpAfterMs: 60_000 }],
  ])("with give_up = %j pauses and ends so", (give_up, schedule) => {
    expect(routeOf({ async: "prefer", give_up }).rules.policy.schedule).toEqual({ firstPauseMs: 1000, ...schedule });
  });

  it("is inherited, and a route's give_up replaces the default as a whole", () => {
    const { routes } = configOf({
      IDEMPOTENCY: { async: "prefer", give_up: { attempts: 3, after: "1h" } },
      ROUTES: [PAYMENTS, { path: "/v1/jobs", give_up: { attempts: 7 } }, { path: "/v1/now", async: "never" }],
    });
    expect(routes.map(({ rules }) => rules.policy.schedule?.attempts)).toEqual([3, 7, undefined]);
    expect(routes.map(({ rules }) => rules.policy.schedule?.giveUpAfterMs)).toEqual([3_600_000, 86_400_000, undefined]);
  });

  it("cannot be with encrypted responses, because the stored request is not encrypted", () => {
    const ENCRYPTION_SECRET = "a".repeat(32);
    const encrypted = {
      IDEMPOTENCY: { async: "prefer" },
      ROUTES: [{ ...PAYMENTS, encrypt_responses: true }],
      ENCRYPTION_SECRET,
    };
    expect(problemsOf(encrypted)).toMatchObject([
      {
        path: "ROUTES[0].async",
      },
    ]);
    configOf({ ROUTES: [{ ...PAYMENTS, async: "prefer", encrypt_responses: "past" }], ENCRYPTION_SECRET });
  });

  it("may be of other routes than the defaults that it does not fit", () => {
    configOf({ IDEMPOTENCY: { give_up: { attempts: 3 } }, ROUTES: [PAYMENTS, { path: "/jobs", async: "prefer" }] });
    expect(
      paths({
        IDEMPOTENCY: { on_store_failure: "open", unknown: "retry" },
        ROUTES: [{ ...PAYMENTS, async: "prefer" }],
      }),
    ).toEqual(["ROUTES[0].on_store_failure"]);
  });

  // feature: pages begins
  it("lets pages send and read what belongs to it, and nothing of it elsewhere", () => {
    const cors = { origins: ["https://shop.example"], expose_headers: ["Location"] };
    const accepting = routeOf({ async: "prefer", cors }).cors;
    expect(accepting?.allowHeaders).toContain("Prefer");
    expect(accepting?.exposeHeaders).toEqual(["Location", "Preference-Applied"]);
    const other = routeOf({ cors }).cors;
    expect(other?.allowHeaders).not.toContain("Prefer");
    expect(other?.exposeHeaders).toEqual(["Location"]);
  });
  // feature: pages ends

  // feature: queues begins
  it("is nothing for queues, whose give_up says how messages are tried that an operator has released", () => {
    const queue = { queue: "orders", to: "/orders", dead_letter: { binding: "DEAD" } };
    const env = { IDEMPOTENCY: { origin: "https://api.example", async: "always" }, DEAD: {} };
    const [one] = configOf({ ...env, QUEUES: [{ ...queue, give_up: { after: "1h" } }] }).queues;
    expect(one?.route).toMatchObject({ async: "never", rules: { policy: { schedule: { giveUpAfterMs: 3_600_000 } } } });
    expect(paths({ ...env, QUEUES: [{ ...queue, async: "always" }] })).toEqual(["QUEUES[0].async"]);
  });
  // feature: queues ends

  it.each([
    ['async = "prefer"', "OPERATOR_API.hostname"],
    ['async = "always"', "OPERATOR_API.hostname"],
    ['async = "always"', "", 'vars.OPERATOR_API = { hostname = "ops.acme.test" }\n'],
  ])("with %s is told to give operators a host of their own: %j", (async, path, gateway = "") => {
    const [checked] = checkWranglerConfig(
      parse(`${SOUND}${gateway}vars.ROUTES = [{ path = "/v1/payments", ${async} }]\n`),
    );
    expect(checked?.problems).toEqual([]);
    expect(checked?.notes.map((note) => note.path)).toEqual(path === "" ? [] : [path]);
  });
});
