// Cloudflare Access: who is proved by an assertion is an operator, and nobody else is. The issuer is a process of its own, which signs as
// Access does; the header comes as any client could send it.

import { createHmac, createPublicKey } from "node:crypto";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey } from "../../support/http.ts";
import { type Issuer, startIssuer, type TokenOptions } from "../../support/issuer.ts";
import { HOLD } from "../../support/e2e/console.ts";
import { BASE, type OperatorScene, READ_TOKEN, startOperatorScene } from "../../support/e2e/operator-scene.ts";

const AUDIENCE = "32eafc7626e974616deaf0dc3ce63d7bcbed58a2731e84d06bc3cdf1b53c4228";
const NOW_S = Math.floor(Date.now() / 1000);

let issuer: Issuer;
let team: string;
let scene: OperatorScene;
beforeAll(async () => {
  issuer = await startIssuer("unused");
  team = new URL(issuer.jwks).origin;
  const ACCESS = { team, audience: AUDIENCE, admins: ["ann@example.com"], readers: ["*@example.com"] };
  scene = await startOperatorScene(
    { shards: 1, scope: ["none"] },
    [{ path: HOLD, unknown: "hold" }],
    {},
    { ACCESS, ADMIN_TOKEN: "a".repeat(32), READ_TOKEN },
  );
});
afterAll(async () => {
  await scene.close();
  await issuer.close();
});

function assertion(email: string, options: TokenOptions = {}): Promise<string> {
  const claims = { iss: team, aud: [AUDIENCE], email, type: "app", ...options.claims };
  return issuer.token("7335d417", { alg: "RS256", ...options, claims });
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
}

/** Over a raw socket: `fetch` would set `Sec-Fetch-Mode` itself. */
async function send(path: string, jwt: string, { headers = {}, method = "GET", body }: Sent = {}) {
  const own = { "Cf-Access-Jwt-Assertion": jwt, "Cf-Connecting-Ip": "203.0.113.5" };
  const type = body === undefined ? {} : { "Content-Type": "text/plain" };
  const response = await scene.send({
    method,
    path: BASE + path,
    headers: Object.entries({ ...own, ...type, ...headers }),
    body: body ?? null,
  });
  const { status } = response;
  return {
    status,
    headers: new Headers(response.headers.map(([name, value]) => [name, value])),
    text: response.body.toString(),
  };
}

async function unknownRecord(): Promise<string> {
  const key = freshKey();
  await scene.send({ path: HOLD, key, behave: { drop: "after-effect" } });
  const { text } = await send(`/records?key=${key}`, await assertion("ann@example.com"));
  return v.parse(v.object({ records: v.array(v.object({ id: v.string() })) }), JSON.parse(text)).records[0]?.id ?? "";
}

const JSON_TYPE = { "Content-Type": "application/json" };
const REASON = JSON.stringify({ reason: "seen" });
/** What a browser says of a page of this host that it opens in a window. */
const WINDOW = { "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };

describe("an assertion of Access", () => {
  it("makes an operator, by the e-mail address in any case, and the log names it", async () => {
    const id = await unknownRecord();
    const jwt = await assertion("Ann@Example.com");
    const done = await send(`/records/${id}/release`, jwt, { method: "POST", body: REASON, headers: JSON_TYPE });
    expect(done.status).toBe(200);
    expect(done.text).toContain('"by":"ann@example.com"');
    const { text } = await send("/audit?by=ann@example.com&limit=1", await assertion("eve@example.com"));
    expect(JSON.parse(text)).toMatchObject({
      entries: [{ via: "access", role: "admin", action: "release", target: id, address: "203.0.113.5" }],
    });
  });

  it("makes a reader of one who may only read", async () => {
    const jwt = await assertion("bob@example.com");
    expect((await send("/records", jwt)).status).toBe(200);
    expect((await send("/sessions/end", jwt, { method: "POST", headers: JSON_TYPE })).status).toBe(403);
  });

  it("leaves the decision to a token that is given", async () => {
    const headers = { Authorization: `Bearer ${READ_TOKEN}`, ...JSON_TYPE };
    const ann = await assertion("ann@example.com");
    expect((await send("/sessions/end", ann, { method: "POST", headers })).status).toBe(403);
    expect((await send("/records", ann, { headers: { Authorization: "Bearer wrong" } })).status).toBe(401);
  });

  const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const good = () => ({ iss: team, aud: [AUDIENCE], email: "ann@example.com", exp: NOW_S + 3600 });

  it.each<[string, () => Promise<string>]>([
    ["that has expired", () => assertion("ann@example.com", { claims: { exp: NOW_S - 60 } })],
    ["that does not expire", () => assertion("ann@example.com", { claims: { exp: undefined } })],
    ["that is not valid yet", () => assertion("ann@example.com", { claims: { nbf: NOW_S + 3600 } })],
    ["for another application", () => assertion("ann@example.com", { claims: { aud: ["another"] } })],
    ["of another team", () => assertion("ann@example.com", { claims: { iss: "https://evil.cloudflareaccess.com" } })],
    ["without a signature (alg none)", async () => `${segment({ alg: "none" })}.${segment(good())}.`],
    [
      "signed with the public key as a secret (HS256)",
      async () => {
        await assertion("ann@example.com");
        const [jwk = {}] = await issuer.publicKeys();
        const pem = createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "pem" });
        const signed = `${segment({ alg: "HS256", kid: jwk["kid"] })}.${segment(good())}`;
        return `${signed}.${createHmac("sha256", pem).update(signed).digest("base64url")}`;
      },
    ],
    ["signed by another key", () => assertion("ann@example.com", { alg: "ES256" })],
    ["of a stranger", () => assertion("ann@example.org")],
    ["of a stranger whose address has the domain in it", () => assertion("eve@example.com@evil.example")],
    ["of a stranger whose domain has a letter like ASCII", () => assertion("ann@example.\u212aom")],
    [
      "of a service token, which has no address",
      () => assertion("", { claims: { email: undefined, common_name: "ci" } }),
    ],
    ["whose address is no text", () => assertion("", { claims: { email: ["ann@example.com"] } })],
    ["that is nonsense", async () => "x.y.z"],
  ])("is nobody's if it is one %s", async (_name, forge) => {
    const jwt = await forge();
    expect((await send("/records", jwt)).status).toBe(401);
    const { status, headers } = await send("", jwt);
    expect([status, headers.get("location")]).toEqual([303, expect.stringContaining("/console/sign-in")]);
  });

  it("is nobody's with its own claims changed", async () => {
    const [head = "", , signature = ""] = (await assertion("bob@example.com")).split(".");
    expect((await send("/records", `${head}.${segment(good())}.${signature}`)).status).toBe(401);
  });
});

