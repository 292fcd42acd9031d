// A shard that hangs delays an operator for a bounded time, and withholds no other shard's answer.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { OPERATOR_CALLS } from "../../../src/kernel/object/operator-calls.ts";
import { askShards, SILENT_AFTER_MS } from "../../../src/operator/ask-shards.ts";
import { shardStub } from "../../../src/kernel/object/call-shard.ts";

it("an unreachable shard is reported after a few seconds, with the answers of the others", async () => {
  const places = Array.from({ length: 3 }, () => ({
    name: crypto.randomUUID(),
    jurisdiction: null,
    locationHint: null,
    layout: "3",
  }));
  const [one, hanging, other] = places;
  if (one === undefined || hanging === undefined || other === undefined) throw new Error("three places");
  const { promise: isOver, resolve: end } = Promise.withResolvers<null>();
  // While this runs, the object accepts no call.
  const blocked = runInDurableObject(shardStub(env.KEY_SHARD, hanging), (_instance, state) =>
    state.blockConcurrencyWhile(() => isOver),
  );
  const beganAt = Date.now();
  const asked = await askShards(env.KEY_SHARD, places, (shard) => shard(OPERATOR_CALLS).counts());
  const tookMs = Date.now() - beganAt;
  end(null);
  await blocked;
  expect(asked.map(({ shard, answer }) => [shard, answer !== null])).toEqual([
    [one.name, true],
    [hanging.name, false],
    [other.name, true],
  ]);
  expect(tookMs).toBeGreaterThanOrEqual(SILENT_AFTER_MS - 100);
  expect(tookMs).toBeLessThan(2 * SILENT_AFTER_MS);
});
