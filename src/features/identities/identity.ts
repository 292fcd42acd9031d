// Proves who the caller of a request is, before its body is read: by the identities that the route's scopes name. Decides what a
// credential is and where it comes from; jwt-prover.ts verifies tokens, identity-ask.ts asks the origin, signature-prover.ts verifies signatures
// of the request itself. A request whose caller is not
// proved is refused; nothing of it is forwarded, and it learns nothing of any record.

import type { CredentialPart, Identity } from "../../kernel/config/identity.ts";
import type { CredentialFault } from "../../kernel/record/caller-problem.ts";
import type { HeaderPairs } from "../../kernel/request/headers.ts";
import { OriginAsker } from "./identity-ask.ts";
import { SignatureProver, UNSIGNED } from "./signature/signature-prover.ts";
import { JwtProver } from "../../kernel/request/jwt-prover.ts";
import type { CallerRequest, ProverPorts } from "../../kernel/request-feature.ts";
import { NO_PROOFS, type CallerProof, type CallerProofs, readScope } from "../../kernel/request/scope.ts";

/** A credential's parts that the request has, as headers of it. */
type Prove = (request: CallerRequest, credential: HeaderPairs) => Promise<CallerProof>;

export class IdentityProver {
  readonly #ports: ProverPorts;
  readonly #provers = new Map<Identity, Prove>();

  constructor(ports: ProverPorts) {
    this.#ports = ports;
  }

  /** Who the caller is, by each identity of the route. */
  async prove(request: CallerRequest): Promise<CallerProofs> {
    const { identities } = request.route;
    if (identities.length === 0) return NO_PROOFS;
    return new Map(
      await Promise.all(identities.map(async (one) => [one.name, await this.#prove(one, request)] as const)),
    );
  }

  async #prove(identity: Identity, request: CallerRequest): Promise<CallerProof> {
    const { credential: parts, anonymous } = identity;
    const read = readScope(request.headers, "", parts);
    if ("problem" in read) return read;
    const values = read.values.filter((_, at) => at % 2 === 1);
    if (values.every((value) => value === null)) {
      if (anonymous === "allow") return ANONYMOUS;
      return identity.proof.kind === "signature" ? UNSIGNED : inRealm(refuse("missing"), identity);
    }
    return inRealm(await this.#proverOf(identity)(request, asHeaders(parts, values)), identity);
  }

  #proverOf(identity: Identity): Prove {
    const known = this.#provers.get(identity);
    if (known !== undefined) return known;
    const prove = this.#newProver(identity);
    this.#provers.set(identity, prove);
    return prove;
  }

  #newProver({ name, credential, proof }: Identity): Prove {
    switch (proof.kind) {
      case "jwt": {
        const prover = new JwtProver(proof.issuers, this.#ports);
        const [place] = credential;
        return async (_, [header]) => {
          const token = place === undefined || header === undefined ? null : tokenIn(place, header[1]);
          return token === null ? refuse("invalid") : prover.prove(token);
        };
      }
      case "ask": {
        const asker = new OriginAsker(name, proof.question, this.#ports);
        return (request, headers) => asker.prove(request, headers);
      }
      case "signature": {
        const prover = new SignatureProver(proof.rule, this.#ports);
        return (request) => prover.prove(request);
      }
    }
  }
}

const ANONYMOUS: CallerProof = { value: null };

function refuse(why: CredentialFault): CallerProof {
  return { problem: { code: "credential-invalid", why } };
}

/** Texts that a quoted string may have as they are (RFC 9110, section 5.6.4). */
const QUOTABLE = /^[!#-[\]-~]+$/;

/** A client whose token is refused learns where to get another one, if there is one issuer. */
function inRealm(proof: CallerProof, { proof: how }: Identity): CallerProof {
  const [only, other] = how.kind === "jwt" ? how.issuers : [];
  if (!("problem" in proof) || proof.problem.code !== "credential-invalid") return proof;
  if (only === undefined || other !== undefined || !QUOTABLE.test(only.issuer)) return proof;
  return { problem: { ...proof.problem, realm: only.issuer } };
}

/** The credential as the caller sent it. All its cookies are one header. */
function asHeaders(parts: readonly CredentialPart[], values: readonly (string | null)[]): HeaderPairs {
  const present = parts.flatMap(({ kind, name }, at) => {
    const value = values[at] ?? null;
    return value === null ? [] : [{ kind, name, value }];
  });
  const cookies = present
    .filter(({ kind }) => kind === "cookie")
    // A cookie that was sent twice is sent twice.
    .flatMap(({ name, value }) => value.split(";").map((one) => `${name}=${one}`));
  const headers = present.filter(({ kind }) => kind === "header").map(({ name, value }) => [name, value] as const);
  return cookies.length === 0 ? headers : [...headers, ["cookie", cookies.join("; ")]];
}

/** RFC 6750, section 2.1. */
const BEARER = /^Bearer +([^\s,]+) *$/i;

/** `Authorization` names a scheme; any other header, and a cookie, is the token alone. */
function tokenIn({ kind, name }: CredentialPart, value: string): string | null {
  if (kind === "cookie") return value.slice(name.length + 1);
  if (name === "authorization") return BEARER.exec(value)?.[1] ?? null;
  return value;
}
