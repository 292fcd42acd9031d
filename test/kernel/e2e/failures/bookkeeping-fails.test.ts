// A shard that cannot store its origin's address, in a real gateway on a real database: the operation took effect, its answer
// is sent, and it is not repeated. test/kernel/integration/exchange/bookkeeping.test.ts covers all other bookkeeping.

import { expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import { startOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectReplay } from "../../../support/e2e/problem.ts";
import { clientOf, removeGateway, startGateway, until } from "../../../support/e2e/scene.ts";
import { openShardDatabase } from "../../../support/e2e/shard-database.ts";

it("an operation is answered and takes effect once, though its origin's address cannot be noted", async () => {
  const origin = await startOrigin();
  const routes = [{ path: "/*", unknown: "retry", timeout: "2s", lock: "2500ms" }];
  let gateway = await startGateway(origin.url, { shards: 1 }, routes);
  try {
    // The first answer makes the shard try the address, and remember it.
    await clientOf(gateway.url).send({ path: "/first", key: freshKey() });
    const database = openShardDatabase(gateway);
    await until(() => Promise.resolve(database.countAddresses() === 1 ? true : null), "the address");
    await gateway.kill9();
    database.refuseAddresses();
    database.close();
    gateway = await gateway.restart();

    const client = clientOf(gateway.url);
    const message = { path: "/second", key: freshKey() };
    const first = await client.send(message);
    expectFirstAnswer(first, 201);
    expectReplay(await client.send(message), first);
    expect(await origin.effects(message.key)).toBe(1);
  } finally {
    await removeGateway(gateway);
    await origin.close();
  }
});