describe("a change by Access", () => {
  it.each([
    ["another site", { "Sec-Fetch-Site": "cross-site", ...JSON_TYPE }],
    ["another host of this site", { "Sec-Fetch-Site": "same-site", ...JSON_TYPE }],
    ["an address that somebody typed", { "Sec-Fetch-Site": "none", ...JSON_TYPE }],
    // The origin may serve a page on this host.
    ["a script on this host", { "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", ...JSON_TYPE }],
    ["a form on this host", { ...WINDOW, "Content-Type": "text/plain" }],
    ["this host, in a browser without Fetch Metadata", { Origin: "http://127.0.0.1", ...JSON_TYPE }],
    ["another origin, in a browser without Fetch Metadata", { Origin: "https://evil.example", ...JSON_TYPE }],
    ["a sandboxed page", { Origin: "null", ...JSON_TYPE }],
    ["a form, in a browser that says nothing", { "Content-Type": "text/plain" }],
  ])("is refused from %s, and nothing is written or changed", async (_name, headers) => {
    const id = await unknownRecord();
    const jwt = await assertion("ann@example.com");
    for (const path of [`/records/${id}/release`, "/sessions/end", "/layouts/close"]) {
      expect((await send(path, jwt, { method: "POST", body: REASON, headers })).status).toBe(403);
    }
    const { text } = await send(`/records/${id}`, jwt);
    expect(JSON.parse(text)).toMatchObject({ state: "unknown" });
    expect((await send("/audit?limit=500", jwt)).text).not.toContain(id);
  });

  it.each(["same-origin", "same-site", "cross-site"])(
    "reads no body for a %s page, and shows nothing to its scripts",
    async (site) => {
      const key = freshKey();
      await scene.send({ path: HOLD, key });
      const jwt = await assertion("ann@example.com");
      const { text } = await send(`/records?key=${key}`, jwt);
      const [id = ""] = /[0-9a-f]{64}/.exec(text) ?? [];
      const loads = [
        { "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image" },
        { "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty" },
        { "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe" },
      ];
      for (const load of loads) {
        const headers = { "Sec-Fetch-Site": site, ...load };
        for (const path of [`/records/${id}/body`, `/records/${id}`, `/console/records/${id}`, ""]) {
          expect((await send(path, jwt, { headers })).status).toBe(403);
        }
      }
      const link = { ...WINDOW, "Sec-Fetch-Site": site };
      expect((await send(`/records/${id}/body`, jwt, { headers: link })).status).toBe(403);
      expect((await send(`/records/${id}`, jwt, { headers: link })).status).toBe(200);
      expect((await send("/audit?action=read-body&limit=500", jwt)).text).not.toContain(id);
      expect(
        (await send(`/records/${id}/body`, jwt, { headers: { ...WINDOW, "Sec-Fetch-Site": "none" } })).status,
      ).toBe(200);
      expect((await send(`/records/${id}/body`, jwt)).status).toBe(200);
    },
  );
});

describe("the console behind Access", () => {
  const FORM = { "Content-Type": "application/x-www-form-urlencoded" };

  it("needs no sign-in, and its forms are bound to the assertion", async () => {
    const id = await unknownRecord();
    const [ann, again] = [await assertion("ann@example.com"), await assertion("ann@example.com")];
    const { status, text } = await send(`/console/records/${id}`, ann);
    expect(status).toBe(200);
    expect(text).toContain("ann@example.com");
    const token = /name="token" value="([0-9a-f]+)"/.exec(text)?.[1] ?? "";
    const body = new URLSearchParams({ reason: "seen", confirmed: "yes", token }).toString();
    const own = { ...FORM, ...WINDOW, Origin: "null" };
    const path = `/console/records/${id}/release`;
    expect((await send(path, again, { method: "POST", body, headers: own })).status).toBe(403);
    const forged = { ...own, "Sec-Fetch-Site": "cross-site" };
    expect((await send(path, ann, { method: "POST", body, headers: forged })).status).toBe(403);
    expect((await send(path, ann, { method: "POST", body, headers: own })).status).toBe(303);
    const { text: after } = await send(`/records/${id}`, ann);
    expect(JSON.parse(after)).toMatchObject({ state: "failed" });
  });
});

// Last: afterwards the keys before are gone.
it("an assertion with a rotated key is known at once, and one of the key before is nobody's when it is gone", async () => {
  const before = await assertion("bob@example.com");
  await issuer.rotate();
  expect((await send("/records", await assertion("carol@example.com"))).status).toBe(200);
  expect((await send("/records", before)).status).not.toBe(200);
});
