// From credentials to identities on live data: records of before are found by the token that made them, and two deployments side by side
// do one effect.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { VariableValue } from "../../../../src/serve/workerd-config.ts";
import { type Gateway, type GatewayVars, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, type RawResponse } from "../../../support/http.ts";
import { AUDIENCE, type Issuer, startIssuer } from "../../../support/issuer.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { clientOf, removeGateway } from "../../../support/e2e/scene.ts";

let origin: TestOrigin;
let issuer: Issuer;
let gateway: Gateway;

beforeAll(async () => {
  [origin, issuer] = await Promise.all([startOrigin(), startIssuer("https://login.example.com")]);
  const vars = varsOf({ scope: ["header:authorization"] });
  gateway = await startWorkerd({ stateDir: await makeStateDir(), vars });
});
afterAll(async () => {
  await removeGateway(gateway);
  await Promise.all([origin.close(), issuer.close()]);
});

function varsOf(settings: Readonly<Record<string, VariableValue>>): GatewayVars {
  const jwt = { issuer: issuer.name, audience: AUDIENCE, jwks: issuer.jwks };
  return {
    IDEMPOTENCY: { origin: origin.url, shards: 1, log: "none", ...settings },
    IDENTITIES: { user: { jwt }, mail: { jwt: { ...jwt, claim: "email" } } },
    ROUTES: [{ path: "/pay" }],
  };
}

async function deploy(settings: Readonly<Record<string, VariableValue>>): Promise<void> {
  await gateway.stop();
  gateway = await gateway.restart({ vars: varsOf(settings) });
}

function send(token: string, key: string): Promise<RawResponse> {
  return clientOf(gateway.url).send({ path: "/pay", key, headers: [["Authorization", `Bearer ${token}`]] });
}

it("keeps the records of the credentials of before, finds new ones by their callers, and can go back", async () => {
  await deploy({ scope: ["header:authorization"] });
  const [old, key] = [freshKey(), freshKey()];
  const [token, refreshed] = [await issuer.token("alice"), await issuer.token("alice")];
  const first = await send(token, old);

  const next = { scope: ["identity:user"], previous_scope: [["header:authorization"]] };
  await deploy(next);
  expectReplay(await send(token, old), first);
  expectFirstAnswer(await send(await issuer.token("bob"), old), 201);
  const newer = await send(token, key);
  expectFirstAnswer(newer, 201);
  expectReplay(await send(refreshed, key), newer);

  // Rolled back, or not everywhere yet.
  await deploy({ scope: ["header:authorization"] });
  expectReplay(await send(token, old), first);
  expectReplay(await send(token, key), newer);
  expect([await origin.effects(old), await origin.effects(key)]).toEqual([2, 1]);

  await deploy(next);
  expectReplay(await send(await issuer.token("alice"), key), newer);
});

it("finds the records of an identity of before, as long as that proves the caller", async () => {
  await deploy({ scope: ["identity:mail"] });
  const key = freshKey();
  const both = { claims: { email: "alice@example.com" } };
  const first = await send(await issuer.token("alice", both), key);
  expectFirstAnswer(first, 201);

  await deploy({ scope: ["identity:user"], previous_scope: [["identity:mail"]] });
  expectReplay(await send(await issuer.token("alice", both), key), first);
  // Before, this token was refused, so it has no record of that time.
  const other = freshKey();
  expectFirstAnswer(await send(await issuer.token("alice"), other), 201);
  expect([await origin.effects(key), await origin.effects(other)]).toEqual([1, 1]);
});

it("does nothing while nobody can say whether there is a record of before", async () => {
  await issuer.rotate();
  await deploy({ scope: ["header:authorization"], previous_scope: [["identity:user"]] });
  await issuer.mood("failing");
  const [key, token] = [freshKey(), await issuer.token("alice")];
  expectProblem(await send(token, key), { code: "identity-unavailable", status: 503, retryable: true, echo: key });
  expect(await origin.requests(key)).toEqual([]);
  await issuer.mood("well");
  await expect.poll(async () => (await send(token, key)).status).toBe(201);
});
