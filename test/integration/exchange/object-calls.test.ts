import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { callItself } from "../../../src/kernel/object/object-calls.ts";
import { ShardBench } from "../support/shard-bench.ts";

it("a call of an object to itself reads the answer, since one that nobody reads would keep it in memory", async () => {
  const answer = Response.json(null);
  const namespace = { get: () => ({ fetch: () => Promise.resolve(answer) }) };
  await runInDurableObject(new ShardBench().stub, (_object, state) => callItself(state, { KEY_SHARD: namespace }));
  expect(answer.bodyUsed).toBe(true);
});
