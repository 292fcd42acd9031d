// Callers with opaque credentials (`ask` in `[vars.IDENTITIES]`): the origin says whose they are. Effects are counted there, by caller.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, type HeaderPair, type RawResponse } from "../../../support/http.ts";
import { type AccountsOrigin, accountOf, startAccountsOrigin } from "../../../support/e2e/accounts-origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import { type Client, clientOf, removeGateway, untilPrinted } from "../../../support/e2e/scene.ts";

let origin: AccountsOrigin;
let gateway: Gateway;
let client: Client;

beforeAll(async () => {
  origin = await startAccountsOrigin();
  const ask = { path: "/v1/me", pointer: "/account/id" };
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1, log: "none" },
      IDENTITIES: {
        account: { ask },
        brief: { ask: { ...ask, cache: "1ms" } },
        slow: { ask: { ...ask, timeout: "2s" } },
        session: { ask, credential: ["cookie:session", "header:x-tenant"] },
      },
      ROUTES: [
        ...["account", "brief", "slow", "session"].map((name) => ({
          path: `/${name}`,
          scope: [`identity:${name}`],
          key: "optional" as const,
        })),
        { path: "/graphql", graphql: true, scope: ["identity:account"] },
      ],
    },
  });
  client = clientOf(gateway.url);
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

let credentials = 0;

/** A credential that the origin knows, as it says. */
function credentialOf(id: unknown, how: object = {}): string {
  credentials += 1;
  const credential = `Bearer opaque-${credentials}`;
  origin.answers.set(credential, { ...accountOf(id), ...how });
  return credential;
}

function send(
  authorization: string,
  key: string,
  path = "/account",
  headers: readonly HeaderPair[] = [],
): Promise<RawResponse> {
  return client.send({ path, key, headers: [["Authorization", authorization], ...headers] });
}

function expectRefused(response: RawResponse, key: string): void {
  expectProblem(response, { code: "credential-invalid", status: 401, retryable: false, echo: key });
}

function expectUnavailable(response: RawResponse, key: string): void {
  expectProblem(response, { code: "identity-unavailable", status: 503, retryable: true, echo: key });
  expectRetryAfter(response, 5);
}

const questionsOf = (credential: string): number =>
  origin.questions.filter(({ authorization }) => authorization === credential).length;

describe("a caller with an opaque credential", () => {
  it("finds the record again with another one of the same account: one effect", async () => {
    const [key, one, other] = [freshKey(), credentialOf("a1"), credentialOf("a1")];
    const first = await send(one, key);
    expectFirstAnswer(first, 201);
    expectReplay(await send(other, key), first);
    expect(origin.effects(key)).toEqual([one]);
  });

  it("never finds another account's record, with the same key and the same bytes", async () => {
    const [key, one, other] = [freshKey(), credentialOf("a1"), credentialOf("a2")];
    expectFirstAnswer(await send(one, key), 201);
    expectFirstAnswer(await send(other, key), 201);
    expect(origin.effects(key)).toEqual([one, other]);
  });

  it("is asked for once, however often the credential comes within the time of the cache", async () => {
    const credential = credentialOf("a1", { delayMs: 100 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(credential, freshKey())));
    for (const answer of answers) expectFirstAnswer(answer, 201);
    expectFirstAnswer(await send(credential, freshKey()), 201);
    expect(questionsOf(credential)).toBe(1);
  });

  it("gets no replay for a credential that the origin no longer accepts", async () => {
    const [key, credential] = [freshKey(), credentialOf("a1")];
    expectFirstAnswer(await send(credential, key, "/brief"), 201);
    origin.answers.set(credential, { status: 401, body: "" });
    expectRefused(await send(credential, key, "/brief"), key);
    expect(origin.effects(key)).toHaveLength(1);
  });

  it("may be known by a whole number", async () => {
    const key = freshKey();
    const first = await send(credentialOf(42), key);
    expectReplay(await send(credentialOf(42), key), first);
    expectFirstAnswer(await send(credentialOf(43), key), 201);
  });

  it("is asked for with the credential alone, not with the key, the body, or what else it sends", async () => {
    const [key, credential] = [freshKey(), credentialOf("a1")];
    const others: readonly HeaderPair[] = [
      ["If-Match", '"1"'],
      ["Range", "bytes=0-1"],
      ["X-User", "7"],
      ["Cookie", "session=x"],
      ["X-Forwarded-Host", "evil.example.com"],
    ];
    expectFirstAnswer(await send(credential, key, "/account", others), 201);
    const asked = origin.questions.find(({ authorization }) => authorization === credential);
    expect(asked).toEqual({
      accept: "application/json",
      authorization: credential,
      "x-forwarded-host": new URL(gateway.url).host,
      "x-forwarded-proto": "http",
      host: new URL(origin.url).host,
      ...(asked?.["accept-encoding"] === undefined ? {} : { "accept-encoding": asked["accept-encoding"] }),
      ...(asked?.connection === undefined ? {} : { connection: asked.connection }),
    });
  });

  it("may consist of several parts, each of which makes another question", async () => {
    const key = freshKey();
    origin.answers.set("session=s1", accountOf("a1"));
    const at = (tenant: string, session = "s1"): Promise<RawResponse> =>
      client.send({
        path: "/session",
        key,
        headers: [
          ["Cookie", `theme=dark; session=${session}`],
          ["X-Tenant", tenant],
        ],
      });
    const before = origin.questions.length;
    const first = await at("t1");
    expectFirstAnswer(first, 201);
    expectReplay(await at("t2"), first);
    const asked = origin.questions.slice(before);
    expect(asked.map(({ cookie, "x-tenant": tenant }) => [cookie, tenant])).toEqual([
      ["session=s1", "t1"],
      ["session=s1", "t2"],
    ]);
    expectRefused(await at("t1", "unknown"), key);
    // The gateway and the origin might read another one of the two.
    await client.send({ path: "/session", key: freshKey(), headers: [["Cookie", "session=s1; session=s2"]] });
    expect(origin.questions.at(-1)?.cookie).toBe("session=s1; session=s2");
  });

  it("passes without a question when the request has no key and needs none", async () => {
    const credential = credentialOf("a1");
    const response = await client.send({ path: "/account", headers: [["Authorization", credential]] });
    expectFirstAnswer(response, 201, null);
    expect(questionsOf(credential)).toBe(0);
  });
});

