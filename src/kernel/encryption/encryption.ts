// What a request to an `encrypt_responses` route brings so that only its caller can read its record: keys for the response, derived from the
// gateway's secrets and from the caller's scope values and idempotency key, and digests of these values instead of the values.
// All of it travels in the message to the shard. The keys, and the digest of the caller, are never stored or logged.

import type { EncryptionRule } from "../config/words.ts";
import { fingerprint, type Fingerprint } from "../record/units.ts";
import { digest, digestBytes, hexText } from "../request/digest.ts";
import type { ExchangeHead, RequestFacts } from "../request/message.ts";
import type { ScopeValues } from "../request/scope.ts";

export interface RequestEncryption {
  /** Whether the response of a new attempt is encrypted; otherwise earlier ones only open. */
  readonly isOn: boolean;
  /** The key for a new response first, then those with which older ones open; never empty. */
  readonly keys: readonly CallersKey[];
  /** A digest of the caller's scope values and key. */
  readonly caller: string;
}

/** A key that depends on one of the gateway's secrets, on the scope values and on the idempotency key. */
export interface CallersKey {
  /** Which secret, in hexadecimal: the beginning of a digest of it. */
  readonly secretId: string;
  /** 256 bits, in hexadecimal. */
  readonly key: string;
}

/** The hexadecimal digits of a secret's id. */
export const SECRET_ID_DIGITS = 8;

const KEY_BITS = 256;
const SCOPE_DIGEST_BITS = 128;
const NO_SALT = new Uint8Array();

const encoder = new TextEncoder();

/** What keys are derived for. */
const FOR_RESPONSE = encoder.encode("onceway encrypted response ");
const FOR_SCOPE = encoder.encode("onceway encrypted scope ");

interface Secret {
  readonly id: string;
  readonly key: Awaited<ReturnType<typeof crypto.subtle.importKey>>;
}

/** Derives what requests to `encrypt_responses` routes bring. */
export class EncryptionDeriver {
  readonly #values: readonly string[];
  #secrets: readonly Secret[] | null = null;

  /** The newest secret comes first. */
  constructor(values: readonly string[]) {
    this.#values = values;
  }

  /** The same request as its shard gets it on an `encrypt_responses` route. */
  async encrypted(head: ExchangeHead, scope: ScopeValues, rule: Exclude<EncryptionRule, false>): Promise<ExchangeHead> {
    const { record, request } = head;
    const isOn = rule === true;
    const callerDigest = await digestBytes(["onceway encrypted caller", record.key, ...scope]);
    const caller = hexText(callerDigest);
    const secrets = await this.#read();
    const [keys, facts, scopeDigest] = await Promise.all([
      Promise.all(
        secrets.map(async (secret) => ({
          secretId: secret.id,
          key: await derive(secret, FOR_RESPONSE, callerDigest, KEY_BITS),
        })),
      ),
      withFingerprints(request, { isOn, caller }, request.fingerprint),
      isOn ? this.#scopeDigest(secrets, scope) : undefined,
    ]);
    const encryption = { isOn, keys, caller };
    if (scopeDigest === undefined) return { ...head, request: facts, encryption };
    return { ...head, record: { ...record, key: "", scopeDigest }, request: facts, encryption };
  }

  /** What encrypted records store of a scope, for each secret that is known: one of these. */
  async scopeDigests(scope: ScopeValues): Promise<readonly string[]> {
    const secrets = await this.#read();
    return Promise.all(secrets.map((secret) => scopeDigestOf(secret, scope)));
  }

  async #scopeDigest([newest]: readonly Secret[], scope: ScopeValues): Promise<string> {
    if (newest === undefined) throw new TypeError("an encrypted route without a secret");
    return scopeDigestOf(newest, scope);
  }

  /** Kept as values: a promise of another request may never be settled. */
  async #read(): Promise<readonly Secret[]> {
    this.#secrets ??= await Promise.all(this.#values.map(readSecret));
    return this.#secrets;
  }
}

async function readSecret(value: string): Promise<Secret> {
  const id = (await digest(["onceway encryption secret", value])).slice(0, SECRET_ID_DIGITS);
  const key = await crypto.subtle.importKey("raw", encoder.encode(value), "HKDF", false, ["deriveBits"]);
  return { id, key };
}

async function scopeDigestOf(secret: Secret, scope: ScopeValues): Promise<string> {
  return `${secret.id}:${await derive(secret, FOR_SCOPE, await digestBytes(scope), SCOPE_DIGEST_BITS)}`;
}

/** HKDF-SHA-256, in hexadecimal. `of` is a digest, because the length of HKDF's `info` is limited. */
async function derive({ key }: Secret, purpose: Uint8Array, of: Uint8Array, bits: number): Promise<string> {
  const info = new Uint8Array(purpose.byteLength + of.byteLength);
  info.set(purpose);
  info.set(of, purpose.byteLength);
  const derived = await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: NO_SALT, info }, key, bits);
  return hexText(new Uint8Array(derived));
}

/** Fingerprints in the form of `encrypt_responses` begin with this. */
const KEYED = "keyed:";

/** Whether a record's fingerprint can only be compared with that of a request to an `encrypt_responses` route. */
export function isKeyed(stored: Fingerprint | null): boolean {
  return stored?.startsWith(KEYED) === true;
}

/**
 * The facts of a request, with the fingerprint that a new record gets and the one that an earlier record may have: the plain
 * one tells a body that can be guessed, so `encrypt_responses` records have a digest of it and of the caller's values. It does not depend
 * on the secrets, because another secret must not make retries look like reuse.
 */
export async function withFingerprints(
  request: RequestFacts,
  encryption: Pick<RequestEncryption, "isOn" | "caller"> | undefined,
  plain: Fingerprint,
): Promise<RequestFacts> {
  if (encryption === undefined) return { ...request, fingerprint: plain };
  const { isOn, caller } = encryption;
  const keyed = fingerprint(KEYED + (await digest(["onceway encrypted fingerprint", caller, plain])));
  const [own, other] = isOn ? [keyed, plain] : [plain, keyed];
  return { ...request, fingerprint: own, otherFingerprint: other };
}
