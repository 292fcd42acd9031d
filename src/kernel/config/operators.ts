// Who operates the gateway: holders of a token, each with a name, and people whom Cloudflare Access lets in.

import type { Role } from "../record/audit.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** One `[[vars.OPERATORS]]`. */
export interface NamedOperator {
  /** Its place in the configuration, for messages: `OPERATORS[0]`. */
  readonly place: string;
  readonly name: string;
  readonly role: Role;
  /** Names of the secrets with the tokens: that in force, and that before it, while it is changed. */
  readonly secrets: readonly string[];
}

/** An operator with the values of the tokens. All of them open the gateway; new sessions are signed with the first. */
export interface OperatorTokens {
  readonly name: string;
  readonly role: Role;
  readonly values: readonly [string, ...string[]];
}

/** Whom Cloudflare Access proves to be an operator. */
export interface AccessRules {
  readonly issuer: TrustedIssuer;
  /** E-mail addresses in lower case; `*@example.com` is everybody of a domain. */
  readonly admins: readonly string[];
  readonly readers: readonly string[];
}

export interface OperatorAccess {
  readonly tokens: readonly OperatorTokens[];
  readonly access: AccessRules | null;
}

/** The role of an address that Access has proved; `null`: it is no operator's. */
export function roleOf(email: string, { admins, readers }: AccessRules): Role | null {
  if (isListed(email, admins)) return "admin";
  return isListed(email, readers) ? "reader" : null;
}

function isListed(email: string, list: readonly string[]): boolean {
  const domain = email.slice(email.lastIndexOf("@"));
  return list.includes(email) || list.includes(`*${domain}`);
}
