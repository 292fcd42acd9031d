// Who a signed request's caller is, and all the ways in which nobody becomes somebody else. Keys come from a network of the test.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FreshnessRule, AgentHeader } from "../../../../src/kernel/config/identity.ts";
import { HeaderSnapshot } from "../../../../src/kernel/request/headers.ts";
import { parseTrust } from "../../../../src/features/identities/signature/agent-url.ts";
import { FETCHES_MS, MAX_FETCHES, MAX_STRANGERS } from "../../../../src/features/identities/signature/agent-keys.ts";
import { SignatureProver } from "../../../../src/features/identities/signature/signature-prover.ts";
import { configOf, PAYMENTS } from "../../../kernel/unit/config/support.ts";
import type { HeaderPair } from "../../../support/http.ts";
import {
  type AgentKey,
  contentDigest,
  makeAgentKey,
  makeSignature,
  SIGNATURE_ALGORITHMS,
  type SignatureOptions,
  signRequest,
  ucpComponents,
  type UnsignedRequest,
  withSignatures,
} from "../../../support/http-signer.ts";

const URL_OF_SHOP = "https://shop.example/v1/checkout?currency=EUR";
const PROFILE = "https://platform.example/.well-known/ucp";
const OTHER = "https://other.example/.well-known/ucp";
const BODY = '{"amount":1}';

const [platform, other, stranger] = await Promise.all([
  makeAgentKey("ES256", "2026"),
  makeAgentKey("ES256", "2026"),
  makeAgentKey("ES256", "2026"),
]);
const bot = await makeAgentKey("EdDSA");

function requestOf(more: Partial<UnsignedRequest> & { readonly agent?: string } = {}): UnsignedRequest {
  return {
    method: "POST",
    url: URL_OF_SHOP,
    body: BODY,
    headers: [
      ["Content-Type", "application/json"],
      ["Content-Length", String(BODY.length)],
      ["Idempotency-Key", "k-1"],
      ["UCP-Agent", `profile="${more.agent ?? PROFILE}"`],
    ],
    ...more,
  };
}

interface Scene {
  readonly answers: Map<string, () => Response | Promise<Response>>;
  readonly fetched: string[];
  /** The caller, or what is told. */
  readonly who: (headers: readonly HeaderPair[], request?: Partial<UnsignedRequest>, body?: string) => Promise<string>;
}

interface SceneOptions {
  readonly agents?: readonly AgentHeader[];
  readonly trust?: readonly string[];
  readonly freshness?: FreshnessRule;
  readonly trustForwarded?: boolean;
}

function keysAnswer(...keys: readonly AgentKey[]): () => Response {
  return () => Response.json({ ucp: { version: "2026-08-22" }, keys: keys.map(({ jwk }) => jwk) });
}

function sceneOf({
  agents = ["ucp-agent", "signature-agent"],
  trust = [PROFILE, OTHER, "https://bots.example/*", "https://*.example.com/*"],
  freshness = "if-present",
  trustForwarded = false,
}: SceneOptions = {}): Scene {
  const answers: Scene["answers"] = new Map([
    [PROFILE, keysAnswer(platform)],
    [OTHER, keysAnswer(other)],
    ["https://bots.example/jwks", keysAnswer(bot)],
    ["https://bots.example/.well-known/http-message-signatures-directory", keysAnswer(bot)],
  ]);
  const fetched: string[] = [];
  const network = {
    fetch: async (asked: Request | string): Promise<Response> => {
      const url = typeof asked === "string" ? asked : asked.url;
      fetched.push(url);
      return answers.get(url)?.() ?? new Response(null, { status: 404 });
    },
  };
  const entries = trust.map((one) => {
    const parsed = parseTrust(one);
    if (!parsed.ok) throw new Error(parsed.message);
    return parsed.value;
  });
  const prover = new SignatureProver({ agents, trust: entries, freshness }, { network, waitUntil: () => undefined });
  const [found] = configOf({ ROUTES: [PAYMENTS] }).routes;
  if (found === undefined) throw new Error("no route");
  const route = { ...found, trustForwarded };
  return {
    answers,
    fetched,
    who: async (headers, { method = "POST", url = URL_OF_SHOP } = {}, body = BODY) => {
      const request = {
        request: { method },
        url: new URL(url),
        headers: new HeaderSnapshot(headers.map((one) => [...one])),
        route,
      };
      const proof = await prover.prove(request);
      const problem = "problem" in proof ? proof.problem : await proof.checkBody?.(new TextEncoder().encode(body));
      if (problem === null || problem === undefined) return "value" in proof ? String(proof.value) : "?";
      if (problem.code === "identity-unavailable") return "unavailable";
      return problem.code === "credential-invalid" ? (problem.signature?.fault ?? "?") : "?";
    },
  };
}

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-11-27T12:00:00Z"), toFake: ["Date"] });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const seconds = (): number => Math.floor(Date.now() / 1000);

