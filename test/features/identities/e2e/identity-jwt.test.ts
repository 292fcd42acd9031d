// Callers that show a JWT (`jwt` in `[vars.IDENTITIES]`): a refreshed token finds its record, another caller's never does, and a token that
// is not proved gets nothing. The issuer is a process of its own, with keys that it rotates on command.

import { createHmac, createPublicKey } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JWT_ALGORITHMS } from "../../../../src/kernel/config/trusted-issuer.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, type HeaderPair, headerValue, type RawResponse } from "../../../support/http.ts";
import { AUDIENCE, type Issuer, startIssuer, type TokenOptions } from "../../../support/issuer.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import { type Client, clientOf, removeGateway } from "../../../support/e2e/scene.ts";

let origin: TestOrigin;
let issuer: Issuer;
/** Has the same callers. */
let other: Issuer;
/** Is away, hangs or rotates its keys in some tests. */
let moody: Issuer;
let gateway: Gateway;
let client: Client;

const ROUTES = ["user", "anonymous", "access", "cookie", "account", "rs256", "hung", "rotating"];

beforeAll(async () => {
  [origin, issuer, other, moody] = await Promise.all([
    startOrigin(),
    startIssuer("https://login.example.com"),
    startIssuer("https://id.example.org"),
    startIssuer("https://moody.example.com"),
  ]);
  const trusted = ({
    name,
    jwks,
  }: Issuer): { readonly issuer: string; readonly audience: string[]; readonly jwks: string } => ({
    issuer: name,
    audience: [AUDIENCE, "second"],
    jwks,
  });
  const jwt = trusted(issuer);
  // A key for each algorithm, before the first fetch of the keys.
  await Promise.all(JWT_ALGORITHMS.map((alg) => issuer.token("alice", { alg })));
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1, log: "none" },
      IDENTITIES: {
        user: { jwt: [jwt, trusted(other)] },
        anonymous: { jwt, anonymous: "allow" },
        access: { jwt, credential: ["header:cf-access-jwt-assertion"] },
        cookie: { jwt, credential: ["cookie:CF_Authorization"] },
        account: { jwt: { ...jwt, claim: "/account/id" } },
        rs256: { jwt: { ...jwt, algorithms: ["RS256"] } },
        hung: { jwt: trusted(moody) },
        rotating: { jwt: trusted(moody) },
      },
      ROUTES: [
        ...ROUTES.map((name) => ({ path: `/${name}`, scope: [`identity:${name}`], key: "optional" })),
        { path: "/body/required", scope: ["identity:user"], key_from: ["json:/id"] },
        { path: "/body/optional", scope: ["identity:user"], key_from: ["json:/id"], key: "optional" },
      ],
    },
  });
  client = clientOf(gateway.url);
});
afterAll(async () => {
  await removeGateway(gateway);
  await Promise.all([origin, issuer, other, moody].map((one) => one.close()));
});

const bearer = (token: string): HeaderPair => ["Authorization", `Bearer ${token}`];

function send(token: string | null, key: string | undefined, path = "/user"): Promise<RawResponse> {
  const headers = token === null ? [] : [bearer(token)];
  return client.send({ path, headers, ...(key === undefined ? {} : { key }) });
}

/** Refused before anything was forwarded or looked up. */
async function expectRefused(
  response: RawResponse,
  key: string,
  challenge = 'Bearer error="invalid_token"',
): Promise<void> {
  expectProblem(response, { code: "credential-invalid", status: 401, retryable: false, echo: key });
  const [scheme, ...params] = (headerValue(response, "www-authenticate") ?? "").split(/,? /);
  expect([scheme, ...params.filter((param) => !param.startsWith("realm="))].join(" ")).toBe(challenge);
}

function expectUnavailable(response: RawResponse, key: string): void {
  expectProblem(response, { code: "identity-unavailable", status: 503, retryable: true, echo: key });
  expectRetryAfter(response, 10);
}

