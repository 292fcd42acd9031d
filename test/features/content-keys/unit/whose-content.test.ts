// Whose content a key is made from: nobody's as long as it is not known who the caller is.

import { expect, it } from "vitest";
import type { HeldOrFlowing } from "../../../../src/kernel/request/body.ts";
import { type Intent, intentReader } from "../../../../src/kernel/request/intent.ts";
import { readKeyless } from "../../../../src/kernel/request/keyless.ts";
import type { CallerProof } from "../../../../src/kernel/request/scope.ts";
import { configOf } from "../../../kernel/unit/config/support.ts";

const USER: CallerProof = { value: "user-1" };

/** What becomes of a request without a key on a route with this scope, whose caller is proved like this. */
async function keylessOf(scope: readonly string[], proof: CallerProof, json: string): Promise<string> {
  const config = configOf({
    ROUTES: [
      {
        path: "/pay",
        scope,
        key_from: ["header:Idempotency-Key", { digest: ["json:/id"], window: "1m", repeat: "replay" }],
      },
    ],
    IDENTITIES: { user: { ask: { path: "/me", pointer: "/id" } } },
  });
  const url = new URL("https://api.example/pay");
  const intentOf = (headers: Readonly<Record<string, string>>): Intent =>
    intentReader(config, () => false)(new Request(url, { method: "POST", headers }), url);
  const intent = intentOf({ "content-type": "application/json" });
  const made = intentOf({ "Idempotency-Key": "of-its-content" });
  if (intent.kind !== "search" || made.kind !== "exchange") throw new Error(`${intent.kind}, ${made.kind}`);
  const body: HeldOrFlowing = {
    kind: "whole",
    body: { bytes: new TextEncoder().encode(json), free: () => undefined },
  };
  const read = await readKeyless(intent, null, new Map([["user", proof]]), {
    proveCaller: () => Promise.reject(new Error("the caller is known")),
    makeContentKey: () => Promise.resolve({ kind: "keyed", intent: made, body }),
  });
  return read.kind === "refuse" ? read.problem.code : read.kind;
}

it.each<[what: string, scope: readonly string[], proof: CallerProof, json: string, becomes: string]>([
  ["a caller who is known", ["identity:user"], USER, "{}", "keyed"],
  [
    "a caller whose credential is not right",
    ["identity:user"],
    { problem: { code: "credential-invalid", why: "expired" } },
    "{}",
    "key-missing",
  ],
  [
    "a caller who cannot be looked up",
    ["identity:user"],
    { problem: { code: "identity-unavailable", retryAfterMs: 1000 } },
    "{}",
    "identity-unavailable",
  ],
  ["a caller whose account the body names", ["identity:user", "json:/account"], USER, '{"account":"a"}', "keyed"],
  ["a caller whose account the body does not name", ["identity:user", "json:/account"], USER, "{}", "key-missing"],
])("%s", async (_, scope, proof, json, becomes) => {
  expect(await keylessOf(scope, proof, json)).toBe(becomes);
});
