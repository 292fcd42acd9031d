// Identities: how the gateway learns who a caller is, so that a record belongs to a person or an account and not to the credential
// of the day. `[vars.IDENTITIES.NAME]` describes one, and `scope = ["identity:NAME"]` uses it (features/identities/identity.ts).

import type { TrustedIssuer } from "./trusted-issuer.ts";

/** Where a credential is. A header's name is in lower case. */
export interface CredentialPart {
  readonly kind: "header" | "cookie";
  readonly name: string;
}

/** Whether a request without the credential is refused, or is one of the anonymous callers, who share one scope. */
export const ANONYMOUS_RULES = ["refuse", "allow"] as const;
export type AnonymousRule = (typeof ANONYMOUS_RULES)[number];

/** The origin's answer to a GET says who the caller is. */
export interface IdentityQuestion {
  /** At the route's origin. */
  readonly path: string;
  /** Where the caller's id is in the answer's JSON: the names to follow. */
  readonly pointer: readonly string[];
  readonly cacheMs: number;
  readonly timeoutMs: number;
}

/** Headers that name whose keys have signed a request: UCP's `profile`, and Web Bot Auth's member of the signature's label. */
export const AGENT_HEADERS = ["ucp-agent", "signature-agent"] as const;
export type AgentHeader = (typeof AGENT_HEADERS)[number];

/** Whether a signature must say when it was made and when it ends, or only counts as these say if they are there. */
export const FRESHNESS_RULES = ["if-present", "required"] as const;
export type FreshnessRule = (typeof FRESHNESS_RULES)[number];

/** URLs that may give keys: one, or all below a path, of a host or of the hosts one name below a domain. */
export interface TrustedAgents {
  /** `https:` or, on the same machine, `http:`. */
  readonly protocol: string;
  /** With the port, if it is not the scheme's own. */
  readonly host: string;
  /** Whether it means the hosts one name below it, and not itself. */
  readonly isBelow: boolean;
  /** With the query, if there is one. */
  readonly path: string;
  /** Whether it means all paths that begin with it. */
  readonly isPrefix: boolean;
}

/** Requests that their callers sign (RFC 9421). */
export interface SignatureRule {
  readonly agents: readonly AgentHeader[];
  readonly trust: readonly TrustedAgents[];
  readonly freshness: FreshnessRule;
}

/** How a credential is proved. */
export type IdentityProof =
  | { readonly kind: "jwt"; readonly issuers: readonly TrustedIssuer[] }
  | { readonly kind: "ask"; readonly question: IdentityQuestion }
  | { readonly kind: "signature"; readonly rule: SignatureRule };

/** Of signed requests: who the caller is can be said only with the whole body. */
export function coversBody({ proof }: Identity): boolean {
  return proof.kind === "signature";
}

export interface Identity {
  readonly name: string;
  /** What identifies the caller: for tokens that are verified here, the only entry is the token's place. */
  readonly credential: readonly CredentialPart[];
  readonly anonymous: AnonymousRule;
  readonly proof: IdentityProof;
}

/** The identity in a few words, for people. */
export function describeIdentity({ name, proof }: Identity): string {
  switch (proof.kind) {
    case "jwt": {
      const issuers = proof.issuers.map(({ issuer, claim }) => `${pointerText(claim)} of ${issuer}`);
      return `identity:${name} is ${issuers.join(" or ")}`;
    }
    case "ask":
      return `identity:${name} is ${pointerText(proof.question.pointer)} of the origin's ${proof.question.path}`;
    case "signature":
      return `identity:${name} is the URL in ${agentText(proof.rule)} whose key has signed the request`;
  }
}

/** The claim of each issuer, or under an empty name the question, or the headers that name the keys of a signature. Another text for one of them gives callers, and records, other names. */
export type IdentityRoots = Readonly<Record<string, string>>;

export function identityRoots({ proof }: Identity): IdentityRoots {
  switch (proof.kind) {
    case "jwt":
      return Object.fromEntries(proof.issuers.map(({ issuer, claim }) => [issuer, pointerText(claim)]));
    case "ask":
      return { "": `${proof.question.path} ${pointerText(proof.question.pointer)}` };
    case "signature":
      return { "": `signature by ${agentText(proof.rule)}` };
  }
}

/** In one order: which of them names the caller does not depend on how they are listed. */
function agentText({ agents }: SignatureRule): string {
  return AGENT_HEADERS.filter((name) => agents.includes(name)).join(" or ");
}

/** The names to follow as they are written: `sub`, or a JSON pointer (RFC 6901). */
function pointerText(names: readonly string[]): string {
  const [only = ""] = names;
  if (names.length === 1 && !only.startsWith("/")) return only;
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
