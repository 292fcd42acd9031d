// The operator API's routes match openapi.json; tokens, and how wrong ones are counted.

import { inspectRoutes } from "hono/dev";
import { describe, expect, it } from "vitest";
import openapi from "../../../src/operator/openapi.json";
import { operatorApp } from "../../../src/operator/api.ts";
import { workerFeatures } from "../../../src/features/worker.ts";
import { JwtProver } from "../../../src/kernel/request/jwt-prover.ts";
import { EVERYBODY, TOKENS } from "../../support/integration/operators.ts";
import { OperatorAuth } from "../../../src/operator/access/auth.ts";
import { MAX_FAILURES } from "../../../src/kernel/request/token-auth.ts";
import { workerKernel } from "../../support/integration/worker-kernel.ts";
import { version } from "../../../package.json";

const tokens = TOKENS;
const noAccess = new JwtProver([], {
  network: { fetch: () => Promise.reject(new Error("not called")) },
  waitUntil: () => undefined,
});

function api(): ReturnType<typeof operatorApp> {
  const kernel = workerKernel();
  const features = workerFeatures.flatMap((make) => make(kernel).operator ?? []);
  return operatorApp("/_onceway", new OperatorAuth(EVERYBODY, noAccess), { ...kernel, features });
}

it("every route of the code is in the OpenAPI file, and every operation of the file is a route", () => {
  const app = api();
  const routes = inspectRoutes(app)
    .filter(({ isMiddleware }) => !isMiddleware)
    .map(({ method, path }) => `${method} ${path.replaceAll(/:([a-z]+)/g, "{$1}")}`);
  const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.toSorted()).toEqual(operations.toSorted());
  expect(openapi.info.version).toBe(version);
});

it("the operations that a reader is refused are those for which the OpenAPI file says so, and whatever else does more than read", async () => {
  const app = api();
  const refuses = async (method: string, path: string): Promise<boolean> => {
    const headers = { authorization: `Bearer ${tokens.read}` };
    const { status } = await app.fetch(new Request(`https://api.example/_onceway${path}`, { method, headers }));
    return status === 403;
  };
  for (const [path, methods] of Object.entries(openapi.paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      const isRefused = await refuses(method.toUpperCase(), path.replaceAll(/[{}]/g, ""));
      expect([method, path, isRefused]).toEqual([method, path, "403" in responses]);
    }
  }
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) expect(await refuses(method, "/nothing")).toBe(true);
});

describe("tokens", () => {
  const auth = (): OperatorAuth => new OperatorAuth(EVERYBODY, noAccess);

  it("decide who may change and who may read", async () => {
    const one = auth();
    const of = (name: string, role: string) => ({
      kind: "admitted",
      actor: { name, role, via: "token", address: "a" },
    });
    expect(await one.admitToken(tokens.admin, "a", 0)).toEqual(of("admin", "admin"));
    expect(await one.admitToken(tokens.read, "a", 0)).toEqual(of("reader", "reader"));
    expect(await one.admitToken(tokens.ann, "a", 0)).toEqual(of("ann", "admin"));
    // The token before it, while it is changed.
    expect(await one.admitToken("o".repeat(32), "a", 0)).toEqual(of("ann", "admin"));
    const headers = new Headers({ authorization: `bearer ${tokens.read}` });
    expect(await one.admit(headers, 0)).toMatchObject({ actor: { name: "reader", address: "local" } });
    const none = new OperatorAuth({ tokens: EVERYBODY.tokens.slice(0, 1), access: null }, noAccess);
    expect(await none.admitToken(tokens.admin, "a", 0)).toMatchObject({ kind: "admitted" });
    expect(await none.admitToken(tokens.read, "a", 0)).toMatchObject({ kind: "refused" });
  });

  it.each(["", "a".repeat(31), "a".repeat(33), "A".repeat(32), "r".repeat(31), "ä".repeat(32)])(
    "are compared in full: %s",
    async (token) => {
      expect(await auth().admitToken(token, "a", 0)).toMatchObject({ kind: "refused" });
    },
  );

  async function fail(one: OperatorAuth, address: string, now: number, times = MAX_FAILURES): Promise<void> {
    for (let time = 0; time < times; time += 1) await one.admitToken("wrong", address, now);
  }

  it("are throttled after ten within a minute, and counted anew after that minute", async () => {
    const one = auth();
    await fail(one, "a", 1000);
    expect(await one.admitToken("wrong", "a", 60_999)).toEqual({
      kind: "refused",
      problem: { code: "operator-throttled", retryAfterMs: 1 },
    });
    await fail(one, "a", 61_000);
    expect(one.refused).toEqual({ unauthorized: 2 * MAX_FAILURES, throttled: 1, forbidden: 0 });
  });

  it("never stop the right one, from the same address", async () => {
    const one = auth();
    await fail(one, "a", 1000, 5 * MAX_FAILURES);
    expect(await one.admitToken(tokens.admin, "a", 1000)).toMatchObject({ kind: "admitted" });
    expect(await one.admitToken("wrong", "a", 1000)).toMatchObject({ problem: { code: "operator-throttled" } });
  });

  it.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["2001:db8::1", "2001:DB8:0:0:5::", true],
    ["::1", "0:0:0:0:1:2:3:4", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["192.0.2.1", "192.0.2.2", false],
    ["::ffff:192.0.2.1", "::ffff:192.0.2.2", false],
    ["::ffff:192.0.2.1", "192.0.2.1", true],
    ["::FFFF:c000:201", "192.0.2.1", true],
  ])("are counted for a network: %s and %s", async (address, other, isSame) => {
    const one = auth();
    await fail(one, address, 0);
    expect(await one.admitToken("wrong", other, 0)).toMatchObject({
      problem: { code: isSame ? "operator-throttled" : "operator-unauthorized" },
    });
  });

  it("are counted for a bounded number of addresses, the latest to fail", async () => {
    const one = auth();
    await fail(one, "first", 0);
    for (let number = 0; number < 1000; number += 1) await one.admitToken("wrong", `address ${number}`, 0);
    expect(await one.admitToken("wrong", "first", 0)).toMatchObject({ problem: { code: "operator-unauthorized" } });
  });
});
