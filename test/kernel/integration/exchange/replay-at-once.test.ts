// A replay of which all has been read with its record is given in the turn of its decision, every other one later. A client that
// names an event in an answer that has none gets the same replay the longer way, so both can be compared.

import fc from "fast-check";
import { expect, it } from "vitest";
import { type ExchangeHead, EXCHANGE_CALL } from "../../../../src/kernel/request/message.ts";
import { again, headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";

const text = fc.string({ unit: fc.constantFrom("a", "Z", "0", "-"), minLength: 1, maxLength: 8 });
const answers = fc.record({
  status: fc.constantFrom(200, 201, 204, 304, 404, 500),
  statusText: fc.oneof(fc.constant(""), text),
  headers: fc.array(fc.tuple(fc.constantFrom("X-One", "x-two", "Set-Cookie", "Content-Type"), text), { maxLength: 5 }),
  // Also more than a row holds, and more than is read with it.
  bytes: fc.constantFrom(0, 1, 300, 600, 17_000),
  omitHeaders: fc.subarray(["x-one", "set-cookie"]),
});

async function shown(response: Response): Promise<unknown> {
  const { status, statusText, headers } = response;
  return { status, statusText, headers: [...headers], body: [...new Uint8Array(await response.arrayBuffer())] };
}

it("a replay at once is the same as one that is not, and neither changes the record or calls the origin", async () => {
  const bench = new ShardBench();
  const send = async (head: ExchangeHead): Promise<unknown> =>
    shown(await bench.stub.fetch(EXCHANGE_CALL.url, { method: "POST", body: messageOf(head) }));
  await fc.assert(
    fc.asyncProperty(answers, async ({ status, statusText, headers, bytes, omitHeaders }) => {
      const hasNoBody = status === 204 || status === 304;
      bench.origin = () =>
        new Response(hasNoBody ? null : new Uint8Array(bytes).fill(bytes), { status, statusText, headers });
      const head = headOf({ rules: { omitHeaders } });
      await send(head);
      const record = await bench.stored(head.record.id);
      const calls = bench.calls.length;
      const later = again(head);
      const resumed = { ...later, request: { ...later.request, lastEventId: "1" } };
      expect(await send(again(head))).toEqual(await send(resumed));
      expect(await bench.stored(head.record.id)).toEqual(record);
      expect(bench.calls).toHaveLength(calls);
    }),
    { numRuns: 60 },
  );
});

it("a small replay is marked for the Worker's cache where that may keep it", async () => {
  const bench = new ShardBench();
  const head = headOf();
  await bench.send(messageOf(head));
  const isMarked = async (request: Partial<ExchangeHead["request"]>): Promise<boolean> => {
    const later = again(head);
    const body = messageOf({ ...later, request: { ...later.request, isCached: true, ...request } });
    const response = await bench.stub.fetch(EXCHANGE_CALL.url, { method: "POST", body });
    await response.arrayBuffer();
    return response.headers.has("Idempotency-Small");
  };
  expect([await isMarked({}), await isMarked({ isCached: false }), await isMarked({ lastEventId: "1" })]).toEqual([
    true,
    false,
    false,
  ]);
});

it("a short response over the limit of stored ones goes to the bucket", async () => {
  const bench = new ShardBench();
  bench.origin = () => new Response("x".repeat(100), { headers: { "Content-Length": "100" } });
  const kindWith = async (maxResponseBodyBytes: number): Promise<string | undefined> => {
    const call = { ...headOf().call, origin: { kind: "url", url: "https://api.example" } } as const;
    const head = headOf({ call, rules: { maxResponseBodyBytes } });
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 200 });
    return bench.within((ledger) => ledger.find(head.record.id)?.response?.body.kind);
  };
  expect([await kindWith(100), await kindWith(99)]).toEqual(["inline", "remote"]);
});
