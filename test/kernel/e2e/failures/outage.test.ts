// When an origin goes down, only the calls in flight at that moment have an unknown outcome, also if the gateway restarts
// during the outage.

import { expect, it } from "vitest";
import { startOrigin } from "../../../support/origin.ts";
import { freshKey } from "../../../support/http.ts";
import { clientOf, removeGateway, startGateway } from "../../../support/e2e/scene.ts";
import { openShardDatabase } from "../../../support/e2e/shard-database.ts";
import { expectProblem } from "../../../support/e2e/problem.ts";

it("keeps every key free when the gateway restarts during an outage", async () => {
  const origin = await startOrigin();
  const settings = { shards: 1, timeout: "2s", lock: "3s", scope: ["none"] };
  let gateway = await startGateway(origin.url, settings, [{ path: "/*", unknown: "hold" }]);
  try {
    const client = clientOf(gateway.url);
    expect((await client.send({ path: "/payments", key: freshKey() })).status).toBe(201);
    // After the first answer the gateway tries whether a bare connection works, and remembers it.
    const database = openShardDatabase(gateway);
    await expect.poll(() => database.countAddresses()).toBe(1);
    database.close();
    await origin.stopListening();
    await gateway.kill9();
    gateway = await gateway.restart();
    const key = freshKey();
    const unreachable = { code: "origin-unreachable", status: 502, retryable: true, echo: key };
    expectProblem(await client.send({ path: "/payments", key }), unreachable);
    await origin.startListening();
    expect((await client.send({ path: "/payments", key })).status).toBe(201);
    expect(await origin.effects(key)).toBe(1);
  } finally {
    await removeGateway(gateway);
    await origin.close();
  }
});
