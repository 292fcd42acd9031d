// Public keys that verify signatures of requests (RFC 9421, section 3.3), from a set that an agent publishes (RFC 7517). The algorithm is that of
// the key's own type. A key that cannot be used here spoils nothing but itself.

import { calculateJwkThumbprint, type JSONWebKeySet, type JWK } from "jose";

interface Algorithm {
  /** In the registry of RFC 9421. */
  readonly name: string;
  readonly jwa: readonly string[];
  /** The members that make the public key; no other reaches WebCrypto. */
  readonly members: readonly ("kty" | "crv" | "x" | "y" | "n" | "e")[];
  readonly keyParams: Parameters<typeof crypto.subtle.importKey>[2];
  readonly verifyParams: Parameters<typeof crypto.subtle.verify>[0];
}

const ED25519: Algorithm = {
  name: "ed25519",
  jwa: ["EdDSA", "Ed25519"],
  members: ["kty", "crv", "x"],
  keyParams: { name: "Ed25519" },
  verifyParams: { name: "Ed25519" },
};
const ES256 = ecdsa("ecdsa-p256-sha256", "ES256", "P-256", "SHA-256");
const ES384 = ecdsa("ecdsa-p384-sha384", "ES384", "P-384", "SHA-384");
const PS512: Algorithm = {
  name: "rsa-pss-sha512",
  jwa: ["PS512"],
  members: ["kty", "n", "e"],
  keyParams: { name: "RSA-PSS", hash: "SHA-512" },
  verifyParams: { name: "RSA-PSS", saltLength: 64 },
};

function ecdsa(name: string, jwa: string, namedCurve: string, hash: string): Algorithm {
  return {
    name,
    jwa: [jwa],
    members: ["kty", "crv", "x", "y"],
    keyParams: { name: "ECDSA", namedCurve },
    verifyParams: { name: "ECDSA", hash },
  };
}

/** The smallest modulus that counts (RFC 7518, section 3.5), in the characters of its base64url. */
const MIN_MODULUS_LENGTH = Math.ceil((2048 / 8 / 3) * 4);

/** What is kept of a key, so that a large set takes no more memory than its keys do. */
const KEPT = ["kty", "crv", "x", "y", "n", "e", "kid", "alg"] as const;

/** The modulus of RSA with 6144 bits. */
const MAX_MEMBER_LENGTH = 1024;

/** A set may have several keys of one name, of which so many are tried. */
const MAX_TRIES = 4;

export class SignatureKey {
  readonly #jwk: JWK;
  readonly #algorithm: Algorithm | null;
  #key: Awaited<ReturnType<typeof crypto.subtle.importKey>> | null = null;
  #thumbprint: string | null = null;

  constructor(jwk: JWK) {
    this.#jwk = jwk;
    this.#algorithm = algorithmOf(jwk);
  }

  get kid(): string | null {
    return this.#jwk.kid ?? null;
  }

  /** That of RFC 9421; `null`: it is none that is verified here. */
  get algorithm(): string | null {
    return this.#algorithm?.name ?? null;
  }

  /** RFC 7638, with SHA-256; `null` for a key that has none. */
  async thumbprint(): Promise<string | null> {
    this.#thumbprint ??= await calculateJwkThumbprint(this.#jwk, "sha256").catch(() => "");
    return this.#thumbprint === "" ? null : this.#thumbprint;
  }

  async verifies(signature: Uint8Array, base: Uint8Array): Promise<boolean> {
    if (this.#algorithm === null) return false;
    const { members, keyParams, verifyParams } = this.#algorithm;
    try {
      const jwk = { ...Object.fromEntries(members.map((name) => [name, this.#jwk[name]])), kty: this.#jwk.kty ?? "" };
      this.#key ??= await crypto.subtle.importKey("jwk", jwk, keyParams, false, ["verify"]);
      return await crypto.subtle.verify(verifyParams, this.#key, signature, base);
    } catch {
      return false;
    }
  }
}

/** Those that may verify a signature (RFC 7517, sections 4.2 and 4.3). */
export function readSignatureKeys({ keys }: JSONWebKeySet): readonly SignatureKey[] {
  return keys.filter(isForSignatures).map((jwk) => new SignatureKey(keptOf(jwk)));
}

/** Only texts: nothing else may reach WebCrypto. */
function keptOf(jwk: JWK): JWK {
  const members = KEPT.map((name) => [name, jwk[name]] as const);
  return Object.fromEntries(
    members.filter(([, value]) => typeof value === "string" && value.length <= MAX_MEMBER_LENGTH),
  );
}

function isForSignatures(jwk: unknown): boolean {
  if (typeof jwk !== "object" || jwk === null) return false;
  const [use, operations]: unknown[] = [Reflect.get(jwk, "use"), Reflect.get(jwk, "key_ops")];
  if (use !== undefined && use !== "sig") return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes("verify"));
}

function algorithmOf(jwk: JWK): Algorithm | null {
  const algorithm = algorithmOfType(jwk);
  if (algorithm === null) return null;
  return jwk.alg === undefined || algorithm.jwa.includes(jwk.alg) ? algorithm : null;
}

function algorithmOfType({ kty, crv, n }: JWK): Algorithm | null {
  if (kty === "OKP" && crv === "Ed25519") return ED25519;
  if (kty === "EC" && crv === "P-256") return ES256;
  if (kty === "EC" && crv === "P-384") return ES384;
  if (kty === "RSA" && typeof n === "string" && n.length >= MIN_MODULUS_LENGTH) return PS512;
  return null;
}

/** The keys of this name. `byThumbprint`: it has to be the key's own digest, whatever the set calls the key. */
export async function keysNamed(
  keys: readonly SignatureKey[],
  keyId: string,
  byThumbprint: boolean,
): Promise<readonly SignatureKey[]> {
  if (!byThumbprint) return keys.filter(({ kid }) => kid === keyId).slice(0, MAX_TRIES);
  const thumbprints = await Promise.all(keys.map((key) => key.thumbprint()));
  return keys.filter((_, at) => thumbprints[at] === keyId).slice(0, MAX_TRIES);
}
