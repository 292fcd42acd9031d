// Asynchronous requests on a self-hosted gateway: what was accepted goes on after it has been stopped and started again.

import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { freshKey, type RawResponse } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { send, until } from "../../../support/e2e/guarantees-client.ts";
import { cleanUp, serve, writeDeployment } from "../../../support/e2e/serve-process.ts";

/** How many attempts of accepted requests an object makes at a time. */
const PLACES = 4;

let origin: TestOrigin;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());
afterEach(cleanUp);

it("ends the attempts that run at SIGTERM, begins no other, and makes the others after a restart", async () => {
  const routes = [{ path: "/reports", async: "prefer", scope: ["none"], shards: 1 }];
  const { args } = await writeDeployment({ vars: { IDEMPOTENCY: { origin: origin.url }, ROUTES: routes } });
  const gateway = serve(args);
  const { url } = await gateway.listening();
  const accept = async (key: string, hold: boolean): Promise<RawResponse> => {
    await origin.behave({ key }, { status: 201, body: `the report ${key}`, hold });
    return send(url, { path: "/reports", key, headers: [["Prefer", "respond-async"]] });
  };
  // As many as have a place, and one more.
  const keys = Array.from({ length: PLACES + 1 }, freshKey);
  const [running, waiting] = [keys.slice(0, PLACES), keys[PLACES] ?? ""];
  for (const key of running) {
    expect((await accept(key, true)).status).toBe(202);
    await origin.arrived(key);
  }
  expect((await accept(waiting, false)).status).toBe(202);

  gateway.signal("SIGTERM");
  await until(
    () => serve(["health", "--port", new URL(url).port]).exited,
    (code) => code === 1,
    60_000,
  );
  for (const key of running) await origin.release(key);
  expect(await gateway.exited).toBe(0);
  expect(await origin.requests(waiting)).toHaveLength(0);

  const next = serve(args);
  const again = await next.listening();
  for (const key of keys) {
    const result = await until(
      () => send(again.url, { path: "/reports", key }),
      ({ status }) => status === 201,
      60_000,
    );
    expect(result.body.toString()).toBe(`the report ${key}`);
    expect(await origin.requests(key)).toHaveLength(1);
  }
  next.signal("SIGTERM");
  expect(await next.exited).toBe(0);
});
