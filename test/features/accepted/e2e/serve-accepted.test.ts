// Asynchronous requests on a self-hosted gateway: what was accepted goes on after it has been stopped and started again.

import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import { type Behaviour, startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { isReplay, send, until } from "../../../support/e2e/guarantees-client.ts";
import { cleanUp, serve, writeDeployment } from "../../../support/e2e/serve-process.ts";

let origin: TestOrigin;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());
afterEach(cleanUp);

it("tries an accepted request again after a restart, and its monitor gives the result", async () => {
  const { args } = await writeDeployment({
    vars: { IDEMPOTENCY: { origin: origin.url }, ROUTES: [{ path: "/reports", async: "prefer", scope: ["none"] }] },
  });
  const key = freshKey();
  const refusal: Behaviour = { status: 503, effect: false, headers: [["Retry-After", "10"]] };
  await origin.behave({ key }, { sequence: [refusal, { status: 201, body: "the report" }] });
  const call = { path: "/reports", key };
  const gateway = serve(args);
  const { url } = await gateway.listening();
  const accepted = await send(url, { ...call, headers: [["Prefer", "respond-async"]] });
  expect([accepted.status, headerValue(accepted, "idempotency-status")]).toEqual([202, "accepted"]);
  const path = headerValue(accepted, "location") ?? "";
  const monitor = { path, key, method: "GET", body: "" };
  // Between two attempts: nobody waits for one in flight, so it would be cut off.
  await until(
    () => send(url, monitor),
    ({ body }) => body.toString().includes('"status":"waiting"'),
    60_000,
  );
  expect(await origin.requests(key)).toHaveLength(1);
  gateway.signal("SIGTERM");
  expect(await gateway.exited).toBe(0);

  const next = serve(args);
  const again = await next.listening();
  const result = await until(
    () => send(again.url, monitor),
    ({ status }) => status !== 202,
    60_000,
  );
  expect([result.status, result.body.toString()]).toEqual([201, "the report"]);
  const retried = await send(again.url, call);
  expect([isReplay(retried), retried.body.toString()]).toEqual([true, "the report"]);
  next.signal("SIGTERM");
  expect(await next.exited).toBe(0);
});
