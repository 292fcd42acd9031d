// What `onceway try` says of a token that the gateway refuses: which claim, and what the configuration expects.

import { UnsecuredJWT } from "jose";
import { expect, it } from "vitest";
import { tokenFaults } from "../../../../src/features/identities/cli/token-faults.ts";
import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { parse } from "smol-toml";

const NOW = Date.parse("2026-11-25T12:00:00Z");
const [{ config } = { config: null }] = checkWranglerConfig(
  parse(`
name = "gateway"
main = "src/index.ts"
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]
[vars.IDEMPOTENCY]
origin = "https://api.acme.com"
scope = ["identity:user"]
[vars.IDENTITIES.user]
jwt = { issuer = "https://login.acme.com", audience = "pay", jwks = "https://login.acme.com/keys" }
[[vars.ROUTES]]
path = "/v1/payments"
[[durable_objects.bindings]]
name = "KEY_SHARD"
class_name = "KeyShard"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["KeyShard"]
`),
);
const GOOD = { iss: "https://login.acme.com", aud: "pay", exp: NOW / 1000 + 300 };

function faults(claims: object | string, name = "Authorization"): readonly string[] {
  const token = typeof claims === "string" ? claims : new UnsecuredJWT({ ...claims }).encode();
  return tokenFaults([[name, `Bearer ${token}`]], config?.identities ?? [], NOW);
}

it("finds nothing in the claims of a token that may be accepted", () => {
  expect(config?.identities).toHaveLength(1);
  expect([faults(GOOD), faults({ ...GOOD, aud: ["other", "pay"] }), faults(GOOD, "X-Other")]).toEqual([[], [], []]);
});

it.each([
  ["opaque", "What authorization carries is no JWT."],
  [
    { ...GOOD, iss: "https://x" },
    'The token\'s iss is "https://x", and the configuration expects "https://login.acme.com".',
  ],
  [{ ...GOOD, aud: "shop" }, 'The token\'s aud is "shop", and the configuration expects "pay".'],
  [{ ...GOOD, aud: undefined }, 'The token\'s aud is missing, and the configuration expects "pay".'],
  [{ ...GOOD, exp: undefined }, "The token has no exp."],
  [{ ...GOOD, exp: NOW / 1000 - 600 }, "The token expired at 2026-11-25T11:50:00.000Z."],
  [{ ...GOOD, nbf: NOW / 1000 + 600 }, "The token is not valid before 2026-11-25T12:10:00.000Z."],
])("%j: %s", (claims, fault) => {
  expect(faults(claims)).toEqual([fault]);
});
