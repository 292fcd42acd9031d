import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { callItself } from "../../../../src/kernel/object/object-calls.ts";
import { ShardBench } from "../../../support/integration/shard-bench.ts";

it("a call of an object to itself reads the answer, since one that nobody reads would keep it in memory", async () => {
  const isRead = await runInDurableObject(new ShardBench().stub, async (_object, state) => {
    const answer = Response.json(null);
    const stub = { fetch: () => Promise.resolve(answer) };
    await callItself(state, { KEY_SHARD: { get: () => stub } });
    return answer.bodyUsed;
  });
  expect(isRead).toBe(true);
});