describe("a caller with a token", () => {
  it("finds the record again with a refreshed one: one effect", async () => {
    const key = freshKey();
    const first = await send(await issuer.token("alice"), key);
    expectFirstAnswer(first, 201);
    expectReplay(await send(await issuer.token("alice"), key), first);
    expectReplay(await send(await issuer.token("alice", { alg: "RS256" }), key), first);
    expect(await origin.effects(key)).toBe(1);
  });

  it("never finds another caller's, with the same key and the same bytes", async () => {
    const key = freshKey();
    expectFirstAnswer(await send(await issuer.token("alice"), key), 201);
    expectFirstAnswer(await send(await issuer.token("bob"), key), 201);
    expect(await origin.effects(key)).toBe(2);
  });

  it("is not the caller whom another issuer calls by the same name", async () => {
    const key = freshKey();
    expectFirstAnswer(await send(await issuer.token("alice"), key), 201);
    expectFirstAnswer(await send(await other.token("alice"), key), 201);
    expect(await origin.effects(key)).toBe(2);
  });

  it("reaches the origin with the token as it came", async () => {
    const [key, token] = [freshKey(), await issuer.token("alice")];
    await client.send({ path: "/user", key, headers: [["Connection", "close, Authorization"], bearer(token)] });
    const [seen] = await origin.requests(key);
    expect(seen?.headers.filter(([name]) => name.toLowerCase() === "authorization")).toEqual([bearer(token)]);
  });

  it.each(JWT_ALGORITHMS)("may have one that is signed with %s", async (alg) => {
    expectFirstAnswer(await send(await issuer.token("alice", { alg }), freshKey()), 201);
  });

  it("may have one for several audiences", async () => {
    const token = await issuer.token("alice", { claims: { aud: ["elsewhere", "second"] } });
    expectFirstAnswer(await send(token, freshKey()), 201);
  });

  it("may have one without the name of a key", async () => {
    expectFirstAnswer(await send(await issuer.token("alice", { header: { kid: null } }), freshKey()), 201);
  });

  it("may be known by a claim inside of another", async () => {
    const key = freshKey();
    const tokenOf = (id: string): Promise<string> => issuer.token(`user of ${id}`, { claims: { account: { id } } });
    const first = await send(await tokenOf("a1"), key, "/account");
    expectReplay(await send(await issuer.token("x", { claims: { account: { id: "a1" } } }), key, "/account"), first);
    expectFirstAnswer(await send(await tokenOf("a2"), key, "/account"), 201);
  });

  it("may show it in another header, or in a cookie", async () => {
    const places: readonly (readonly [string, (token: string) => HeaderPair])[] = [
      ["/access", (token) => ["Cf-Access-Jwt-Assertion", token]],
      ["/cookie", (token) => ["Cookie", `theme=dark; CF_Authorization=${token}`]],
    ];
    for (const [path, place] of places) {
      const key = freshKey();
      const first = await client.send({ path, key, headers: [place(await issuer.token("alice"))] });
      expectFirstAnswer(first, 201);
      expectReplay(await client.send({ path, key, headers: [place(await issuer.token("alice"))] }), first);
      expectFirstAnswer(await client.send({ path, key, headers: [place(await issuer.token("bob"))] }), 201);
      await expectRefused(
        await client.send({ path, key, headers: [bearer(await issuer.token("alice"))] }),
        key,
        "Bearer",
      );
    }
  });

  it("is told who issues tokens, where it is one issuer", async () => {
    const challengeOf = async (path: string, value: string | null): Promise<string | null> => {
      const headers: readonly HeaderPair[] = value === null ? [] : [["cf-access-jwt-assertion", value], bearer(value)];
      return headerValue(await client.send({ path, key: freshKey(), headers }), "www-authenticate");
    };
    const realm = `realm="${issuer.name}"`;
    expect(await challengeOf("/access", null)).toBe(`Bearer ${realm}`);
    expect(await challengeOf("/access", "a.b.c")).toBe(`Bearer ${realm}, error="invalid_token"`);
    expect(await challengeOf("/user", null)).toBe("Bearer");
    expect(await challengeOf("/user", "a.b.c")).toBe('Bearer error="invalid_token"');
  });

  it("passes unverified without a key, where none is required: the origin looks at the credential", async () => {
    expectFirstAnswer(await send("not a token", undefined), 201, null);
  });
});