/** Web Bot Auth's shape of a request. */
async function botSigned(
  agent = 'sig1="https://bots.example/jwks";type=jwks_uri',
  options: SignatureOptions = {},
  key = bot,
): Promise<readonly HeaderPair[]> {
  const headers: readonly HeaderPair[] = [
    ["Content-Type", "application/json"],
    ["Content-Length", String(BODY.length)],
    ["Idempotency-Key", "k-1"],
    ["Signature-Agent", agent],
    ["Content-Digest", await contentDigest(BODY)],
  ];
  const request = requestOf({ headers });
  const components = ucpComponents(request).map((one) => (one === '"signature-agent"' ? `${one};key="sig1"` : one));
  const params = `;created=${seconds()};expires=${seconds() + 60};tag="web-bot-auth"`;
  return withSignatures(headers, await makeSignature(request, key, { components, params, ...options }));
}

describe("the caller of a signed request", () => {
  it.each(SIGNATURE_ALGORITHMS)("is the profile whose %s key has signed it", async (alg) => {
    const key = await makeAgentKey(alg, "k");
    const { who, answers } = sceneOf();
    answers.set(PROFILE, keysAnswer(stranger, key));
    expect(await who(await signRequest(requestOf(), key))).toBe(PROFILE);
  });

  it("has one name, whatever the spelling of the URL", async () => {
    const { who, fetched } = sceneOf();
    const agent = "HTTPS://Platform.example:443/.well-known/%75cp";
    expect(await who(await signRequest(requestOf({ agent }), platform))).toBe(PROFILE);
    expect(fetched).toEqual([PROFILE]);
  });

  it("keeps its name when its keys change", async () => {
    const { who, answers } = sceneOf();
    expect(await who(await signRequest(requestOf(), platform))).toBe(PROFILE);
    const next = await makeAgentKey("ES256", "2027");
    answers.set(PROFILE, keysAnswer(next));
    expect(await who(await signRequest(requestOf(), next))).toBe(PROFILE);
    expect(await who(await signRequest(requestOf(), platform))).toBe("key-not-found");
  });

  it("may send no body", async () => {
    const { who } = sceneOf();
    const request = requestOf({ method: "GET", headers: [["UCP-Agent", `profile="${PROFILE}"`]] });
    const { body: _, ...bodiless } = request;
    expect(await who(await signRequest(bodiless, platform), { method: "GET" }, "")).toBe(PROFILE);
    expect(await who(await signRequest(bodiless, platform), { method: "GET" }, "{}")).toBe("signature-invalid");
  });

  it("of Web Bot Auth is the URL in Signature-Agent, its directory where it names an origin", async () => {
    const { who } = sceneOf();
    expect(await who(await botSigned())).toBe("https://bots.example/jwks");
    const directory = "https://bots.example/.well-known/http-message-signatures-directory";
    expect(await who(await botSigned('sig1="https://bots.example"'))).toBe(directory);
    expect(await who(await botSigned('sig1="https://bots.example";type=directory'))).toBe(directory);
    expect(await who(await botSigned('sig1="https://bots.example";type=cimd'))).toBe("profile-not-trusted");
    expect(await who(await botSigned('sig1="https://bots.example/a";type=directory'))).toBe("profile-not-trusted");
  });

  it("of Web Bot Auth's shape is the profile where Signature-Agent does not count", async () => {
    const { who, answers } = sceneOf({ agents: ["ucp-agent"] });
    answers.set(PROFILE, keysAnswer(bot));
    const params = `;created=${seconds()};expires=${seconds() + 60};tag="web-bot-auth"`;
    expect(await who(await signRequest(requestOf(), bot, { params }))).toBe(PROFILE);
    expect(await who(await botSigned())).toBe("profile-not-trusted");
  });

  it("is the first one whose signature verifies", async () => {
    const { who } = sceneOf();
    const request = requestOf({
      headers: [
        ...requestOf().headers,
        ["Signature-Agent", 'bot="https://bots.example/jwks";type=jwks_uri'],
        ["Content-Digest", await contentDigest(BODY)],
      ],
    });
    const params = `;created=${seconds()};expires=${seconds() + 60};tag="web-bot-auth"`;
    const [byPlatform, byBot, byStranger] = await Promise.all([
      makeSignature(request, platform, { label: "ucp" }),
      makeSignature(request, bot, { label: "bot", params }),
      makeSignature(request, stranger, { label: "no" }),
    ]);
    expect(await who(withSignatures(request.headers, byPlatform, byBot))).toBe(PROFILE);
    expect(await who(withSignatures(request.headers, byBot, byPlatform))).toBe("https://bots.example/jwks");
    expect(await who(withSignatures(request.headers, byStranger, byBot))).toBe("https://bots.example/jwks");
    expect(await who(withSignatures(request.headers, byStranger))).toBe("signature-invalid");
  });

  it("is nobody else when an earlier signature has expired, or its keys cannot be had now", async () => {
    const { who, answers } = sceneOf();
    const headers: readonly HeaderPair[] = [
      ...requestOf().headers,
      ["Signature-Agent", 'bot="https://bots.example/jwks";type=jwks_uri'],
      ["Content-Digest", await contentDigest(BODY)],
    ];
    const request = requestOf({ headers });
    const params = `;created=${seconds()};expires=${seconds() + 60};tag="web-bot-auth"`;
    const [byBot, byPlatform] = await Promise.all([
      makeSignature(request, bot, { label: "bot", params }),
      makeSignature(request, platform, { label: "ucp" }),
    ]);
    const both = withSignatures(headers, byBot, byPlatform);
    answers.set("https://bots.example/jwks", () => new Response(null, { status: 500 }));
    expect(await who(both)).toBe("unavailable");
    answers.set("https://bots.example/jwks", keysAnswer(bot));
    vi.advanceTimersByTime(2_000);
    expect(await who(both)).toBe("https://bots.example/jwks");
    vi.advanceTimersByTime(10 * 60_000);
    expect(await who(both)).toBe("signature-invalid");
    expect(await who(withSignatures(headers, byPlatform))).toBe(PROFILE);
  });
});

