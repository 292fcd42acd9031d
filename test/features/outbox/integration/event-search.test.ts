// What a search for `Last-Event-ID` costs in a real shard, in statements, and that it delays no other request.

import { expect, it } from "vitest";
import { CountedShard } from "../../../support/integration/counted-shard.ts";

const CHUNKS = 32;
const EVENT = "id: 1\ndata: a\n\n";

/** A body of 8 MiB in very short events. Only the last has its own id. */
const STREAM = `${EVENT.repeat(Math.floor((CHUNKS * 256 * 1024) / EVENT.length) - 1)}id: 2\n\n`;

async function stored(): Promise<{ readonly shard: CountedShard; readonly key: string }> {
  const shard = new CountedShard({ max_response_body: "16MiB" });
  await shard.begin();
  const key = crypto.randomUUID();
  shard.origin = () => new Response(STREAM, { headers: { "content-type": "text/event-stream" } });
  expect(await shard.send(key)).toMatchObject({ bytes: STREAM.length });
  shard.origin = () => new Response("{}", { status: 201 });
  return { shard, key };
}

const replay = (shard: CountedShard, key: string, id: string): ReturnType<CountedShard["send"]> =>
  shard.send(key, undefined, undefined, { "last-event-id": id });

it("a search reads each chunk once, and repeating it reads none", async () => {
  const { shard, key } = await stored();
  shard.take();
  expect(await replay(shard, key, "2")).toMatchObject({ bytes: 0, isReplay: true });
  const first = shard.take().statements;
  expect(await replay(shard, key, "2")).toMatchObject({ bytes: 0, isReplay: true });
  const again = shard.take().statements;
  expect(first - again).toBe(CHUNKS);
  expect(again).toBeLessThan(5);
});

it("other requests are answered during a search", async () => {
  const { shard, key } = await stored();
  const other = crypto.randomUUID();
  await shard.send(other);
  const answered: string[] = [];
  const search = replay(shard, key, "nowhere").then(() => answered.push("search"));
  // Refused because of its body: nothing is written, so the answer does not wait for the disk.
  const refusals = Array.from({ length: 3 }, async () => {
    expect(await shard.send(other, "{ }")).toMatchObject({ status: 422 });
    answered.push("other");
  });
  await Promise.all([search, ...refusals]);
  expect(answered).toEqual(["other", "other", "other", "search"]);
});
