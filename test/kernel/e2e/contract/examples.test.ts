// The page "Which settings for which API": each of its files is checked, started with wrangler, and sent a first request and its retry as
// the clients of such an API send them. Effects are counted at the origin.

import { parse, stringify } from "smol-toml";
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import type { VariableValue } from "../../../../src/serve/workerd-config.ts";
import { readPage } from "../../../support/docs.ts";
import { type GatewayVars, makeStateDir, startWranglerDev } from "../../../support/gateway.ts";
import { freshKey, type HeaderPair, headerValue } from "../../../support/http.ts";
import { AUDIENCE, type Issuer, startIssuer } from "../../../support/issuer.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { projectCompatibility } from "../../../support/wrangler.ts";
import { type Client, clientOf, type Message, removeGateway } from "../../../support/e2e/scene.ts";

const json: v.GenericSchema<VariableValue> = v.lazy(() =>
  v.union([v.string(), v.number(), v.boolean(), v.array(json), v.record(v.string(), json)]),
);
const table = v.record(v.string(), json);
const file = v.looseObject({
  name: v.string(),
  compatibility_date: v.string(),
  compatibility_flags: v.array(v.string()),
  vars: v.object({ IDEMPOTENCY: table, IDENTITIES: v.optional(table), ROUTES: v.array(table) }),
});

const FILES = readPage("src/kernel/config/examples/README.md")
  .blocks.filter(({ language }) => language === "toml")
  .map(({ text }) => v.parse(file, parse(text)));

const SHOP: HeaderPair = ["Origin", "https://shop.example.com"];

interface Retry {
  readonly first: Message;
  readonly retry: Message;
  /** What else the page says of such an API. */
  readonly more?: (client: Client) => Promise<void>;
}

/** A request, sent again as it is. */
function twice(message: Message): Retry {
  return { first: message, retry: message };
}

function eventsFrom(key: string, headers: readonly HeaderPair[]): Message {
  const behave = {
    headers: [["Content-Type", "text/event-stream"]] satisfies [string, string][],
    chunks: ["id: 1\ndata: one\n\n", "id: 2\ndata: two\n\n"],
  };
  return { path: "/v1/completions", key, behave, headers };
}

/** The requests of each API's clients, by the name of the file. */
const RETRIES: Readonly<Record<string, () => Retry | Promise<Retry>>> = {
  async payments() {
    const payment = { path: "/v1/payments", key: freshKey(), body: "amount=1" };
    /** A user's token is another one each time. */
    const paid = async (user: string): Promise<Message> => ({
      ...payment,
      headers: [["Authorization", `Bearer ${await issuer.token(user)}`]],
    });
    return {
      first: await paid("ann"),
      retry: await paid("ann"),
      async more(client) {
        const refused = await client.send(payment);
        expect([refused.status, headerValue(refused, "idempotency-status")]).toEqual([401, "credential-invalid"]);
      },
    };
  },
  webhooks: () => {
    const id = `evt_${freshKey()}`;
    const attempt = (pending: number): Message => ({
      path: "/webhooks/stripe",
      headers: [
        ["Content-Type", "application/json"],
        ["Stripe-Signature", `t=${pending}`],
      ],
      body: JSON.stringify({ id, pending_webhooks: pending }),
    });
    return { first: attempt(1), retry: attempt(2) };
  },
  shop: () => {
    const caller: HeaderPair = ["X-Api-Key", "of-a-shop"];
    return {
      ...twice({ path: "/v1/payments", key: freshKey(), headers: [caller] }),
      async more(client) {
        const event: Message = {
          path: "/webhooks/stripe",
          headers: [["Content-Type", "application/json"]],
          body: JSON.stringify({ id: `evt_${freshKey()}` }),
          behave: { effect: false },
        };
        const became = [await client.send(event), await client.send(event)];
        expect(became.map((one) => headerValue(one, "idempotency-status"))).toEqual(["first", "replayed"]);
      },
    };
  },
  checkout: () => {
    const key = freshKey();
    /** The page's `FormData`: each time it is sent, its boundary is another one. */
    const form = (boundary: string): Message => ({
      path: "/v1/checkout",
      key,
      headers: [SHOP, ["Cookie", "session=ann"], ["Content-Type", `multipart/form-data; boundary=${boundary}`]],
      body: `--${boundary}\r\nContent-Disposition: form-data; name="amount"\r\n\r\n1\r\n--${boundary}--\r\n`,
    });
    return {
      first: form("one"),
      retry: form("two"),
      async more(client) {
        const asked: HeaderPair[] = [SHOP, ["Access-Control-Request-Method", "POST"]];
        const preflight = await client.send({ method: "OPTIONS", path: "/v1/checkout", body: null, headers: asked });
        expect([preflight.status, headerValue(preflight, "access-control-allow-origin")]).toEqual([204, SHOP[1]]);
        expect(headerValue(await client.send(form("three")), "access-control-allow-credentials")).toBe("true");
      },
    };
  },
  graphql: () => {
    const mutation = { path: "/graphql", key: freshKey() };
    return {
      first: { ...mutation, body: '{"query":"mutation { pay }","variables":{"a":1,"b":2}}' },
      retry: { ...mutation, body: '{ "variables": { "b": 2, "a": 1 }, "query": "mutation { pay }" }' },
      async more(client) {
        const query = { path: "/graphql", body: '{"query":"{ me }"}', behave: { effect: false } };
        expect(headerValue(await client.send(query), "idempotency-status")).toBeNull();
        const keyless = await client.send({ path: "/graphql", body: '{"query":"mutation { pay }"}' });
        expect(keyless.status).toBe(400);
      },
    };
  },
  completions: () => {
    const key = freshKey();
    return {
      ...twice(eventsFrom(key, [])),
      async more(client) {
        const resumed = await client.send(eventsFrom(key, [["Last-Event-ID", "1"]]));
        expect(resumed.body.toString()).toBe("id: 2\ndata: two\n\n");
      },
    };
  },
  reports: () => {
    const report: Message = { path: "/v1/reports", key: freshKey(), headers: [["Prefer", "respond-async, wait=9"]] };
    return {
      ...twice(report),
      async more(client) {
        const early = { ...report, key: freshKey(), headers: [["Prefer", "respond-async"]] satisfies HeaderPair[] };
        const accepted = await client.send({ ...early, behave: { effect: false } });
        expect([accepted.status, headerValue(accepted, "idempotency-status")]).toEqual([202, "accepted"]);
        const path = headerValue(accepted, "location") ?? "";
        const looked = await client.send({ method: "GET", path, body: null, headers: [["Prefer", "wait=9"]] });
        expect([looked.status, headerValue(looked, "idempotent-replayed")]).toEqual([200, "true"]);
      },
    };
  },
  batch: () => twice({ method: "PUT", path: "/jobs/42/charge", key: "job-42-charge" }),
};