describe("a request is refused", () => {
  it("without a signature, and with half of one", async () => {
    const { who, fetched } = sceneOf();
    expect(await who(requestOf().headers)).toBe("signature-missing");
    const signed = await signRequest(requestOf(), platform);
    for (const name of ["Signature", "Signature-Input"]) {
      expect(await who(signed.filter(([one]) => one !== name))).toBe("signature-missing");
    }
    expect(fetched).toEqual([]);
  });

  it("with a stranger's key under the same keyid", async () => {
    const { who } = sceneOf();
    expect(await who(await signRequest(requestOf(), stranger))).toBe("signature-invalid");
    expect(await who(await signRequest(requestOf(), other))).toBe("signature-invalid");
  });

  it("with a profile that is not trusted, which is never asked", async () => {
    const { who, fetched } = sceneOf();
    for (const agent of [
      "https://evil.example/.well-known/ucp",
      `${PROFILE}/x`,
      `${PROFILE}?a`,
      "https://platform.example:8443/.well-known/ucp",
      "https://user@platform.example/.well-known/ucp",
      "https://platform.example./.well-known/ucp",
      "https://example.com.evil/p",
      "http://platform.example/.well-known/ucp",
    ]) {
      expect([agent, await who(await signRequest(requestOf({ agent }), platform))]).toEqual([
        agent,
        "profile-not-trusted",
      ]);
    }
    expect(fetched).toEqual([]);
  });

  it.each([
    ["no profile", "version=1"],
    ["a profile that is no text", "profile=1"],
    ["a profile in a list", `profile=("${PROFILE}")`],
    ["two profiles, of which an origin may take the other", `profile="${OTHER}", profile="${PROFILE}"`],
    ["no dictionary", `"${PROFILE}"`],
  ])("with %s in UCP-Agent", async (_, value) => {
    const { who, fetched } = sceneOf();
    const headers = requestOf().headers.map(([name, one]): HeaderPair => [name, name === "UCP-Agent" ? value : one]);
    expect(await who(await signRequest(requestOf({ headers }), platform))).toBe("profile-not-trusted");
    expect(fetched).toEqual([]);
  });

  const COVERED = [
    "@method",
    "@authority",
    "@path",
    "@query",
    "idempotency-key",
    "ucp-agent",
    "content-digest",
    "content-type",
  ];

  it.each(COVERED)("whose signature does not cover %s", async (name) => {
    const { who, fetched } = sceneOf();
    const components = COVERED.filter((one) => one !== name).map((one) => `"${one}"`);
    expect(await who(await signRequest(requestOf(), platform, { components }))).toBe("signature-invalid");
    expect(fetched).toEqual([]);
  });

  it.each([
    ["method", { method: "PUT" }, {}],
    ["host", { url: "https://other-shop.example/v1/checkout?currency=EUR" }, {}],
    ["path", { url: "https://shop.example/v1/checkout2?currency=EUR" }, {}],
    ["query", { url: "https://shop.example/v1/checkout?currency=USD" }, {}],
    ["query, with none", { url: "https://shop.example/v1/checkout" }, {}],
    ["key", {}, { "Idempotency-Key": "k-2" }],
    ["content type", {}, { "Content-Type": "text/plain" }],
    ["digest", {}, { "Content-Digest": `sha-256=:${btoa("x".repeat(32))}:` }],
    ["profile, for another that is trusted", {}, { "UCP-Agent": `profile="${OTHER}"` }],
  ])("with another %s than was signed", async (_, sent, changed: Readonly<Record<string, string>>) => {
    const { who } = sceneOf();
    const signed = await signRequest(requestOf(), platform);
    const headers = signed.map(([name, value]): HeaderPair => [name, changed[name] ?? value]);
    expect(await who(headers, sent)).toBe("signature-invalid");
    expect(await who(signed)).toBe(PROFILE);
  });

  it("with another body than the digest says", async () => {
    const { who } = sceneOf();
    const signed = await signRequest(requestOf(), platform);
    expect(await who(signed, {}, '{"amount":2}')).toBe("digest-invalid");
    expect(await who(signed, {}, "")).toBe("digest-invalid");
  });

  it("with a digest that cannot be compared", async () => {
    const { who, fetched } = sceneOf();
    const headers: readonly HeaderPair[] = [...requestOf().headers, ["Content-Digest", "sha-512=:AAAA:"]];
    const signature = await makeSignature(requestOf({ headers }), platform);
    expect(await who(withSignatures(headers, signature))).toBe("digest-invalid");
    expect(fetched).toEqual([]);
  });

  it("whose header was signed as empty although it is missing", async () => {
    const { who } = sceneOf();
    const request = requestOf();
    const components = [...ucpComponents(request), '"x-none"'];
    expect(await who(await signRequest(request, platform, { components, values: { '"x-none"': "" } }))).toBe(
      "signature-invalid",
    );
  });

  it("with labels that belong to different signatures", async () => {
    const { who } = sceneOf();
    const signed = await signRequest(requestOf(), platform, { label: "a" });
    const relabelled = signed.map(([name, value]): HeaderPair => [
      name,
      name === "Signature" ? value.replace("a=", "b=") : value,
    ]);
    expect(await who(relabelled)).toBe("signature-invalid");
    // Web Bot Auth: the member of another label is whose keys these are not.
    const agent = 'sig1="https://bots.example/jwks";type=jwks_uri, sig2="https://bots.example/jwks";type=jwks_uri';
    expect(await who(await botSigned(agent, { label: "sig2" }))).toBe("signature-invalid");
    expect(
      await who(await botSigned('sig2="https://bots.example/jwks";type=jwks_uri', { label: "sig1", components: [] })),
    ).toBe("profile-not-trusted");
  });

  it("with a key of another kind, use or algorithm", async () => {
    const { who, answers } = sceneOf();
    const signed = await signRequest(requestOf(), platform);
    const publish = (more: object): void => {
      answers.set(PROFILE, () => Response.json({ keys: [{ ...platform.jwk, ...more }] }));
      vi.advanceTimersByTime(61_000);
    };
    for (const [more, told] of [
      [{ use: "enc" }, "key-not-found"],
      [{ use: undefined, key_ops: ["sign"] }, "key-not-found"],
      [{ kid: undefined }, "key-not-found"],
      [{ kid: "2025" }, "key-not-found"],
      [{ alg: "ES512" }, "algorithm-unsupported"],
      [{ crv: "secp256k1" }, "algorithm-unsupported"],
      [{ kty: "oct", k: "AAAA" }, "algorithm-unsupported"],
      [{ x: "AAAA" }, "signature-invalid"],
      [{ use: undefined, alg: undefined, key_ops: ["verify"] }, PROFILE],
    ] as const) {
      publish(more);
      expect([more, await who(signed)]).toEqual([more, told]);
    }
    const named = await signRequest(requestOf(), platform, { params: ';alg="ed25519"' });
    expect(await who(named)).toBe("signature-invalid");
    expect(await who(await signRequest(requestOf(), platform, { params: ';alg="ecdsa-p256-sha256"' }))).toBe(PROFILE);
  });

  it("with the tag of Web Bot Auth, where its rules are broken", async () => {
    const { who, answers } = sceneOf();
    expect(await who(await botSigned(undefined, { params: ';tag="web-bot-auth"' }))).toBe("signature-invalid");
    const odd = await makeAgentKey("EdDSA", "not-its-thumbprint");
    answers.set("https://bots.example/odd", keysAnswer(odd));
    const agent = 'sig1="https://bots.example/odd";type=jwks_uri';
    expect(await who(await botSigned(agent, {}, odd))).toBe("key-not-found");
    expect(await who(await botSigned(agent, { keyId: odd.thumbprint }, odd))).toBe("https://bots.example/odd");
  });

  it("before and after its time", async () => {
    const { who } = sceneOf();
    const at = async (created: number, expires: number): Promise<string> =>
      who(
        await signRequest(requestOf(), platform, {
          params: `;created=${seconds() + created};expires=${seconds() + expires}`,
        }),
      );
    expect(await at(0, 60)).toBe(PROFILE);
    expect(await at(30, 60)).toBe(PROFILE);
    expect(await at(31, 60)).toBe("signature-invalid");
    expect(await at(-60, -29)).toBe(PROFILE);
    expect(await at(-60, -30)).toBe("signature-invalid");
  });

  it("without times, where they are required", async () => {
    const { who } = sceneOf({ freshness: "required" });
    expect(await who(await signRequest(requestOf(), platform))).toBe("signature-invalid");
    const params = `;created=${seconds()};expires=${seconds() + 60}`;
    expect(await who(await signRequest(requestOf(), platform, { params }))).toBe(PROFILE);
  });
});

