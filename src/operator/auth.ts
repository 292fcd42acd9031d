// An operator is the holder of a token. Tokens are compared as digests in constant time, so that the time of a refusal reveals
// nothing. An address that sends many wrong tokens is refused for a minute. Each isolate counts for itself: 32 random
// characters cannot be guessed however many isolates there are, and counting in an object would let callers without a token
// write to storage.

import type { Tokens } from "../config/read-tokens.ts";
import type { OperatorProblem } from "../core/operator-problem.ts";
import { sha256 } from "../http/digest.ts";

/** `admin` may read and change, `reader` may read. */
export type Role = "admin" | "reader";

export type Admission =
  | { readonly kind: "admitted"; readonly role: Role }
  | { readonly kind: "refused"; readonly problem: OperatorProblem };

/** Wrong tokens from one address within a minute, before all its tokens are refused until that minute ends. */
export const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;

/** Addresses that are remembered: those that failed last. */
const MAX_ADDRESSES = 1000;

interface Failures {
  readonly since: number;
  readonly count: number;
}

export class OperatorAuth {
  readonly #tokens: Tokens;
  readonly #failures = new Map<string, Failures>();
  /** Requests that this isolate has refused, for metrics. */
  readonly refused = { unauthorized: 0, throttled: 0, forbidden: 0 };

  constructor(tokens: Tokens) {
    this.#tokens = tokens;
  }

  /** For the `Authorization` header of a request; `null` when it has none. */
  admit(authorization: string | null, address: string, now: number): Promise<Admission> {
    const [, token = null] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "") ?? [];
    return this.admitToken(token, address, now);
  }

  /** For a token from any source. */
  async admitToken(token: string | null, address: string, now: number): Promise<Admission> {
    const from = networkOf(address);
    const failures = this.#failures.get(from);
    if (failures !== undefined && failures.count >= MAX_FAILURES && now < failures.since + WINDOW_MS) {
      this.refused.throttled += 1;
      return refuse({ code: "operator-throttled", retryAfterMs: failures.since + WINDOW_MS - now });
    }
    const role = token === null ? null : await this.#roleOf(token);
    if (role !== null) return { kind: "admitted", role };
    this.refused.unauthorized += 1;
    // A request without a token is no guess.
    if (token !== null) this.#count(from, now);
    return refuse({ code: "operator-unauthorized" });
  }

  /** For a reader who asks for more. */
  forbid(): OperatorProblem {
    this.refused.forbidden += 1;
    return { code: "operator-forbidden" };
  }

  async #roleOf(token: string): Promise<Role | null> {
    const { admin, read } = this.#tokens;
    const given = await digestOf(token);
    // Both are always compared, so that the time does not depend on the match.
    const isAdmin = crypto.subtle.timingSafeEqual(given, await digestOf(admin));
    const isReader = crypto.subtle.timingSafeEqual(given, await digestOf(read ?? admin));
    if (isAdmin) return "admin";
    return isReader ? "reader" : null;
  }

  #count(from: string, now: number): void {
    const before = this.#failures.get(from);
    const isOver = before === undefined || now >= before.since + WINDOW_MS;
    this.#failures.delete(from);
    this.#failures.set(from, isOver ? { since: now, count: 1 } : { ...before, count: before.count + 1 });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
  }
}

function refuse(problem: OperatorProblem): Admission {
  return { kind: "refused", problem };
}

function digestOf(token: string): Promise<Uint8Array> {
  return sha256(new TextEncoder().encode(token));
}

/** Whoever has one IPv6 address has its whole /64. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const zeros = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  return [...groups, ...Array.from({ length: Math.max(0, zeros) }, () => "0")].slice(0, 4).join(":");
}
