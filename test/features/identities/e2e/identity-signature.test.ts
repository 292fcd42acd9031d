// Callers that sign their requests (`signature` in `[vars.IDENTITIES]`): a profile finds its records whichever of its keys has signed, another
// profile never does, and what is not proved reaches neither a record nor the origin.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentServer, startAgentServer } from "../../../support/agent-server.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, type HeaderPair, headerValue, type RawResponse } from "../../../support/http.ts";
import {
  type AgentKey,
  contentDigest,
  makeAgentKey,
  makeSignature,
  SIGNATURE_ALGORITHMS,
  type SignatureOptions,
  signRequest,
  ucpComponents,
  withSignatures,
} from "../../../support/http-signer.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import { type Client, clientOf, removeGateway } from "../../../support/e2e/scene.ts";

let origin: TestOrigin;
let agents: AgentServer;
let gateway: Gateway;
let client: Client;
let [platform, older, other]: AgentKey[] = [];

const BODY = '{"amount":7}';

beforeAll(async () => {
  [origin, agents] = await Promise.all([startOrigin(), startAgentServer()]);
  const signature = { trust: [`${agents.url}/profiles/*`, `${agents.url}/.well-known/*`] };
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1, log: "none", trust_forwarded: true },
      IDENTITIES: {
        platform: { signature },
        anonymous: { signature, anonymous: "allow" },
        fresh: { signature: { ...signature, freshness: "required" } },
      },
      ROUTES: [
        ...["platform", "anonymous", "fresh"].map((name) => ({
          path: `/${name}`,
          scope: [`identity:${name}`],
          key: "optional",
        })),
        { path: "/in-body", scope: ["identity:platform"], key_from: ["json:/id"] },
        { path: "/uncompared", scope: ["identity:platform"], fingerprint: { body: "none" } },
        { path: "/tenant", scope: ["identity:platform", "json:/tenant"] },
      ],
    },
  });
  client = clientOf(gateway.url);
  [platform, older, other] = await Promise.all([
    makeAgentKey("ES256", "2026"),
    makeAgentKey("EdDSA", "2025"),
    makeAgentKey("ES256", "2026"),
  ]);
  agents.publish("/profiles/platform", mustBe(older), mustBe(platform));
  agents.publish("/profiles/other", mustBe(other));
});
afterAll(async () => {
  await removeGateway(gateway);
  await Promise.all([origin.close(), agents.close()]);
});

function mustBe<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("not made yet");
  return value;
}

interface SignedCall {
  readonly profile?: string;
  readonly signer?: AgentKey;
  readonly key?: string;
  readonly path?: string;
  readonly body?: string;
  /** Besides those of every request. */
  readonly headers?: readonly HeaderPair[];
  readonly signing?: SignatureOptions;
  /** For which URL it is signed; the one that is sent by default. */
  readonly signedUrl?: string;
  readonly chunked?: boolean;
}

async function headersOf({
  profile = "/profiles/platform",
  signer = mustBe(platform),
  key,
  path = "/platform",
  body = BODY,
  headers = [],
  signing = {},
  signedUrl = gateway.url + path,
}: SignedCall): Promise<readonly HeaderPair[]> {
  const keyed: readonly HeaderPair[] = key === undefined ? [] : [["Idempotency-Key", key]];
  const plain: readonly HeaderPair[] = [
    ["Content-Type", "application/json"],
    ["UCP-Agent", `profile="${agents.url}${profile}"`],
    ...headers,
  ];
  const request = { method: "POST", url: signedUrl, headers: [...plain, ...keyed], body };
  const signed = await signRequest(request, signer, signing);
  return signed.filter(([name]) => name !== "Idempotency-Key");
}

async function send(call: SignedCall): Promise<RawResponse> {
  const { key, path = "/platform", body = BODY, chunked } = call;
  const headers = await headersOf(call);
  return client.send({
    path,
    headers,
    body,
    ...(key === undefined ? {} : { key }),
    ...(chunked === undefined ? {} : { chunked }),
  });
}

