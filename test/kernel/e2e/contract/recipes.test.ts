// The recipes of src/kernel/verify/README.md, as they stand there, against a stand-in with that API's forms and states. Its reads lag nearly as long
// as the recipe's `settle` allows; both are shorter here by the same factor.

import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseDuration } from "../../../../src/kernel/config/units.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { clientOf, type Client, type Message, removeGateway, startGateway, until } from "../../../support/e2e/scene.ts";
import { expectFirstAnswer, expectProblem } from "../../../support/e2e/problem.ts";
import type { Gateway } from "../../../support/gateway.ts";
import type { RawResponse } from "../../../support/http.ts";
import { type Fate, type StandIn, startStandIn } from "../../../support/stand-in.ts";

const README = readFileSync(new URL("../../../../src/kernel/verify/README.md", import.meta.url), "utf8");

const LOCK_MS = 3_000;
const SETTLE_MS = 4_000;
/** A late call acts before the end of the lock, and shows after it: a *no* at that end would be wrong. */
const LATE_MS = 1_000;
const LAG_MS = 3_500;

const routesInToml = v.object({
  vars: v.object({
    ROUTES: v.tuple([v.looseObject({ path: v.string(), verify: v.record(v.string(), v.unknown()) })]),
  }),
});
type Route = v.InferOutput<typeof routesInToml>["vars"]["ROUTES"][0];

/** The routes under the headings of the recipes. */
function recipes(): ReadonlyMap<string, Route> {
  const [, text = ""] = README.split("\n## Recipes\n");
  const found = text
    .split("\n### ")
    .slice(1)
    .map((section): readonly [string, Route] => {
      const [heading = ""] = section.split("\n", 1);
      const [, toml = ""] = /```toml\n(.*?)```/s.exec(section) ?? [];
      const { vars } = v.parse(routesInToml, parse(toml));
      return [heading, vars.ROUTES[0]];
    });
  return new Map(found);
}

interface Case {
  readonly recipe: string;
  readonly message: (reference: string) => Message;
  /** The path at which its effects are. */
  readonly acts: (reference: string) => string;
  /** What a retry gets; `null`: 409 `response-not-kept`. */
  readonly status: number | null;
}

const FORM = [["Content-Type", "application/x-www-form-urlencoded"]] as const;
const JSON_TYPE = [["Content-Type", "application/json"]] as const;

const CASES: readonly Case[] = [
  {
    recipe: "ACP (Agentic Commerce Protocol)",
    message: (id) => ({ path: `/checkout_sessions/${id}/complete`, body: '{"payment":1}', headers: JSON_TYPE }),
    acts: (id) => `/checkout_sessions/${id}/complete`,
    status: 200,
  },
  {
    recipe: "UCP (Universal Commerce Protocol)",
    message: (id) => ({ path: `/checkout-sessions/${id}/complete`, body: "{}", headers: JSON_TYPE }),
    acts: (id) => `/checkout-sessions/${id}/complete`,
    status: 200,
  },
  {
    recipe: "Stripe, by a list",
    message: (id) => ({
      path: "/v1/payment_intents",
      body: `customer=cus_1&amount=2000&metadata[reference]=${id}`,
      headers: FORM,
    }),
    acts: () => "/v1/payment_intents",
    status: 200,
  },
  {
    recipe: "Stripe, by a search",
    message: (id) => ({ path: "/v1/payment_intents", body: `amount=2000&metadata[reference]=${id}`, headers: FORM }),
    acts: () => "/v1/payment_intents",
    status: 200,
  },
  {
    recipe: "Square",
    message: (id) => ({
      path: "/v2/payments",
      body: JSON.stringify({ location_id: "L1", reference_id: id, amount_money: { amount: 5, currency: "USD" } }),
      headers: JSON_TYPE,
    }),
    acts: () => "/v2/payments",
    status: 200,
  },
  {
    recipe: "A plain REST list",
    message: (id) => ({ path: "/orders", body: JSON.stringify({ reference: id, amount: 12.5 }), headers: JSON_TYPE }),
    acts: () => "/orders",
    status: 201,
  },
  {
    recipe: "Entity tags",
    message: (id) => ({
      method: "PATCH",
      path: `/documents/${id}`,
      body: '{"title":"x"}',
      headers: [...JSON_TYPE, ["If-Match", '"v0"']],
    }),
    acts: (id) => `/documents/${id}`,
    status: null,
  },
];

interface Bench {
  readonly gateway: Gateway;
  readonly client: Client;
}

const routes = recipes();
let standIn: StandIn;
/** One for each recipe: two of them have one path. */
const benches = new Map<string, Bench>();

beforeAll(async () => {
  standIn = await startStandIn({ lagMs: LAG_MS, lateMs: LATE_MS });
  for (const [name, route] of routes) {
    const settings = { shards: 1, timeout: "2s", lock: `${LOCK_MS}ms`, retention: "1h" };
    const verify = { ...route.verify, settle: `${SETTLE_MS}ms` };
    const gateway = await startGateway(standIn.url, settings, [{ ...route, verify }]);
    benches.set(name, { gateway, client: clientOf(gateway.url) });
  }
});
afterAll(async () => {
  for (const { gateway } of benches.values()) await removeGateway(gateway);
  await standIn.close();
});