describe("the host that is signed", () => {
  const signedFor = (host: string): Promise<readonly HeaderPair[]> =>
    signRequest(requestOf({ url: `https://${host}/v1/checkout?currency=EUR` }), platform);

  it("is that of the request, unless a trusted proxy says which one the client named", async () => {
    const sent = { url: "http://internal:8080/v1/checkout?currency=EUR" };
    const forwarded = (value: string): HeaderPair => ["X-Forwarded-Host", value];
    const [direct, behind] = [sceneOf(), sceneOf({ trustForwarded: true })];
    const signed = await signedFor("shop.example");
    expect(await direct.who([...signed, forwarded("shop.example")], sent)).toBe("signature-invalid");
    for (const value of ["shop.example", "Shop.Example:443"]) {
      expect([value, await behind.who([...signed, forwarded(value)], sent)]).toEqual([value, PROFILE]);
    }
    for (const value of [
      "evil.example",
      "shop.example, evil.example",
      "evil.example, shop.example",
      "a@shop.example",
      "",
    ]) {
      expect([value, await behind.who([...signed, forwarded(value)], sent)]).toEqual([value, "signature-invalid"]);
    }
    expect(await behind.who(await signedFor("internal:8080"), sent)).toBe(PROFILE);
  });
});

describe("the documents with keys", () => {
  const asked = async (scene: Scene, agent: string): Promise<string> =>
    scene.who(await signRequest(requestOf({ agent }), platform));

  it("are kept for a minute, and looked at again for an unknown key once a minute", async () => {
    const scene = sceneOf();
    await asked(scene, PROFILE);
    vi.advanceTimersByTime(59_000);
    await asked(scene, PROFILE);
    expect(scene.fetched).toHaveLength(1);
    const unknown = await makeAgentKey("ES256", "unknown");
    const signed = await signRequest(requestOf(), unknown);
    expect(await scene.who(signed)).toBe("key-not-found");
    expect(scene.fetched).toHaveLength(2);
    expect(await scene.who(signed)).toBe("key-not-found");
    expect(scene.fetched).toHaveLength(2);
    vi.advanceTimersByTime(60_000);
    expect(await scene.who(signed)).toBe("key-not-found");
    expect(scene.fetched).toHaveLength(3);
  });

  it("may have a new key that is not looked for now: its signature makes nobody another caller meanwhile", async () => {
    const scene = sceneOf();
    const next = await makeAgentKey("ES256", "next");
    await asked(scene, PROFILE);
    await scene.who(await signRequest(requestOf(), await makeAgentKey("ES256", "unknown")));
    scene.answers.set(PROFILE, keysAnswer(platform, next));
    const headers = [
      ...requestOf().headers,
      ["Signature-Agent", 'sig2="https://bots.example/jwks";type=jwks_uri'],
      ["Content-Digest", await contentDigest(BODY)],
    ] as const;
    const request = requestOf({ headers });
    const now = Math.floor(Date.now() / 1000);
    const signed = withSignatures(
      headers,
      await makeSignature(request, next),
      await makeSignature(request, bot, {
        label: "sig2",
        params: `;created=${now};expires=${now + 600};tag="web-bot-auth"`,
      }),
    );
    expect(await scene.who(signed)).toBe("key-not-found");
    vi.advanceTimersByTime(60_000);
    expect(await scene.who(signed)).toBe(PROFILE);
  });

  it.each([
    ["404", () => new Response(null, { status: 404 })],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: OTHER } })],
    ["no JSON", () => new Response("keys")],
    ["no keys", () => Response.json({ ucp: {} })],
    ["too many bytes", () => Response.json({ keys: [], padding: "x".repeat(256 * 1024) })],
  ])("are unavailable where the answer is %s", async (_, answer) => {
    const scene = sceneOf();
    scene.answers.set(PROFILE, answer);
    expect(await asked(scene, PROFILE)).toBe("unavailable");
    expect(scene.fetched).toEqual([PROFILE]);
  });

  it("of strangers are asked for twenty times a minute; of listed agents always", async () => {
    const scene = sceneOf();
    for (let at = 0; at < MAX_FETCHES + 5; at += 1) {
      expect(await asked(scene, `https://a${at}.example.com/p`)).toBe("unavailable");
    }
    expect(scene.fetched).toHaveLength(MAX_FETCHES);
    expect(await asked(scene, PROFILE)).toBe(PROFILE);
    vi.advanceTimersByTime(FETCHES_MS);
    await asked(scene, "https://later.example.com/p");
    expect(scene.fetched).toHaveLength(MAX_FETCHES + 2);
  });

  it("that fail cannot be asked for more often because they are known to fail", async () => {
    const scene = sceneOf();
    for (let at = 0; at < 100; at += 1) {
      await asked(scene, "https://a.example.com/p");
      vi.advanceTimersByTime(500);
    }
    expect(scene.fetched.length).toBeLessThanOrEqual(MAX_FETCHES);
  });

  it("that give keys are not forgotten for those that give none", async () => {
    const scene = sceneOf();
    const good = "https://good.example.com/p";
    scene.answers.set(good, keysAnswer(platform));
    expect(await asked(scene, good)).toBe(good);
    for (let at = 0; at < MAX_STRANGERS + 10; at += 1) {
      if (at % MAX_FETCHES === 0) vi.advanceTimersByTime(FETCHES_MS);
      await asked(scene, `https://a${at}.example.com/p`);
    }
    scene.answers.delete(good);
    expect(await asked(scene, good)).toBe(good);
  });

  it("that give keys are bounded too: the ones that were not used for longest are forgotten", async () => {
    const scene = sceneOf();
    const urls = Array.from({ length: MAX_STRANGERS + 1 }, (_, at) => `https://a${at}.example.com/p`);
    for (const [at, url] of urls.entries()) {
      if (at % MAX_FETCHES === 0) vi.advanceTimersByTime(FETCHES_MS);
      scene.answers.set(url, keysAnswer(platform));
      expect(await asked(scene, url)).toBe(url);
    }
    scene.answers.clear();
    const [forgotten = "", ...kept] = urls;
    for (const url of kept.slice(-2)) expect(await asked(scene, url)).toBe(url);
    vi.advanceTimersByTime(FETCHES_MS);
    expect(await asked(scene, forgotten)).toBe("unavailable");
  });
});