function expectRefused(response: RawResponse, key: string | null, fault: string, retryable = false): void {
  const problem = expectProblem(response, { code: "credential-invalid", status: 401, retryable, echo: key });
  expect(problem).toMatchObject({ fault });
  expect(headerValue(response, "www-authenticate")).toBe("Signature");
}

function expectUnavailable(response: RawResponse, key: string): void {
  expectProblem(response, { code: "identity-unavailable", status: 503, retryable: true, echo: key });
  expectRetryAfter(response, 60);
}

describe("a caller that signs", () => {
  it("finds the record again with a new signature and with another of its keys: one effect", async () => {
    const key = freshKey();
    const first = await send({ key });
    expectFirstAnswer(first, 201);
    expectReplay(await send({ key }), first);
    expectReplay(await send({ key, signer: mustBe(older) }), first);
    expectReplay(await send({ key, chunked: true }), first);
    expect(await origin.effects(key)).toBe(1);
  });

  it("never finds another profile's, with the same key, bytes and keyid", async () => {
    const key = freshKey();
    expectFirstAnswer(await send({ key }), 201);
    expectFirstAnswer(await send({ key, profile: "/profiles/other", signer: mustBe(other) }), 201);
    expect(await origin.effects(key)).toBe(2);
  });

  it.each(SIGNATURE_ALGORITHMS)("may use %s", async (alg) => {
    const signer = await makeAgentKey(alg, alg);
    agents.publish(`/profiles/${alg}`, signer);
    expectFirstAnswer(await send({ key: freshKey(), profile: `/profiles/${alg}`, signer }), 201);
  });

  it("is known by Web Bot Auth's directory", async () => {
    const signer = await makeAgentKey("EdDSA");
    agents.publish("/.well-known/http-message-signatures-directory", signer);
    const sendAs = async (key: string): Promise<RawResponse> => {
      const now = Math.floor(Date.now() / 1000);
      const headers: readonly HeaderPair[] = [
        ["Content-Type", "application/json"],
        ["Signature-Agent", `bot="${agents.url}"`],
        ["Content-Digest", await contentDigest(BODY)],
      ];
      const all: readonly HeaderPair[] = [...headers, ["Idempotency-Key", key]];
      const request = { method: "POST", url: `${gateway.url}/platform`, headers: all, body: BODY };
      const components = ucpComponents(request).map((one) => (one === '"signature-agent"' ? `${one};key="bot"` : one));
      const params = `;created=${now};expires=${now + 60};nonce="abc";tag="web-bot-auth"`;
      const signature = await makeSignature(request, signer, { label: "bot", components, params });
      return client.send({ path: "/platform", key, headers: withSignatures(headers, signature), body: BODY });
    };
    const key = freshKey();
    const first = await sendAs(key);
    expectFirstAnswer(first, 201);
    expectReplay(await sendAs(key), first);
    expectFirstAnswer(await send({ key }), 201);
  });

  it("may have its key in the body, and a part of its scope", async () => {
    const [id, key] = [freshKey(), freshKey()];
    const body = JSON.stringify({ id });
    const first = await send({ path: "/in-body", body });
    expectFirstAnswer(first, 201);
    expectReplay(await send({ path: "/in-body", body }), first);
    expectFirstAnswer(await send({ path: "/tenant", key, body: '{"tenant":1}' }), 201);
    expectFirstAnswer(await send({ path: "/tenant", key, body: '{"tenant":2}' }), 201);
  });

  it("signs for the host that it named, which a trusted proxy tells", async () => {
    const forwarded = (host: string): readonly HeaderPair[] => [["X-Forwarded-Host", host]];
    const call = { signedUrl: "https://shop.example/platform" };
    expectFirstAnswer(await send({ ...call, key: freshKey(), headers: forwarded("shop.example") }), 201);
    const key = freshKey();
    expectRefused(await send({ ...call, key, headers: forwarded("evil.example") }), key, "signature-invalid");
    expectRefused(await send({ ...call, key }), key, "signature-invalid");
  });

  it("shares the scope of the anonymous without a signature, where that is allowed", async () => {
    const key = freshKey();
    const first = await client.send({ path: "/anonymous", key, body: BODY });
    expectFirstAnswer(first, 201);
    expectReplay(await client.send({ path: "/anonymous", key, body: BODY }), first);
    expectFirstAnswer(await send({ path: "/anonymous", key }), 201);
    expectRefused(await send({ path: "/anonymous", key, signer: mustBe(other) }), key, "signature-invalid");
  });
});

