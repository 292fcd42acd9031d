// The keys of agents by the URLs that give them, in this isolate. Whoever sends a request chooses its URL, so what strangers can cause is bounded:
// how many sets are kept, and how many fetches for URLs without keys are begun in a minute. URLs that are listed one by one are no strangers.

import { KeySet, type KeySetPauses } from "../../../kernel/request/key-set.ts";
import type { JwtPorts } from "../../../kernel/request/jwt-prover.ts";
import { readSignatureKeys, type SignatureKey } from "./signature-key.ts";

export type AgentKeySet = KeySet<readonly SignatureKey[]>;

/** Kept for as long as UCP asks for at least, and looked at again for an unknown key as seldom as it asks for. */
const PAUSES: KeySetPauses = { freshMs: 60_000, unknownMs: 60_000 };

export const MAX_STRANGERS = 200;
export const MAX_FETCHES = 20;
export const FETCHES_MS = 60_000;

export class AgentKeys {
  readonly #ports: JwtPorts;
  /** By URL. No more than the configuration lists. */
  readonly #listed = new Map<string, AgentKeySet>();
  /** By URL, in the order of their last use, the oldest first. */
  readonly #strangers = new Map<string, AgentKeySet>();
  #windowAt = Number.NEGATIVE_INFINITY;
  #fetches = 0;

  constructor(ports: JwtPorts) {
    this.#ports = ports;
  }

  /** The set of a URL; or how long to wait, because too many unknown URLs have been asked. */
  find(url: string, isListed: boolean): AgentKeySet | { readonly retryAfterMs: number } {
    const now = Date.now();
    const sets = isListed ? this.#listed : this.#strangers;
    const known = sets.get(url);
    if (!isListed && (known?.asksFor(now) ?? true)) {
      if (now - this.#windowAt >= FETCHES_MS) [this.#windowAt, this.#fetches] = [now, 0];
      if (this.#fetches >= MAX_FETCHES) return { retryAfterMs: this.#windowAt + FETCHES_MS - now };
      this.#fetches += 1;
    }
    const set = known ?? new KeySet(url, this.#ports, readSignatureKeys, PAUSES);
    sets.delete(url);
    sets.set(url, set);
    if (this.#strangers.size > MAX_STRANGERS) this.#forgetOne(url, now);
    return set;
  }

  /** The one that was not used for longest, of those without keys if there is one: a URL that gives none must not take the place of one that does. */
  #forgetOne(but: string, now: number): void {
    const others = [...this.#strangers].filter(([url]) => url !== but);
    const [forgotten] = others.find(([, set]) => !set.hasKeys(now)) ?? others[0] ?? [];
    if (forgotten !== undefined) this.#strangers.delete(forgotten);
  }
}
