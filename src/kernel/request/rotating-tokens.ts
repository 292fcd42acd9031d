// Notices that a route's scope is a token which its callers refresh: a retry with the next token then counts as another caller's, and acts
// again. Looks at a few tokens of each route in this isolate now and then, without any cryptography, and says it each time. No part of a
// token is logged or kept.

import type { Route } from "../config/resolved.ts";
import type { HeadersView } from "./headers.ts";

/** How many tokens are looked at. Most callers of a route have tokens of the same kind. */
const LOOKS = 8;

/** When it looks again: operators are shown what was noticed in the last day. */
const AGAIN_MS = 6 * 3_600_000;

/** Longer tokens are not looked at. */
const MAX_LENGTH = 8192;

const JWT = /^Bearer +[\w-]+\.([\w-]+)\.[\w-]* *$/i;

export class RotatingTokens {
  readonly #report: (route: string) => void;
  /** How many tokens are still to be looked at, and from when on as many again. */
  readonly #looks = new WeakMap<Route, { left: number; readonly againAt: number }>();

  /** `report` is called with a route's path, at most once in AGAIN_MS. */
  constructor(report: (route: string) => void) {
    this.#report = report;
  }

  look(route: Route, headers: HeadersView): void {
    const now = Date.now();
    const looks = this.#looksAt(route, now);
    if (looks.left === 0) return;
    const credential = headers.get("authorization");
    if (credential === null) return;
    const { policy } = route.rules;
    const rotates = expiryOf(credential) < now + policy.retentionMs;
    looks.left = rotates ? 0 : looks.left - 1;
    if (!rotates) return;
    console.warn({ message: `tokens expire before their records do. ${ROTATING_ADVICE}`, route: route.path });
    this.#report(route.path);
  }

  #looksAt(route: Route, now: number): { left: number } {
    const known = this.#looks.get(route);
    if (known !== undefined && now < known.againAt) return known;
    const looks = { left: isScopedByToken(route) ? LOOKS : 0, againAt: now + AGAIN_MS };
    this.#looks.set(route, looks);
    return looks;
  }
}

/** What to do about it. */
export const ROTATING_ADVICE =
  'A client that refreshes its token between two tries counts as somebody else: its retry runs a second time. Set scope = ["identity:user"] and describe the identity.';

/** Whether a token of its callers is part of the route's scope. */
export function isScopedByToken({ scope }: Route): boolean {
  return scope.some((part) => part.kind === "header" && part.name === "authorization");
}

/** In milliseconds since the epoch; infinity for what is not a JWT, or never expires. */
function expiryOf(credential: string): number {
  const [, claims] = credential.length > MAX_LENGTH ? [] : (JWT.exec(credential) ?? []);
  if (claims === undefined) return Number.POSITIVE_INFINITY;
  try {
    const parsed: unknown = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/")));
    const exp: unknown = typeof parsed === "object" && parsed !== null && "exp" in parsed ? parsed.exp : null;
    return typeof exp === "number" ? exp * 1000 : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