let origin: TestOrigin;
let issuer: Issuer;
beforeAll(async () => {
  [origin, issuer] = await Promise.all([startOrigin(), startIssuer("https://login.example.com")]);
});
beforeEach(() => origin.reset());
afterAll(() => Promise.all([origin.close(), issuer.close()]));

/** The file's variables, with the test's own origin and issuer. */
function ownVars({ IDEMPOTENCY, IDENTITIES, ...vars }: v.InferOutput<typeof file>["vars"]): GatewayVars {
  const jwt = { issuer: issuer.name, audience: AUDIENCE, jwks: issuer.jwks };
  const identities = IDENTITIES === undefined ? {} : { IDENTITIES: { user: { jwt } } };
  return { ...vars, ...identities, IDEMPOTENCY: { ...IDEMPOTENCY, origin: origin.url } };
}

it("has a test for each of its files", () => {
  expect(FILES.map(({ name }) => name).toSorted()).toEqual(Object.keys(RETRIES).toSorted());
});

describe.each(FILES.map((one) => [one.name, one] as const))("%s", (name, toml) => {
  it("passes the check without a warning, and needs no other compatibility than the gateway", () => {
    const checked = checkWranglerConfig(toml);
    expect(checked.flatMap(({ problems, warnings }) => [...problems, ...warnings])).toEqual([]);
    expect(checked.map((environment) => environment.name)).toEqual(name === "shop" ? [null, "staging"] : [null]);
    expect({ date: toml.compatibility_date, flags: toml.compatibility_flags }).toEqual(projectCompatibility());
  });

  it("answers a retry with the first answer, and acts once", async () => {
    const { vars, ratelimits = [], r2_buckets: buckets = [] } = toml;
    const gateway = await startWranglerDev({
      vars: ownVars(vars),
      stateDir: await makeStateDir(),
      extraToml: stringify({ ratelimits, r2_buckets: buckets }),
    });
    const client = clientOf(gateway.url);
    const { first, retry, more } = (await RETRIES[name]?.()) ?? twice({ path: "/" });
    const answer = await client.send(first);
    const replay = await client.send(retry);
    const became = [answer, replay].map((response) => headerValue(response, "idempotency-status"));
    expect([answer.status < 300, became]).toEqual([true, ["first", "replayed"]]);
    expect([replay.status, replay.body.toString()]).toEqual([answer.status, answer.body.toString()]);
    await more?.(client);
    expect(await origin.effects()).toBe(1);
    await removeGateway(gateway);
  });
});
