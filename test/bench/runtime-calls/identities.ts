// What an identity adds to a request: a token that is proved for the first time, one that was proved before, and the look at a token that
// may rotate. Keys and tokens are made once, in the first round.

import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { readConfig } from "../../../src/features/settings.ts";
import { JwtProver } from "../../../src/kernel/request/jwt-prover.ts";
import { HeaderSnapshot } from "../../../src/kernel/request/headers.ts"; // feature: identities
import { RotatingTokens } from "../../../src/kernel/request/rotating-tokens.ts";
import { parseTrust } from "../../../src/features/identities/signature/agent-url.ts"; // feature: identities
import { SignatureProver } from "../../../src/features/identities/signature/signature-prover.ts"; // feature: identities
import { makeAgentKey, type SignatureAlgorithm, signRequest } from "../../support/http-signer.ts"; // feature: identities

/** More than are remembered, so that none is when its turn comes again. */
const TOKENS = 2_100;

const ISSUER = { issuer: "https://login.example.com", audience: ["a"], jwks: "https://login.example.com/jwks" };

interface Caller {
  readonly prover: JwtProver;
  readonly tokens: readonly string[];
  next: number;
}

async function makeCaller(alg: "ES256" | "RS256" | "EdDSA"): Promise<Caller> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const keys = [{ ...(await exportJWK(publicKey)), alg, kid: "k" }];
  const sign = (jti: number): Promise<string> =>
    new SignJWT({ jti: String(jti), sub: "alice", scope: "payments:write payments:read", email: "alice@example.com" })
      .setProtectedHeader({ alg, kid: "k", typ: "at+jwt" })
      .setIssuer(ISSUER.issuer)
      .setAudience("a")
      .setExpirationTime("1h")
      .sign(privateKey);
  const tokens: string[] = [];
  for (let jti = 0; jti < TOKENS; jti += 1) tokens.push(await sign(jti));
  const trusted = { ...ISSUER, claim: ["sub"], algorithms: [alg], clockToleranceMs: 30_000 } as const;
  const network = { fetch: async (): Promise<Response> => Response.json({ keys }) };
  return { prover: new JwtProver([trusted], { network, waitUntil: () => undefined }), tokens, next: 0 };
}

const callers = new Map<string, Promise<Caller>>();

function callerWith(alg: Parameters<typeof makeCaller>[0]): Promise<Caller> {
  const known = callers.get(alg) ?? makeCaller(alg);
  callers.set(alg, known);
  return known;
}

async function prove(alg: Parameters<typeof makeCaller>[0], step: 0 | 1): Promise<void> {
  const caller = await callerWith(alg);
  caller.next = (caller.next + step) % TOKENS;
  const proof = await caller.prover.prove(caller.tokens[caller.next] ?? "");
  if ("problem" in proof) throw new Error(proof.problem.code);
}

const read = readConfig({ IDEMPOTENCY: { origin: "https://api.example.com" }, ROUTES: [{ path: "/*" }] });

// feature: identities begins
interface SignedCall {
  readonly prover: SignatureProver;
  readonly headers: HeaderSnapshot;
}

const PLATFORM = "https://platform.example/profile";
const SIGNED_URL = "https://shop.example/v1/checkout";
const SIGNED_BODY = '{"id":"checkout_7","payment":{"token":"tok_1"}}';

/** A request of a UCP platform, whose keys are fetched once. */
async function makeSignedCall(alg: SignatureAlgorithm): Promise<SignedCall> {
  const key = await makeAgentKey(alg);
  const headers = [
    ["content-type", "application/json"],
    ["idempotency-key", "8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ["ucp-agent", `profile="${PLATFORM}"`],
  ] as const;
  const signed = await signRequest({ method: "POST", url: SIGNED_URL, body: SIGNED_BODY, headers }, key);
  const network = { fetch: async (): Promise<Response> => Response.json({ keys: [key.jwk] }) };
  const trusted = parseTrust(PLATFORM);
  if (!trusted.ok) throw new Error(trusted.message);
  const rules = { agents: ["ucp-agent"], trust: [trusted.value], freshness: "if-present" } as const;
  const prover = new SignatureProver(rules, { network, waitUntil: () => undefined });
  return { prover, headers: new HeaderSnapshot(signed.map(([name, value]) => [name, value])) };
}

const signedCalls = new Map<SignatureAlgorithm, Promise<SignedCall>>();

/** The signature, and the body against its digest. */
async function proveSignature(alg: SignatureAlgorithm): Promise<void> {
  const known = signedCalls.get(alg) ?? makeSignedCall(alg);
  signedCalls.set(alg, known);
  const { prover, headers } = await known;
  const [route] = read.ok ? read.config.routes : [];
  if (route === undefined) throw new Error("no route");
  const proof = await prover.prove({ request: { method: "POST" }, url: new URL(SIGNED_URL), headers, route });
  const problem = "problem" in proof ? proof.problem : await proof.checkBody?.(new TextEncoder().encode(SIGNED_BODY));
  if (problem !== null && problem !== undefined) throw new Error(problem.code);
}
// feature: identities ends

const rotating = new RotatingTokens(() => undefined);

export const IDENTITY_CALLS: Readonly<Record<string, (request: Request) => unknown>> = {
  "jwt-es256": () => prove("ES256", 1),
  "jwt-rs256": () => prove("RS256", 1),
  "jwt-eddsa": () => prove("EdDSA", 1),
  "jwt-proved-before": () => prove("ES256", 0),
  // feature: identities begins
  "signature-es256": () => proveSignature("ES256"),
  "signature-ed25519": () => proveSignature("EdDSA"),
  // feature: identities ends
  "rotating-look": ({ headers }) => {
    const [route] = read.ok ? read.config.routes : [];
    if (route !== undefined) rotating.look(route, headers);
  },
};