describe("a caller whose key is in the body", () => {
  const sendBody = (path: string, token: string, body: object): Promise<RawResponse> =>
    client.send({
      path,
      headers: [bearer(token), ["Content-Type", "application/json"]],
      body: JSON.stringify(body),
    });

  it.each(["/body/required", "/body/optional"])("finds the record again with a refreshed token: %s", async (path) => {
    const id = freshKey();
    const first = await sendBody(path, await issuer.token("alice"), { id });
    expectFirstAnswer(first, 201);
    expectReplay(await sendBody(path, await issuer.token("alice"), { id }), first);
    expectFirstAnswer(await sendBody(path, await issuer.token("bob"), { id }), 201);
  });

  it("is refused before the body is read where a key is required", async () => {
    const refused = await sendBody("/body/required", "a.b.c", {});
    expectProblem(refused, { code: "credential-invalid", status: 401, retryable: false, echo: null });
    const id = freshKey();
    expectProblem(await sendBody("/body/required", "a.b.c", { id }), {
      code: "credential-invalid",
      status: 401,
      retryable: false,
      echo: null,
    });
    expect(await origin.requests(id)).toEqual([]);
  });

  it("is refused only with a key where none is required", async () => {
    expectFirstAnswer(await sendBody("/body/optional", "a.b.c", { amount: 1 }), 201, null);
    const id = freshKey();
    await expectRefused(await sendBody("/body/optional", "a.b.c", { id }), id);
  });
});

const now = (): number => Math.floor(Date.now() / 1000);

const base64url = (value: object | string): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** With the claims of a good token, and a header and signature of one's own. */
async function forged(header: object, sign: (input: string) => string): Promise<string> {
  const [, claims = ""] = (await issuer.token("alice")).split(".");
  const input = `${base64url(header)}.${claims}`;
  return `${input}.${sign(input)}`;
}

const hmac =
  (secret: string | Buffer) =>
  (input: string): string =>
    createHmac("sha256", secret).update(input).digest("base64url");

async function publicKey(alg: string): Promise<Readonly<Record<string, unknown>>> {
  await issuer.token("alice", { alg });
  const found = (await issuer.publicKeys()).find((one) => one["alg"] === alg);
  if (found === undefined) throw new Error(`no ${alg} key`);
  return found;
}