describe("a request that is not proved", () => {
  it("gets nothing of a record, and reaches nobody", async () => {
    const key = freshKey();
    expectFirstAnswer(await send({ key }), 201);
    expectRefused(await client.send({ path: "/platform", key, body: BODY }), key, "signature-missing");
    expectRefused(await send({ key, signer: mustBe(other) }), key, "signature-invalid");
    expectRefused(await send({ key, profile: "/elsewhere/platform" }), key, "profile-not-trusted");
    expectRefused(await send({ key, signing: { keyId: "2024" } }), key, "key-not-found");
    expectRefused(await send({ key, path: "/fresh" }), key, "signature-invalid");
    expect(await origin.effects(key)).toBe(1);
  });

  it("whose body is not the signed one is refused before a record is looked for", async () => {
    const key = freshKey();
    const headers = await headersOf({ key });
    const changed = { path: "/platform", key, headers };
    expectRefused(await client.send({ ...changed, body: '{"amount":9}' }), key, "digest-invalid");
    expectRefused(await client.send({ ...changed, body: '{"amount":9}', chunked: true }), key, "digest-invalid");
    expect(await origin.effects(key)).toBe(0);
    const first = await client.send({ ...changed, body: BODY });
    expectFirstAnswer(first, 201);
    // Not 422, which would say that there is a record.
    expectRefused(await client.send({ ...changed, body: '{"amount":9}' }), key, "digest-invalid");
    expectReplay(await client.send({ ...changed, body: BODY }), first);
  });

  it.each(["/platform", "/uncompared"])("because its body is too large to compare gets 413: %s", async (path) => {
    const key = freshKey();
    const most = "x".repeat((1 << 20) - 2);
    expectFirstAnswer(await send({ key, path, body: JSON.stringify(most) }), 201);
    const large = freshKey();
    const response = await send({ key: large, path, body: JSON.stringify(`${most}x`) });
    expectProblem(response, { code: "body-too-large", status: 413, retryable: false, echo: large });
    expect(await origin.effects(large)).toBe(0);
  });
});

describe("the document with an agent's keys", () => {
  it("is fetched once for many requests, and again for a new key", async () => {
    const [first, second] = [await makeAgentKey("ES256", "a"), await makeAgentKey("ES256", "b")];
    const profile = "/profiles/rotating";
    agents.publish(profile, first);
    const key = freshKey();
    const answer = await send({ key, profile, signer: first });
    expectFirstAnswer(answer, 201);
    await Promise.all(Array.from({ length: 5 }, () => send({ key: freshKey(), profile, signer: first })));
    expect(agents.fetches(profile)).toBe(1);
    agents.publish(profile, second);
    expectReplay(await send({ key, profile, signer: second }), answer);
    const old = await send({ key, profile, signer: first });
    // It may be a new one: nobody asks twice in a minute.
    expectRefused(old, key, "key-not-found", true);
    expectRetryAfter(old, 60);
    expect(agents.fetches(profile)).toBe(2);
  });

  it.each(["missing", "redirecting", "huge", "hanging"] as const)(
    "that is %s leaves the caller unknown, and is not followed",
    async (mood) => {
      const profile = `/profiles/${mood}`;
      agents.publish(profile, mustBe(platform));
      agents.publish(`${profile}-good`, mustBe(platform));
      agents.mood(profile, mood);
      const key = freshKey();
      expectUnavailable(await send({ key, profile }), key);
      expect(await origin.effects(key)).toBe(0);
      expect(agents.fetches(`${profile}-good`)).toBe(0);
    },
  );
});
