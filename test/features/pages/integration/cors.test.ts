// Answers of a route with `cors` that no shard gives: a page reads them like all others.

import { expect, it } from "vitest";
import { EncryptionDeriver } from "../../../../src/kernel/encryption/encryption.ts";
import { createApp } from "../../../../src/worker/app.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import type { CallShard } from "../../../../src/kernel/request/protect.ts";
import { ExchangeReporter } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import { readableAnswer } from "../../../../src/features/pages/cors.ts";
import { noIdentities } from "../../../support/integration/no-identities.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

const PAGE = "https://shop.example.com";
const EVIL = "https://evil.example";

/** The answer to a page's request, if the shard can be called like this. */
async function answerIf(callShard: CallShard, rules: object = {}, page = PAGE): Promise<Response> {
  const route = { path: "/pay", unknown: "retry", cors: { origins: [PAGE] }, ...rules };
  const reading = readConfig({ IDEMPOTENCY: { origin: "https://api.example" }, ROUTES: [route] });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const opinion = { headers: { "Access-Control-Allow-Origin": EVIL } };
  const ports = {
    callShard,
    target: () => ({ fetch: () => Promise.resolve(new Response("paid", opinion)) }),
    proveCaller: noIdentities,
    encryptions: new EncryptionDeriver([]),
    reporter: new ExchangeReporter("worker", new TrafficCounters()),
  };
  const app = createApp(reading.config, ports, { features: [{ finish: readableAnswer }] });
  const headers = { Host: "gateway.example", "Idempotency-Key": crypto.randomUUID(), Origin: page };
  return app(new Request("https://gateway.example/pay", { method: "POST", headers, body: "{}" }));
}

const shown = async (response: Response): Promise<readonly unknown[]> => [
  response.status,
  response.headers.get("Idempotency-Status"),
  response.headers.get("Access-Control-Allow-Origin"),
  response.headers.get("Vary"),
];

it("are readable if no shard can be reached, whether the route then fails closed or open", async () => {
  const unreachable: CallShard = () => Promise.resolve(null);
  expect(await shown(await answerIf(unreachable))).toEqual([503, "store-unavailable", PAGE, "Origin"]);
  const open = await answerIf(unreachable, { on_store_failure: "open" });
  expect(await shown(open)).toEqual([200, "unprotected", PAGE, "Origin"]);
  expect(open.headers.get("Access-Control-Expose-Headers")).toContain("Idempotency-Status");
  const unlisted = await answerIf(unreachable, { on_store_failure: "open" }, EVIL);
  expect(await shown(unlisted)).toEqual([200, "unprotected", null, "Origin"]);
});

it.each([new Error("a bug"), "no error"])("are readable if the gateway itself fails: %s", async (thrown) => {
  // eslint-disable-next-line typescript/prefer-promise-reject-errors -- anything may be thrown
  const response = await answerIf(() => Promise.reject(thrown));
  expect(await shown(response)).toEqual([503, null, PAGE, "Origin"]);
  expect(await response.json()).toMatchObject({ code: "store-unavailable" });
});
