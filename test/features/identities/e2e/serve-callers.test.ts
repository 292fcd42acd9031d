// What a self-hosted gateway does with callers: identities from its configuration, encrypted responses with a secret from its environment.

import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { AUDIENCE, type Issuer, startIssuer } from "../../../support/issuer.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { essence, isReplay, problemCode, send } from "../../../support/e2e/guarantees-client.ts";
import { freshSecret } from "../../../support/e2e/encrypted-scene.ts";
import { cleanUp, serve, type ServeProcess, writeDeployment } from "../../../support/e2e/serve-process.ts";
import { tracesIn } from "../../../support/e2e/traces-in-files.ts";

let origin: TestOrigin;
let issuer: Issuer;
beforeAll(async () => {
  [origin, issuer] = await Promise.all([startOrigin(), startIssuer("https://login.example.com")]);
});
afterAll(async () => {
  await issuer.close();
  await origin.close();
});
afterEach(cleanUp);

async function stop(gateway: ServeProcess): Promise<void> {
  gateway.signal("SIGTERM");
  expect(await gateway.exited).toBe(0);
}

it("verifies identities and replays encrypted responses, with a secret from the environment that changes", async () => {
  const { name, jwks } = issuer;
  const { args, stateDir } = await writeDeployment({
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1 },
      IDENTITIES: { user: { jwt: { issuer: name, audience: AUDIENCE, jwks } } },
      ROUTES: [{ path: "/pay", scope: ["identity:user"], encrypt_responses: true }],
    },
    secrets: { required: ["ENCRYPTION_SECRET"] },
  });
  const key = freshKey();
  const text = `text-${freshKey()}`;
  const secret = freshSecret();
  await origin.behave(
    { key },
    {
      sequence: [
        { status: 201, body: text },
        { status: 201, body: "of another" },
      ],
    },
  );
  const sendAs = (url: string, token: string): Promise<RawResponse> =>
    send(url, { path: "/pay", key, headers: [["Authorization", `Bearer ${token}`]] });

  const gateway = serve(args, { ENCRYPTION_SECRET: secret });
  const { url } = await gateway.listening();
  const first = await sendAs(url, await issuer.token("alice"));
  expect(first).toMatchObject({ status: 201, body: Buffer.from(text) });
  const refreshed = await sendAs(url, await issuer.token("alice"));
  expect([isReplay(refreshed), essence(refreshed)]).toEqual([true, essence(first)]);
  const others = await sendAs(url, await issuer.token("bob"));
  expect([isReplay(others), others.body.toString()]).toEqual([false, "of another"]);
  const forged = await sendAs(url, await issuer.token("alice", { unpublished: true }));
  expect([forged.status, problemCode(forged)]).toEqual([401, "credential-invalid"]);
  expect(headerValue(forged, "www-authenticate")).toContain("invalid_token");
  expect(await origin.effects(key)).toBe(2);
  await stop(gateway);
  expect(tracesIn(stateDir, [text, key, secret])).toEqual([]);

  const next = serve([...args, "--secret", "ENCRYPTION_SECRET_2"], {
    ENCRYPTION_SECRET: secret,
    ENCRYPTION_SECRET_2: freshSecret(),
  });
  const again = await sendAs((await next.listening()).url, await issuer.token("alice"));
  expect([isReplay(again), essence(again)]).toEqual([true, essence(first)]);
  await stop(next);

  const wrong = serve(args, { ENCRYPTION_SECRET: freshSecret() });
  const unread = await sendAs((await wrong.listening()).url, await issuer.token("alice"));
  expect([unread.status, problemCode(unread)]).toEqual([409, "response-not-kept"]);
  await stop(wrong);
  expect(await origin.effects(key)).toBe(2);
});
