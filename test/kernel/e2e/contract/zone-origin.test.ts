import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";

// Off Cloudflare a request to the zone's own origin comes back to the gateway: the shortest loop there is.
describe("the zone's own origin, without a zone", () => {
  let gateway: Gateway;

  beforeAll(async () => {
    gateway = await startWorkerd({
      vars: { IDEMPOTENCY: {}, ROUTES: [{ path: "/v1/*" }] },
      stateDir: await makeStateDir(),
    });
  });

  afterAll(async () => {
    await gateway.stop();
  });

  it.each([
    ["a protected request", "/v1/orders", "POST"],
    ["a request that passes through", "/other", "GET"],
  ])("ends %s that came back after one round, and says what to do", async (_what, path, method) => {
    const response = await fetch(gateway.url + path, { method, headers: { "Idempotency-Key": freshKey() } });
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      code: "configuration-invalid",
      problemCount: 1,
    });
    expect(gateway.output()).toContain("IDEMPOTENCY.origin: the request came back to the gateway");
  });
});
