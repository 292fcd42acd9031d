// What `onceway check --against` says of identities.

import { describe, expect, it } from "vitest";
import { compareLayouts, type GatewayComparison } from "../../../../src/cli/check-against.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import type { RunningRoute } from "../../../../src/kernel/node-feature.ts";
import { FINE, messages, published, running } from "../../../support/running-gateway.ts";

describe("an identity of the same name", () => {
  const JWT = { issuer: "https://login.example.com", audience: "a", jwks: "https://login.example.com/jwks" };
  const RUNNING = { user: { [JWT.issuer]: "sub" } };

  const compared = (
    user: object,
    identities: RunningRoute["identities"],
    scope = "identity:user",
  ): GatewayComparison => {
    const read = readConfig({
      IDEMPOTENCY: { origin: "https://origin.example", scope: [scope] },
      IDENTITIES: { user, person: user },
      ROUTES: [{ path: "/pay" }],
    });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const [route] = published(["POST PATCH /pay"], ["identity:user"]);
    const running64 = [running(64)];
    return compareLayouts(read.config.routes, running64, route === undefined ? [] : [{ ...route, identities }]);
  };

  it("that takes callers' names from elsewhere is refused", () => {
    const others = [{ jwt: { ...JWT, claim: "email" } }, { ask: { path: "/me", pointer: "/id" } }];
    for (const user of others) {
      expect(messages(compared(user, RUNNING))).toEqual([
        'IDENTITIES.user: gives callers other names than the identity "user" that is in force, so their keys are forgotten: leave it as it is, write the new one under another name, and previous_scope = [["identity:user"]] in ROUTES[0]',
      ]);
    }
    const asked = { user: { "": "/me /id" } };
    expect(messages(compared({ ask: { path: "/me", pointer: "/account" } }, asked))).toHaveLength(1);
  });

  it("may trust other issuers, or take the same names in another way", () => {
    expect(compared({ jwt: { ...JWT, jwks: "https://keys.example.com", audience: "b" } }, RUNNING)).toEqual(FINE);
    expect(compared({ jwt: [JWT, { ...JWT, issuer: "b" }] }, RUNNING)).toEqual(FINE);
    expect(compared({ jwt: { ...JWT, issuer: "b", claim: "email" } }, RUNNING)).toEqual(FINE);
  });

  it("may be new", () => {
    expect(compared({ jwt: JWT }, {})).toEqual(FINE);
  });

  it("is another scope under another name", () => {
    expect(messages(compared({ jwt: JWT }, RUNNING, "identity:person"))).toEqual([
      expect.stringContaining('write previous_scope = [["identity:user"]]'),
    ]);
  });
});
