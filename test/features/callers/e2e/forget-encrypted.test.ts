// The records of one caller are forgotten although they are encrypted, under each secret that is still listed, and although the
// caller is named by an identity. The other caller's are replayed.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandOutcome } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, type RawResponse } from "../../../support/http.ts";
import { AUDIENCE, type Issuer, startIssuer } from "../../../support/issuer.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { ADMIN_TOKEN } from "../../../support/e2e/operator-scene.ts";
import { expectFirstAnswer, expectReplay } from "../../../support/e2e/problem.ts";
import { clientOf, removeGateway } from "../../../support/e2e/scene.ts";
import { freshSecret } from "../../../support/e2e/encrypted-scene.ts";

const OLDER = { ENCRYPTION_SECRET: freshSecret() };
const BOTH = { ...OLDER, ENCRYPTION_SECRET_2: freshSecret() };
const REASON = "She asked to be erased.";

let origin: TestOrigin;
let issuer: Issuer;
let gateway: Gateway;

beforeAll(async () => {
  [origin, issuer] = await Promise.all([startOrigin(), startIssuer("https://login.example.com")]);
  const jwt = { issuer: issuer.name, audience: AUDIENCE, jwks: issuer.jwks };
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 2, scope: ["header:authorization"] },
      IDENTITIES: { user: { jwt } },
      ROUTES: [
        { path: "/encrypted", encrypt_responses: true },
        { path: "/user", scope: ["identity:user"] },
        { path: "/encrypted-user", scope: ["identity:user"], encrypt_responses: true },
      ],
      ADMIN_TOKEN,
    },
    bindings: OLDER,
  });
});
afterAll(async () => {
  await removeGateway(gateway);
  await Promise.all([origin.close(), issuer.close()]);
});

function send(path: string, token: string, key: string): Promise<RawResponse> {
  return clientOf(gateway.url).send({ path, key, headers: [["Authorization", `Bearer ${token}`]] });
}

/** The other process remembers no replay, so what it answers comes from its shards. */
async function restart(bindings: Readonly<Record<string, string>>): Promise<void> {
  await gateway.kill9();
  gateway = await gateway.restart({ bindings });
}

function forget(scope: string, how: string): Promise<CommandOutcome> {
  const env = { ONCEWAY_URL: gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN };
  return callOnceway(["callers", "forget", "--scope", scope, "--reason", REASON, how], env);
}

async function expectForgotten(scope: string, count: number): Promise<void> {
  const records = count === 1 ? "1 record" : `${count} records`;
  expect(await forget(scope, "--dry-run")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${records} to forget`),
  });
  expect(await forget(scope, "--yes")).toMatchObject({ code: 0, stdout: `forgotten: ${records} and 0 events\n` });
}

describe("a caller whose records are encrypted", () => {
  it("is forgotten under the older and the newer secret, and the other caller is not", async () => {
    const [older, newer] = [freshKey(), freshKey()];
    const annas = await send("/encrypted", "anna", older);
    const first = await send("/encrypted", "ben", older);
    await restart(BOTH);
    await send("/encrypted", "anna", newer);
    const second = await send("/encrypted", "ben", newer);
    expectReplay(await send("/encrypted", "anna", older), annas);

    await expectForgotten("header:authorization=Bearer anna", 2);
    await restart(BOTH);
    expectReplay(await send("/encrypted", "ben", older), first);
    expectReplay(await send("/encrypted", "ben", newer), second);
    expect([await origin.effects(older), await origin.effects(newer)]).toEqual([2, 2]);
    for (const key of [older, newer]) {
      expectFirstAnswer(await send("/encrypted", "anna", key), 201);
      expect(await origin.effects(key)).toBe(3);
    }
    expect(gateway.output()).not.toContain("anna");
  });
});

describe.each([
  ["/user", "alice"],
  ["/encrypted-user", "carol"],
])("a caller who is named by an identity (%s)", (path, name) => {
  it("is forgotten with all tokens", async () => {
    const keys = [freshKey(), freshKey()];
    for (const key of keys) await send(path, await issuer.token(name), key);
    const [key = ""] = keys;
    const bobs = await send(path, await issuer.token("bob"), key);
    await expectForgotten(`identity:user=${issuer.name} ${name}`, 2);
    await restart(BOTH);
    expectReplay(await send(path, await issuer.token("bob"), key), bobs);
    expectFirstAnswer(await send(path, await issuer.token(name), key), 201);
    expect(await origin.effects(key)).toBe(3);
  });
});
