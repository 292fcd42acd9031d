// Signs requests as agents do (RFC 9421): a signer of its own for tests, which shares no code with the gateway's verifier. It signs whatever it is
// told to, also what no honest signer would.

import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose";

/** As those of `http.ts`, which is for Node alone: benchmarks sign inside workerd. */
type HeaderPair = readonly [name: string, value: string];

export const SIGNATURE_ALGORITHMS = ["EdDSA", "ES256", "ES384", "PS512"] as const;
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number];

export interface AgentKey {
  readonly alg: SignatureAlgorithm;
  /** Public, as an agent publishes it. */
  readonly jwk: JWK & { readonly kid: string };
  readonly thumbprint: string;
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];
}

/** `kid`: `null` for the thumbprint. */
export async function makeAgentKey(alg: SignatureAlgorithm = "ES256", kid: string | null = null): Promise<AgentKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const thumbprint = await calculateJwkThumbprint(jwk);
  return { alg, jwk: { ...jwk, kid: kid ?? thumbprint, alg, use: "sig" }, thumbprint, privateKey };
}

const PARAMS = {
  EdDSA: { name: "Ed25519" },
  ES256: { name: "ECDSA", hash: "SHA-256" },
  ES384: { name: "ECDSA", hash: "SHA-384" },
  PS512: { name: "RSA-PSS", saltLength: 64 },
} as const;

export interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly body?: string | Uint8Array;
}

export interface SignatureOptions {
  readonly label?: string;
  /** As they stand in `Signature-Input`: `"@method"`, `"signature-agent";key="sig1"`. Default: what UCP asks for, of what the request has. */
  readonly components?: readonly string[];
  /** In `Signature-Input` after `keyid`: `;created=1`. */
  readonly params?: string;
  /** `null`: no `keyid`. Default: the key's `kid`. */
  readonly keyId?: string | null;
  /** What a component's line says instead of the request's own value. */
  readonly values?: Readonly<Record<string, string>>;
}

/** The two headers of a signature. */
export interface MadeSignature {
  readonly input: string;
  readonly signature: string;
}

export async function contentDigest(body: string | Uint8Array): Promise<string> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : Uint8Array.from(body);
  return `sha-256=:${base64(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)))}:`;
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes));
}

/** The components that UCP demands of this request. */
export function ucpComponents({ url, headers, body }: UnsignedRequest): readonly string[] {
  const has = (name: string): boolean => headers.some(([one]) => one.toLowerCase() === name);
  const names = ["@method", "@authority", "@path", ...(new URL(url).search === "" ? [] : ["@query"])];
  const fields = ["ucp-agent", "signature-agent", "idempotency-key"].filter(has);
  const ofBody = body === undefined ? [] : ["content-digest", "content-type"];
  return [...names, ...fields, ...ofBody].map((name) => `"${name}"`);
}

export async function makeSignature(
  request: UnsignedRequest,
  key: AgentKey,
  { label = "sig1", components, params = "", keyId = key.jwk.kid, values = {} }: SignatureOptions = {},
): Promise<MadeSignature> {
  const covered = components ?? ucpComponents(request);
  const signed = `(${covered.join(" ")})${keyId === null ? "" : `;keyid="${keyId}"`}${params}`;
  const lines = covered.map((component) => `${component}: ${values[component] ?? valueOf(request, component)}`);
  const base = [...lines, `"@signature-params": ${signed}`].join("\n");
  const bytes = await crypto.subtle.sign(PARAMS[key.alg], key.privateKey, new TextEncoder().encode(base));
  return { input: `${label}=${signed}`, signature: `${label}=:${base64(new Uint8Array(bytes))}:` };
}

function valueOf({ method, url, headers }: UnsignedRequest, component: string): string {
  const { host, pathname, search } = new URL(url);
  const name = /^"([^"]*)"/.exec(component)?.[1] ?? "";
  const member = /;key="([^"]*)"/.exec(component)?.[1];
  const derived = { "@method": method, "@authority": host, "@path": pathname, "@query": search || "?" };
  for (const [one, value] of Object.entries(derived)) if (one === name) return value;
  const lines = headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value.trim());
  const whole = lines.join(", ");
  if (member === undefined) return whole;
  return (
    whole
      .split(", ")
      .find((one) => one.startsWith(`${member}=`))
      ?.slice(member.length + 1) ?? ""
  );
}

/** The request's headers with these signatures. */
export function withSignatures(
  headers: readonly HeaderPair[],
  ...signatures: readonly MadeSignature[]
): readonly HeaderPair[] {
  return [
    ...headers,
    ["Signature-Input", signatures.map(({ input }) => input).join(", ")],
    ["Signature", signatures.map(({ signature }) => signature).join(", ")],
  ];
}

/** A request as a UCP platform sends it: with `Content-Digest`, and one signature. */
export async function signRequest(
  request: UnsignedRequest,
  key: AgentKey,
  options: SignatureOptions = {},
): Promise<readonly HeaderPair[]> {
  const { body, headers } = request;
  const digested: readonly HeaderPair[] =
    body === undefined ? headers : [...headers, ["Content-Digest", await contentDigest(body)]];
  return withSignatures(digested, await makeSignature({ ...request, headers: digested }, key, options));
}