describe("a large upload", () => {
  it("with a credential that is refused, or without one, gets its answer: the connection lasts as long", async () => {
    const body = "x".repeat(8_000_000);
    const refused: readonly (readonly HeaderPair[])[] = [[["Authorization", "Bearer unknown"]], []];
    for (const headers of refused) {
      const key = freshKey();
      expectRefused(await client.send({ path: "/account", key, headers, body }), key);
      expect(origin.effects(key)).toEqual([]);
    }
  });
});

describe("a GraphQL endpoint", () => {
  const ask = (query: string, key?: string): Promise<RawResponse> =>
    client.send({
      path: "/graphql",
      ...(key === undefined ? {} : { key }),
      headers: [["Content-Type", "application/json"]],
      body: JSON.stringify({ query }),
    });

  it("answers queries of nobody in particular, and asks for a credential for mutations only", async () => {
    const before = origin.questions.length;
    expectFirstAnswer(await ask("{ products }"), 201, null);
    const key = freshKey();
    expectRefused(await ask("mutation { pay }", key), key);
    expect(origin.questions.length).toBe(before);
    expect(origin.effects(key)).toEqual([]);
  });

  it("keeps nothing of the large bodies of strangers, so that callers still get theirs read", async () => {
    const large = `mutation { pay } # ${"x".repeat(1_200_000)}`;
    // More than an isolate holds of all bodies.
    for (let sent = 0; sent < 30; sent += 1) {
      const key = freshKey();
      expectRefused(await ask(large, key), key);
    }
    const query = `mutation @idempotent(key: "${freshKey()}") { pay }`;
    const body = JSON.stringify({ query, variables: { filler: "x".repeat(200_000) } });
    const headers: readonly HeaderPair[] = [
      ["Content-Type", "application/json"],
      ["Authorization", credentialOf("a1")],
    ];
    const first = await client.send({ path: "/graphql", headers, body });
    expect(first.status).toBe(201);
  });
});

describe("an answer of the origin", () => {
  it.each([
    ["401", { status: 401 }],
    ["403", { status: 403 }],
    ["200 with nobody's name", { body: '{"account":{}}' }],
    ["200 with a name that is no text", { body: '{"account":{"id":{}}}' }],
    ["200 with a number that JSON has rounded", { body: '{"account":{"id":9007199254740993}}' }],
    ["200 with a name that an object inherits", { body: '{"account":"text"}' }],
  ])("of %s refuses the credential, and is not remembered", async (_, how) => {
    const [key, credential] = [freshKey(), credentialOf("a1", how)];
    expectRefused(await send(credential, key), key);
    origin.answers.set(credential, accountOf("a1"));
    expectFirstAnswer(await send(credential, key), 201);
    expect(origin.effects(key)).toHaveLength(1);
  });

  it.each([
    ["500", { status: 500 }],
    ["404", { status: 404 }],
    ["429", { status: 429 }],
    ["a redirect", { status: 302, headers: { location: "/login" } }],
    ["HTML", { body: "<html>" }],
    ["the credential as plain text", { body: "opaque-secret-of-a1" }],
    [
      "no UTF-8 text",
      { body: Buffer.from([0xff, 0xfe]).toString("latin1"), headers: { "content-type": "text/plain" } },
    ],
    ["too much", { body: JSON.stringify({ account: { id: "a1" }, padding: "x".repeat(70_000) }) }],
  ])("of %s says nothing: the client may come again", async (_, how) => {
    const [key, credential] = [freshKey(), credentialOf("a1", how)];
    expectUnavailable(await send(credential, key), key);
    expect(origin.effects(key)).toEqual([]);
    origin.answers.set(credential, accountOf("a1"));
    expectFirstAnswer(await send(credential, key), 201);
    // The log says why, and nothing of an answer.
    expect(await untilPrinted(gateway, "the origin did not say who a caller is")).not.toMatch(/opaque-|<html/);
  });

  it("that does not come in time costs its own caller the time, and nobody else anything", async () => {
    const [key, credential, other] = [freshKey(), credentialOf("a1", { delayMs: 12_000 }), credentialOf("a2")];
    const begun = performance.now();
    let isWaiting = true;
    const slow = send(credential, key, "/slow").finally(() => (isWaiting = false));
    await expect.poll(() => questionsOf(credential)).toBe(1);
    expectFirstAnswer(await send(other, freshKey(), "/slow"), 201);
    expect(isWaiting).toBe(true);
    expectUnavailable(await slow, key);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(origin.effects(key)).toEqual([]);
  });

  it("reaches those who wait for it when the client whose request asked has left", async () => {
    const [key, credential] = [freshKey(), credentialOf("a1", { delayMs: 500 })];
    const leaver = client.open({ path: "/account", key: freshKey(), headers: [["Authorization", credential]] });
    leaver.response.catch(() => undefined);
    await expect.poll(() => questionsOf(credential)).toBe(1);
    const waiting = send(credential, key);
    leaver.reset();
    expectFirstAnswer(await waiting, 201);
    expect(questionsOf(credential)).toBe(1);
  });
});