const CREDENTIAL = ["Authorization", "Bearer caller"] as const;

/** Sends a request that is lost, and retries until there is an answer that is not "later". */
async function lose(
  { recipe, message }: Case,
  fate: Fate,
): Promise<{ readonly reference: string; readonly answer: RawResponse }> {
  const { client } = benches.get(recipe) ?? fail(recipe);
  const key = freshKey();
  const reference = key.replaceAll(/[^\w-]/g, "");
  const sent = message(reference);
  const headers = [...(sent.headers ?? []), CREDENTIAL];
  const lost = await client.send({ ...sent, key, headers: [...headers, ["x-fate", fate]] });
  expectProblem(lost, { code: "origin-dropped", status: 502, retryable: true, echo: key });
  const answer = await until(async () => {
    const response = await client.send({ ...sent, key, headers });
    const isLater = response.status === 409 && headerValue(response, "idempotency-status") === "outcome-unknown";
    return isLater ? null : response;
  }, `the answer to ${recipe}`);
  return { reference, answer };
}

function fail(what: string): never {
  throw new Error(`no recipe is called ${what}`);
}

/** The attempts and effects of one operation at the stand-in. */
async function doneAt(acts: string, reference: string) {
  const { effects, arrivals } = await standIn.journal();
  const isOwn = ({
    fields,
    path,
  }: {
    readonly fields: Readonly<Record<string, unknown>>;
    readonly path: string;
  }): boolean => path === acts && (path.includes(reference) || JSON.stringify(fields).includes(reference));
  return {
    effects: effects.filter(isOwn),
    arrivals: arrivals.filter(({ path }) => path === acts && path.includes(reference)),
  };
}

it("runs every recipe of the page", () => {
  expect([...routes.keys()]).toEqual(CASES.map(({ recipe }) => recipe));
  for (const { verify } of routes.values()) {
    const settle = parseDuration(verify["settle"]);
    // As this test's own times: reads lag less than `settle`.
    expect(settle.ok && settle.value * (LAG_MS / SETTLE_MS) < settle.value).toBe(true);
  }
});

describe.concurrent.each(CASES.map((one) => [one.recipe, one] as const))("%s", (_name, one) => {
  it.each<Fate>(["acted", "late"])(
    "gives retries the state of a lost call that %s, and never runs it twice",
    async (fate) => {
      if (one.status === null) {
        // A version that has changed does not say by whom: a person decides.
        const { client } = benches.get(one.recipe) ?? fail(one.recipe);
        const key = freshKey();
        const sent = one.message(key);
        const headers = [...(sent.headers ?? []), CREDENTIAL];
        await client.send({ ...sent, key, headers: [...headers, ["x-fate", fate]] });
        const asked = async (): Promise<number> =>
          (await standIn.journal()).reads.filter(({ path }) => path.includes(key)).length;
        await until(async () => ((await asked()) >= 4 ? true : null), "the alarm has asked");
        const held = await client.send({ ...sent, key, headers });
        expectProblem(held, { code: "outcome-unknown", status: 409, retryable: true, echo: key });
        expect((await doneAt(one.acts(key), key)).effects).toHaveLength(1);
        return;
      }
      const { reference, answer } = await lose(one, fate);
      expect({ status: answer.status, replayed: headerValue(answer, "idempotent-replayed") }).toEqual({
        status: one.status,
        replayed: "true",
      });
      expect(Date.parse(headerValue(answer, "idempotency-verified") ?? "")).toBeGreaterThan(Date.now() - 120_000);
      expect(JSON.stringify(JSON.parse(answer.body.toString()))).toContain(
        one.acts(reference).includes(reference) ? "complete" : reference,
      );
      expect((await doneAt(one.acts(reference), reference)).effects).toHaveLength(1);
    },
  );

  it("runs a lost call again that did not act, when its reads can lag no more", async () => {
    const begun = Date.now();
    const { reference, answer } = await lose(one, "lost");
    expectFirstAnswer(answer, 201);
    const { effects } = await doneAt(one.acts(reference), reference);
    expect(effects).toHaveLength(1);
    expect(effects[0]?.at).toBeGreaterThanOrEqual(begun + LOCK_MS + SETTLE_MS);
    const { reads } = await standIn.journal();
    for (const { authorization } of reads) expect(authorization).toBe("Bearer caller");
  });
});

describe("a settle that is shorter than the lag", () => {
  it("is a second effect, as the page says: nothing in the gateway can know better", async () => {
    const route = routes.get("A plain REST list") ?? fail("A plain REST list");
    const settings = { shards: 1, timeout: "2s", lock: `${LOCK_MS}ms`, retention: "1h" };
    const gateway = await startGateway(standIn.url, settings, [
      { ...route, verify: { ...route.verify, settle: "0s" } },
    ]);
    try {
      benches.set("too short", { gateway, client: clientOf(gateway.url) });
      const plain = CASES.find(({ recipe }) => recipe === "A plain REST list") ?? fail("A plain REST list");
      const { reference } = await lose({ ...plain, recipe: "too short" }, "late");
      expect((await doneAt("/orders", reference)).effects).toHaveLength(2);
    } finally {
      benches.delete("too short");
      await removeGateway(gateway);
    }
  });
});
