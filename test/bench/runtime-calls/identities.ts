// What an identity adds to a request: a token that is proved for the first time, one that was proved before, and the look at a token that
// may rotate. Keys and tokens are made once, in the first round.

import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { readConfig } from "../../../src/features/settings.ts";
import { JwtProver } from "../../../src/kernel/request/jwt-prover.ts";
import { RotatingTokens } from "../../../src/kernel/request/rotating-tokens.ts";

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
const rotating = new RotatingTokens(() => undefined);

export const IDENTITY_CALLS: Readonly<Record<string, (request: Request) => unknown>> = {
  "jwt-es256": () => prove("ES256", 1),
  "jwt-rs256": () => prove("RS256", 1),
  "jwt-eddsa": () => prove("EdDSA", 1),
  "jwt-proved-before": () => prove("ES256", 0),
  "rotating-look": ({ headers }) => {
    const [route] = read.ok ? read.config.routes : [];
    if (route !== undefined) rotating.look(route, headers);
  },
};
