// Who an operator is: the holder of a token (kernel/request/token-auth.ts), or somebody whom Cloudflare Access has proved. What is refused is
// counted, for metrics.

import { type AccessRules, type OperatorAccess, roleOf } from "../../kernel/config/operators.ts";
import type { OperatorProof, Role } from "../../kernel/record/audit.ts";
import type { OperatorProblem } from "../../kernel/record/operator-problem.ts";
import type { Problem } from "../../kernel/record/problem.ts";
import { CLIENT_ADDRESS } from "../../kernel/request/client-address.ts";
import type { JwtProver } from "../../kernel/request/jwt-prover.ts";
import { bearerToken, type TokenKey, TokenAuth } from "../../kernel/request/token-auth.ts";

/** An operator who asks for something. */
export interface Actor {
  /** `admin` and `reader` are the holders of ADMIN_TOKEN and READ_TOKEN; with Access an e-mail address. */
  readonly name: string;
  readonly role: Role;
  readonly via: OperatorProof;
  /** From where. */
  readonly address: string;
}

export type AdmissionResult =
  | { readonly kind: "admitted"; readonly actor: Actor }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Verifies an assertion of Access. */
export type AccessProver = Pick<JwtProver, "prove">;

/** Which header Access puts its assertion into. Anybody may send it, so it counts only once it is verified. */
const ASSERTION = "cf-access-jwt-assertion";

export class OperatorAuth {
  readonly #auth: TokenAuth<Pick<Actor, "name" | "role">>;
  readonly #rules: AccessRules | null;
  readonly #prover: AccessProver;
  /** Requests that this isolate has refused, for metrics. */
  readonly refused = { unauthorized: 0, throttled: 0, forbidden: 0 };

  constructor({ tokens, access }: OperatorAccess, prover: AccessProver) {
    const keys = tokens.flatMap(({ name, role, values }) =>
      values.map((token): TokenKey<Pick<Actor, "name" | "role">> => ({ token, opens: { name, role } })),
    );
    this.#auth = new TokenAuth(keys);
    this.#rules = access;
    this.#prover = prover;
  }

  /**
   * For a request to the API. A token that is given decides, whatever Access says. A browser adds an assertion to whatever any page on this
   * host asks for, so by Access it may open an answer in a window, and no script may read one.
   */
  async admit(headers: Headers, now: number): Promise<AdmissionResult> {
    const authorization = headers.get("authorization");
    const byAccess = authorization === null ? await this.admitByAccess(headers) : null;
    if (byAccess?.kind === "admitted" && isBrowsers(headers) && !opensPage(headers)) {
      this.refused.forbidden += 1;
      return { kind: "refused", problem: { code: "operator-forbidden", why: "browser" } };
    }
    return byAccess ?? this.admitToken(bearerToken(authorization), clientAddress(headers), now);
  }

  /** For a token from any source. */
  async admitToken(token: string | null, address: string, now: number): Promise<AdmissionResult> {
    const answer = await this.#auth.admit(token, address, now);
    switch (answer.kind) {
      case "admitted":
        return { kind: "admitted", actor: { ...answer.opened, via: "token", address } };
      case "unauthorized":
        this.refused.unauthorized += 1;
        return { kind: "refused", problem: { code: "operator-unauthorized" } };
      case "throttled": {
        this.refused.throttled += 1;
        const { retryAfterMs } = answer;
        return { kind: "refused", problem: { code: "operator-throttled", retryAfterMs } };
      }
    }
  }

  /** `null`: the request has no assertion that proves an operator. */
  async admitByAccess(headers: Headers): Promise<AdmissionResult | null> {
    const assertion = headers.get(ASSERTION);
    if (this.#rules === null || assertion === null) return null;
    const proof = await this.#prover.prove(assertion);
    if ("problem" in proof) {
      // Whoever could not be proved for want of keys may be an operator.
      const isUnknown = proof.problem.code === "identity-unavailable";
      return isUnknown ? { kind: "refused", problem: { code: "store-unavailable" } } : null;
    }
    // A proof's value is the issuer and the claim.
    const email = emailOf((proof.value ?? "").slice(this.#rules.issuer.issuer.length + 1));
    const role = email === null ? null : roleOf(email, this.#rules);
    if (email === null || role === null) return null;
    return { kind: "admitted", actor: { name: email, role, via: "access", address: clientAddress(headers) } };
  }

  /** Why this operator may not change anything with this request, nor read a body; `null`: he may. */
  forbids({ role, via }: Actor, request: Request): OperatorProblem | null {
    const isAdmin = role === "admin";
    if (isAdmin && (via === "token" || isMeant(request))) return null;
    this.refused.forbidden += 1;
    return { code: "operator-forbidden", why: isAdmin ? "browser" : "reader" };
  }
}

/** The assertion of a request, for what is to be bound to it. */
export function assertionOf(headers: Headers): string {
  return headers.get(ASSERTION) ?? "";
}

export function clientAddress(headers: Headers): string {
  return headers.get(CLIENT_ADDRESS) ?? "local";
}

/**
 * Whether a browser has sent the request, by what it says about where the request comes from (Fetch Metadata): no script can set or remove
 * these headers. Old browsers say nothing, and are not distinguished from other programs here.
 */
export function isBrowsers(headers: Headers): boolean {
  return headers.has("sec-fetch-site");
}

/**
 * Whether the request opens a page in a window or tab. An origin behind the gateway may serve pages on the console's own host. To a browser
 * these are the console's own, so SameSite, Origin and `Sec-Fetch-Site: same-origin` let their scripts through; what such a script cannot do is
 * open a page in its own window and still run. A service worker that has the window's page loaded for itself first (navigation preload) would
 * read it.
 */
export function opensPage(headers: Headers): boolean {
  const isNavigation = headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  return isNavigation && !headers.has("service-worker-navigation-preload");
}

/**
 * Whether the holder of the request's assertion means it: a browser sends the assertion along with whatever a page asks for. So a browser
 * changes nothing here (the console has forms for that, with a token), and reads a body only at an address that somebody has typed.
 * Browsers say where a request comes from; older ones send `Origin` with a POST, and to send JSON to another site they ask it first, which
 * nothing here allows.
 */
function isMeant({ headers, method }: Request): boolean {
  const isRead = method === "GET" || method === "HEAD";
  if (isBrowsers(headers)) return isRead && headers.get("sec-fetch-site") === "none";
  if (isRead) return true;
  return !headers.has("origin") && /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");
}

/** In lower case; only ASCII, because other alphabets have letters that become ASCII ones. */
function emailOf(claim: string): string | null {
  return claim.length <= 254 && /^[!-)+-?A-~]+@[A-Za-z0-9.-]+$/.test(claim) ? claim.toLowerCase() : null;
}
