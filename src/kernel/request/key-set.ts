// Somebody's public keys, an issuer's or an agent's, fetched from a JWKS and kept in memory. Nobody can make the gateway hammer an issuer: fetches are shared,
// and each reason for one has its own pause. An issuer that is away for a while costs nothing, because older keys stay in use.
//
//   fetched ─ FRESH_MS ─┤ fetched again by the first request; if that fails, older keys are used ─ USABLE_MS ─┤ 503
//
// A token with an unknown key may be the first of a rotated one: then the set is fetched at once, if that was not just done.

import type { JSONWebKeySet } from "jose";
import type { Fetcher } from "./pass-through.ts";
import { fetchJson } from "./read-json.ts";
import { SharedWork, type WaitUntil } from "./shared-work.ts";

/** How long keys are used without looking whether the issuer has withdrawn one. */
export const FRESH_MS = 5 * 60_000;

/** How long keys are used when the issuer does not answer. */
export const USABLE_MS = 4 * 60 * 60_000;

/** The pause after a fetch that failed. */
export const FAILED_MS = 2_000;

/** The pause between two fetches for tokens with unknown keys. */
export const UNKNOWN_MS = 10_000;

export interface KeySetPauses {
  readonly freshMs: number;
  readonly unknownMs: number;
}

const ISSUER_PAUSES: KeySetPauses = { freshMs: FRESH_MS, unknownMs: UNKNOWN_MS };

const FETCH_MS = 5_000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;

export type FoundKeySet<Keys> =
  /** `isNew`: fetched for this request, so that no newer ones can be expected. */
  | { readonly kind: "keys"; readonly keys: Keys; readonly isNew: boolean }
  | { readonly kind: "unavailable"; readonly retryAfterMs: number };

interface KeySetPorts {
  readonly network: Fetcher;
  readonly waitUntil: WaitUntil;
}

/** The keys of a JWKS as they are used. What this throws is a failure to fetch them. */
export type ReadKeys<Keys> = (set: JSONWebKeySet) => Keys;

export class KeySet<Keys> {
  readonly #url: string;
  readonly #network: Fetcher;
  readonly #read: ReadKeys<Keys>;
  readonly #pauses: KeySetPauses;
  readonly #fetches: SharedWork<boolean>;
  #known: { readonly keys: Keys; readonly at: number } | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  #unknownAt = Number.NEGATIVE_INFINITY;

  constructor(url: string, { network, waitUntil }: KeySetPorts, read: ReadKeys<Keys>, pauses = ISSUER_PAUSES) {
    this.#url = url;
    this.#network = network;
    this.#read = read;
    this.#pauses = pauses;
    // Longer than a fetch can take, so that it ends only what was stopped.
    this.#fetches = new SharedWork(waitUntil, FETCH_MS + 1000);
  }

  /** Whether it has keys that can be used. */
  hasKeys(now: number): boolean {
    return this.#usable(now) !== null;
  }

  /** Whether `keys` would ask the issuer, and nobody does so already. */
  asksFor(now: number): boolean {
    return !this.hasKeys(now) && now - this.#failedAt >= FAILED_MS && !this.#fetches.isRunning(this.#url);
  }

  /** How long until `newerKeys` may ask the issuer; 0 also while somebody does so already. */
  pauseMs(now: number): number {
    return this.#fetches.isRunning(this.#url) ? 0 : Math.max(0, this.#unknownAt + this.#pauses.unknownMs - now);
  }

  /** The keys to try. */
  async keys(): Promise<FoundKeySet<Keys>> {
    const now = Date.now();
    const known = this.#usable(now);
    if (known !== null && now - known.at < this.#pauses.freshMs)
      return { kind: "keys", keys: known.keys, isNew: false };
    const pauseMs = this.#failedAt + FAILED_MS - now;
    const isBusy = this.#fetches.isRunning(this.#url);
    // Only the first request waits for an issuer that hangs.
    if (known !== null && (isBusy || pauseMs > 0)) return { kind: "keys", keys: known.keys, isNew: false };
    if (pauseMs > 0 && !isBusy) return { kind: "unavailable", retryAfterMs: pauseMs };
    const isNew = await this.#fetch();
    const usable = this.#usable(Date.now());
    return usable === null
      ? { kind: "unavailable", retryAfterMs: FAILED_MS }
      : { kind: "keys", keys: usable.keys, isNew };
  }

  /** The keys for a token whose key is not among those of `keys`. */
  async newerKeys(): Promise<FoundKeySet<Keys>> {
    const { unknownMs } = this.#pauses;
    const now = Date.now();
    const pauseMs = this.pauseMs(now);
    if (pauseMs > 0) return { kind: "unavailable", retryAfterMs: pauseMs };
    if (!this.#fetches.isRunning(this.#url)) this.#unknownAt = now;
    const isNew = await this.#fetch();
    return isNew && this.#known !== null
      ? { kind: "keys", keys: this.#known.keys, isNew }
      : { kind: "unavailable", retryAfterMs: unknownMs };
  }

  #usable(now: number): { readonly keys: Keys; readonly at: number } | null {
    return this.#known !== null && now - this.#known.at < USABLE_MS ? this.#known : null;
  }

  /** Whether it succeeded. */
  async #fetch(): Promise<boolean> {
    const isDone = await this.#fetches.join(this.#url, async () => {
      try {
        const headers = new Headers({ accept: "application/jwk-set+json, application/json" });
        const question = { url: this.#url, headers, maxBytes: MAX_BYTES, timeoutMs: FETCH_MS };
        const { status, json } = await fetchJson(question, this.#network);
        if (!isKeySet(json)) throw new Error(status === 200 ? "the answer is no key set" : `status ${status}`);
        this.#known = { keys: this.#read(json), at: Date.now() };
        return true;
      } catch (error) {
        this.#failedAt = Date.now();
        console.error({ message: "the keys of an issuer could not be fetched", url: this.#url, reason: String(error) });
        return false;
      }
    });
    if (isDone === null) this.#failedAt = Date.now();
    return isDone ?? false;
  }
}

/** Whoever reads the set checks the keys themselves. */
function isKeySet(json: unknown): json is JSONWebKeySet {
  if (typeof json !== "object" || json === null || !("keys" in json)) return false;
  return Array.isArray(json.keys) && json.keys.length <= MAX_KEYS;
}
