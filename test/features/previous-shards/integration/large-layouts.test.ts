// A change from one large layout to another, whose objects are asked by gathering objects: closed by some requests, and taken out when each object has
// said that it is empty. And what a gathering object keeps when it leaves memory.

import { ADMIN } from "../../../support/integration/operators.ts";
import { env, evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { LayoutSummary } from "../../../../src/operator/layouts.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import { layoutCloser } from "../../../../src/features/previous-shards/operator/close.ts";
import type { AllCounts } from "../../../../src/operator/operator.ts";
import { shardStub } from "../../../../src/kernel/object/call-shard.ts";
import { headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { workerKernel } from "../../../support/integration/worker-kernel.ts";
import { eventually } from "../../../support/eventually.ts";

function kernelOf(own: string, ...previous: readonly string[]) {
  const settings = { origin: "https://origin.example", shards: own, previous_shards: previous, scope: ["none"] };
  const read = readConfig({ IDEMPOTENCY: settings, ROUTES: [{ path: "/act" }] });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return workerKernel(read.config.routes);
}

/** Asks until each object has been asked: a slow machine asks few in one request. */
async function countAll({ operator }: Pick<ReturnType<typeof kernelOf>, "operator">): Promise<AllCounts> {
  for (;;) {
    const counts = await operator.counts();
    if (counts.notAsked.missing === 0) return counts;
  }
}

function letters(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(7)), (byte) => String.fromCharCode(97 + (byte % 26))).join(
    "",
  );
}

it("a large layout is closed, and may go when each of its objects has said that it is empty", async () => {
  const set = letters();
  const [own, previous] = [`2${set}`, `129${set}`];
  const kernel = kernelOf(own, previous);
  const { operator, directory } = kernel;
  const close = layoutCloser(kernel);
  const bench = new ShardBench(`shard-5-of-${previous}`);
  await bench.send(messageOf(headOf()));
  const summary = async (): Promise<LayoutSummary> => {
    const found = (await operator.counts()).layouts.find(({ layout }) => layout === previous);
    if (found === undefined) throw new Error("no layout");
    return found;
  };
  expect(await countAll(kernel)).toMatchObject({ total: { objects: 131 }, unreachable: [] });
  let left = 129;
  while (left > 0) {
    const result = await close.perform({ layout: previous }, ADMIN);
    if (result.kind !== "done") throw new Error(result.why);
    left = 129 - result.view.closed - result.view.empty;
  }
  expect(await summary()).toMatchObject({
    open: 0,
    closed: 1,
    empty: 128,
    closedFor: [own],
    mayGo: false,
    reason: "1 object still holds 1 record.",
  });
  await bench.within((ledger) => void ledger.tables.sql.exec("DELETE FROM records"));
  // What was answered is known all the same.
  for (const { address } of directory.gatherings) await evictDurableObject(shardStub(env.KEY_SHARD, address));
  await eventually(async () => expect(await summary()).toMatchObject({ empty: 129, mayGo: true }));
  // Of the record's request, which nobody asks the closed object for any more.
  const { hours } = await kernel.reader.hours(false);
  expect(hours.flatMap(({ routes }) => routes)).toMatchObject([{ route: "/act", requests: 1 }]);
});
