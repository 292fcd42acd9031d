// Which requests are consumers', and where their tokens may not go.

import { describe, expect, it } from "vitest";
import { claimsEndpoint } from "../../../../src/features/claims/consumer-api.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import type { Config } from "../../../../src/kernel/config/resolved.ts";
import { type Intent, intentReader } from "../../../../src/kernel/request/intent.ts";

function configOf(env: Readonly<Record<string, unknown>>): Config {
  const read = readConfig({ IDEMPOTENCY: { origin: "https://api.example" }, ...env });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.config;
}

/** An intent in a few words. */
function wordsOf(intent: Intent): string {
  if (intent.kind === "refuse") return `refuse ${intent.problem.code}`;
  if (intent.kind === "pass") return `pass ${intent.route?.path ?? null}`;
  return intent.kind === "own" ? "claim" : intent.kind;
}

describe("a consumer's request", () => {
  const GROUPED = configOf({
    TOKEN: "t".repeat(32),
    CONSUMERS: [{ name: "billing", token: "TOKEN" }],
    ROUTES: [{ path: "/required" }],
    IDEMPOTENCY: { origin: "https://api.example" },
    OPERATOR_API: { hostname: "ops.example" },
  });
  const isBearer = (token: string) => (headers: Headers) => headers.get("authorization") === `Bearer ${token}`;
  const consumers = { answer: () => Promise.resolve(new Response()), isTheirs: isBearer("consumer") };
  const readGrouped = intentReader(GROUPED, isBearer("operator"), [claimsEndpoint("/_claims", consumers)]);
  const inGrouped = (target: string, token: string, host = "api.example"): string => {
    const [method = "", path = ""] = target.split(" ");
    const url = new URL(path, `https://${host}`);
    return wordsOf(readGrouped(new Request(url, { method, headers: { authorization: `Bearer ${token}`, host } }), url));
  };

  it.each([
    ["POST /_claims/billing", "consumer", "claim"],
    ["POST /_claims/billing/complete", "nobody", "claim"],
    // It is refused there, and goes nowhere else.
    ["POST /_claims/billing", "operator", "claim"],
    ["POST /_CLAIMS/billing", "nobody", "refuse consumer-unauthorized"],
    ["POST /x/../%5fclaims/billing", "nobody", "refuse consumer-unauthorized"],
    // The origin would get the token.
    ["POST /_claim/billing", "consumer", "refuse consumer-unauthorized"],
    ["POST /required", "consumer", "refuse consumer-unauthorized"],
    ["POST /_claim/billing", "nobody", "pass null"],
  ])("%s with the token of %s: %s", (target, token, words) => {
    expect(inGrouped(target, token)).toBe(words);
  });

  it("is not served on the operators' host", () => {
    expect(inGrouped("POST /_claims/billing", "consumer", "ops.example")).toBe("refuse operator-not-found");
  });
});
