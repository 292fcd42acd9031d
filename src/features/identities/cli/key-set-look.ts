// Fetches an issuer's keys from this machine, as the gateway will: where they are not at the address of the file, every token is refused.

import { isExample } from "../../../cli/check/reach.ts";
import { isTable } from "../../../kernel/config/table.ts";
import type { Config, ConfigProblem } from "../../../kernel/config/resolved.ts";
import type { Identity } from "../../../kernel/config/identity.ts";
import type { TrustedIssuer } from "../../../kernel/config/trusted-issuer.ts";

const FETCH_MS = 2_000;

/** For `check`. */
export async function issuersWithoutKeys({ identities }: Config): Promise<readonly ConfigProblem[]> {
  const problems = await Promise.all(identities.flatMap((identity) => withoutKeys(identity)));
  return problems.filter((problem) => problem !== null);
}

/** One look for each issuer; examples are left out. */
function withoutKeys({ name, proof }: Identity): readonly Promise<ConfigProblem | null>[] {
  if (proof.kind !== "jwt") return [];
  return proof.issuers
    .filter(({ jwks }) => !isExample(new URL(jwks).hostname))
    .map(async (issuer) => {
      const message = await missingKeys(issuer);
      return message === null ? null : { path: `IDENTITIES.${name}.jwt.jwks`, code: "keys-missing" as const, message };
    });
}

/** What to write instead, in a sentence; `null` if the keys are there, or if this machine cannot tell. */
export async function missingKeys({ issuer, jwks }: Pick<TrustedIssuer, "issuer" | "jwks">): Promise<string | null> {
  const answer = await getJson(jwks);
  if (answer === null) return null;
  if (isTable(answer.json) && Array.isArray(answer.json["keys"])) return null;
  // OpenID Connect Discovery, section 4.
  const discovery = await getJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  const named = isTable(discovery?.json) ? discovery.json["jwks_uri"] : null;
  const advice =
    typeof named === "string"
      ? `write jwks = ${JSON.stringify(named)}`
      : `write the jwks_uri that the issuer's /.well-known/openid-configuration names`;
  return `has no keys (it answers ${answer.status}), so the gateway could check no token: ${advice}`;
}

async function getJson(url: string): Promise<{ readonly status: number; readonly json: unknown } | null> {
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      signal: AbortSignal.timeout(FETCH_MS),
    });
    const text = await response.text();
    return { status: response.status, json: response.ok ? parsed(text) : null };
  } catch {
    return null;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
