// Who holds a token. Tokens are compared as digests in constant time, so that the time of a refusal reveals nothing. A network that
// sends many wrong tokens gets 429 for further wrong ones until a minute has passed, which slows down a client that retries a mistake. A
// right token is never refused: whoever shares an address with somebody who guesses would be locked out. Nothing is lost by that, because 32
// random characters cannot be guessed. Each isolate counts for itself: counting in an object would let callers without a token write
// to storage.

import { networkOf } from "./client-address.ts";
import { sha256 } from "./digest.ts";

/** A token, and what it opens. */
export interface TokenKey<Opened> {
  readonly token: string;
  readonly opens: Opened;
}

export type TokenAnswer<Opened> =
  | { readonly kind: "admitted"; readonly opened: Opened }
  /** No token, or a wrong one. */
  | { readonly kind: "unauthorized" }
  | { readonly kind: "throttled"; readonly retryAfterMs: number };

/** Wrong tokens from one network within a minute, before its wrong tokens are throttled until that minute ends. */
export const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;

/** Networks that are remembered: those that failed last. */
const MAX_NETWORKS = 1000;

interface Failures {
  readonly since: number;
  readonly count: number;
}

export class TokenAuth<Opened> {
  readonly #keys: readonly TokenKey<Opened>[];
  /** Of the tokens, once they have been needed. */
  #digests: Promise<readonly Uint8Array[]> | null = null;
  readonly #failures = new Map<string, Failures>();

  /** If two tokens are the same, the first counts. */
  constructor(keys: readonly TokenKey<Opened>[]) {
    this.#keys = keys;
  }

  async admit(token: string | null, address: string, now: number): Promise<TokenAnswer<Opened>> {
    // A request without a token is no guess.
    if (token === null) return { kind: "unauthorized" };
    const key = await this.#keyOf(token);
    return key === undefined ? this.fail(address, now) : { kind: "admitted", opened: key.opens };
  }

  /** For a token that is none, or opens something else than was asked for: counts it, and says how it is refused. */
  fail(address: string, now: number): Exclude<TokenAnswer<Opened>, { readonly kind: "admitted" }> {
    const from = networkOf(address);
    const failures = this.#failures.get(from);
    if (failures !== undefined && failures.count >= MAX_FAILURES && now < failures.since + WINDOW_MS) {
      return { kind: "throttled", retryAfterMs: failures.since + WINDOW_MS - now };
    }
    this.#count(from, now);
    return { kind: "unauthorized" };
  }

  /** All are always compared, so that the time does not depend on the match. */
  async #keyOf(token: string): Promise<TokenKey<Opened> | undefined> {
    const given = await digestOf(token);
    this.#digests ??= Promise.all(this.#keys.map((key) => digestOf(key.token)));
    const matches = (await this.#digests).map((digest) => crypto.subtle.timingSafeEqual(given, digest));
    return this.#keys[matches.indexOf(true)];
  }

  #count(from: string, now: number): void {
    const before = this.#failures.get(from);
    const isOver = before === undefined || now >= before.since + WINDOW_MS;
    this.#failures.delete(from);
    this.#failures.set(from, isOver ? { since: now, count: 1 } : { ...before, count: before.count + 1 });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_NETWORKS && oldest !== undefined) this.#failures.delete(oldest);
  }
}

/** The token in an `Authorization` header; `null`: there is none. */
export function bearerToken(authorization: string | null): string | null {
  const [, token = null] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "") ?? [];
  return token;
}

/**
 * Whether a request carries one of these tokens, whatever its path: with a mistyped address the origin would get the token. Compares
 * only values as long as a token, and compares them in full.
 */
export function tokenSpotter(tokens: readonly string[]): (headers: Headers) => boolean {
  return (headers) => {
    const given = tokens.length === 0 ? null : headers.get("authorization");
    if (given === null) return false;
    const [, token = ""] = /^Bearer +([^ ]+) *$/i.exec(given) ?? [];
    return tokens.some((one) => isSame(token, one));
  };
}

function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

function digestOf(token: string): Promise<Uint8Array> {
  return sha256(new TextEncoder().encode(token));
}