describe("a token that is refused", () => {
  const refused: readonly (readonly [string, TokenOptions])[] = [
    ["has expired", { claims: { exp: now() - 60 } }],
    ["is not valid yet", { claims: { nbf: now() + 120 } }],
    ["never expires", { claims: { exp: undefined } }],
    ["says no time of expiry", { claims: { exp: "tomorrow" } }],
    ["is for another audience", { claims: { aud: "https://elsewhere.example.com" } }],
    ["is for no audience", { claims: { aud: undefined } }],
    ["is of another issuer", { claims: { iss: "https://evil.example.com" } }],
    ["is of the other issuer by its own word", { claims: { iss: "https://id.example.org" } }],
    ["is of no issuer", { claims: { iss: undefined } }],
    ["names nobody", { claims: { sub: undefined } }],
    ["names a number", { claims: { sub: 7 } }],
    ["names an empty text", { claims: { sub: "" } }],
    ["names somebody with half a character", { claims: { sub: "\ud800" } }],
    ["names somebody at length", { claims: { sub: "a".repeat(1025) } }],
    ["has a critical header that nobody knows", { header: { crit: ["x-new"], "x-new": true } }],
  ];

  it.each(refused)("%s", async (_, options) => {
    const key = freshKey();
    const first = await send(await issuer.token("alice"), key);
    await expectRefused(await send(await issuer.token("alice", options), key), key);
    expectReplay(await send(await issuer.token("alice"), key), first);
    expect(await origin.requests(key)).toHaveLength(1);
  });

  it.each([
    ["is not signed", { alg: "none", typ: "JWT" }, (): string => ""],
    ["has a signature of zeros", { alg: "ES256", typ: "JWT" }, (): string => Buffer.alloc(64).toString("base64url")],
  ] as const)("%s", async (_, header, sign) => {
    const key = freshKey();
    await expectRefused(await send(await forged(header, sign), key), key);
    expect(await origin.requests(key)).toEqual([]);
  });

  it("is signed with the public key as a secret", async () => {
    const jwk = await publicKey("RS256");
    const pem = createPublicKey({ key: jwk, format: "jwk" });
    const secrets = [
      JSON.stringify(jwk),
      Buffer.from(String(jwk["n"]), "base64url"),
      pem.export({ type: "spki", format: "pem" }),
      pem.export({ type: "spki", format: "der" }),
    ];
    for (const secret of secrets) {
      const key = freshKey();
      const token = await forged({ alg: "HS256", typ: "JWT", kid: jwk["kid"] }, hmac(secret));
      await expectRefused(await send(token, key), key);
      expect(await origin.requests(key)).toEqual([]);
    }
  });

  it("was changed", async () => {
    const key = freshKey();
    const [header = "", claims = "", signature = ""] = (await issuer.token("alice")).split(".");
    const parsed: unknown = JSON.parse(Buffer.from(claims, "base64url").toString());
    const changed = base64url({ ...(typeof parsed === "object" ? parsed : null), sub: "bob" });
    await expectRefused(await send([header, changed, signature].join("."), key), key);
    const first = signature.startsWith("A") ? "B" : "A";
    await expectRefused(await send([header, claims, first + signature.slice(1)].join("."), key), key);
    expect(await origin.requests(key)).toEqual([]);
  });

  it("brings its own key, or says where that is", async () => {
    const key = freshKey();
    const unpublished = { unpublished: true };
    await issuer.token("eve", unpublished);
    const before = await moody.fetches();
    const headers = [{ jwk: await publicKey("ES256") }, { jku: moody.jwks }, { x5u: moody.jwks }];
    for (const header of headers) {
      const kid = (await publicKey("ES256"))["kid"];
      await expectRefused(
        await send(await issuer.token("eve", { ...unpublished, header: { ...header, kid } }), key),
        key,
      );
    }
    expect(await moody.fetches()).toBe(before);
    expect(await origin.requests(key)).toEqual([]);
  });

  it("is signed in a way that the route does not list", async () => {
    const key = freshKey();
    await expectRefused(await send(await issuer.token("alice"), key, "/rs256"), key);
    expectFirstAnswer(await send(await issuer.token("alice", { alg: "RS256" }), key, "/rs256"), 201);
  });

  it.each([
    "Basic YWxpY2U6cGFzc3dvcmQ=",
    "Bearer",
    "Bearer a.b",
    "Bearer a.b.c",
    "Bearer ....",
    `Bearer ${"e".repeat(20_000)}.${"e".repeat(20_000)}.e`,
    `Bearer ${base64url({ alg: "ES256" })}.${base64url('{"iss":'.repeat(1000))}.e`,
    `Bearer ${base64url({ alg: "ES256" })}.${base64url(`${"[".repeat(5000)}${"]".repeat(5000)}`)}.e`,
  ])("is none: %s", async (value) => {
    const key = freshKey();
    const response = await client.send({ path: "/user", key, headers: [["Authorization", value]] });
    await expectRefused(response, key);
    expect(await origin.requests(key)).toEqual([]);
  });

  it("comes twice, as two lines", async () => {
    const key = freshKey();
    const headers = [bearer(await issuer.token("alice")), bearer(await issuer.token("bob"))];
    await expectRefused(await client.send({ path: "/user", key, headers }), key);
    expect(await origin.requests(key)).toEqual([]);
  });

  it("is missing: the challenge names no error", async () => {
    const key = freshKey();
    await expectRefused(await send(null, key), key, "Bearer");
    expect(await origin.requests(key)).toEqual([]);
  });

  it("may be missing where anonymous callers are allowed, but never invalid", async () => {
    const key = freshKey();
    const first = await send(null, key, "/anonymous");
    expectFirstAnswer(first, 201);
    expectReplay(await send(null, key, "/anonymous"), first);
    expectFirstAnswer(await send(await issuer.token("alice"), key, "/anonymous"), 201);
    await expectRefused(await send("a.b.c", key, "/anonymous"), key);
  });
});

describe("an issuer", () => {
  it("rotates its keys: new tokens count at once, and nobody can make the gateway hammer it", async () => {
    await moody.mood("well");
    const key = freshKey();
    const first = await send(await moody.token("alice"), key, "/rotating");
    expectFirstAnswer(first, 201);
    const stale = await moody.token("alice");
    await moody.rotate();
    expectReplay(await send(await moody.token("alice"), key, "/rotating"), first);
    const before = await moody.fetches();
    // The key is gone for good, which the gateway cannot tell from one that is newer than what it fetched a moment ago.
    expectUnavailable(await send(stale, key, "/rotating"), key);
    expect(await moody.fetches()).toBe(before);
    expect(await origin.effects(key)).toBe(1);
  });

  it("is asked anew when the client that made the gateway ask has left", async () => {
    await gateway.stop();
    gateway = await gateway.restart();
    await moody.mood("hanging");
    const key = freshKey();
    const before = await moody.fetches();
    const leaver = client.open({ path: "/hung", key, headers: [bearer(await moody.token("alice"))] });
    leaver.response.catch(() => undefined);
    await expect.poll(() => moody.fetches()).toBe(before + 1);
    leaver.reset();
    await moody.mood("well");
    await expect.poll(async () => (await send(await moody.token("alice"), key, "/hung")).status).toBe(201);
    expect(await origin.effects(key)).toBe(1);
  });
});
