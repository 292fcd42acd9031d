// What one object answers while the layout changes, message by message, as Workers and newer objects send them.

import { describe, expect, it } from "vitest";
import type { Layout } from "../../../../src/kernel/config/layout.ts";
import type { RecordId } from "../../../../src/kernel/record/units.ts";
import {
  answerIn,
  type ElderAnswer,
  type ElderQuestion,
  type ElderReply,
  type Hop,
  hopIn,
  type Located,
} from "../../../../src/kernel/previous-shards/hops.ts";
import {
  ASK_CALL,
  EXCHANGE_CALL,
  type ExchangeHead,
  LOCATE_CALL,
  UPLOAD_CALL,
} from "../../../../src/kernel/request/message.ts";
import { freshId, NOW } from "../../../support/integration/records.ts";
import { again, headOf, messageOf, saidBy, ShardBench } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";
import { expectThrown } from "../../../support/integration/expected-errors.ts";

silence();

const layoutOf = (shards: number): Layout => ({ shards, jurisdiction: null, locationHint: "weur" });
const [ONE, TWO, THREE] = [layoutOf(1), layoutOf(2), layoutOf(3)];

/** The head of a request for a new key, in a layout. */
function headIn(layout: Layout, more: Partial<ExchangeHead> = {}): ExchangeHead {
  return { ...headOf({ record: { id: freshId() } }), layout, ...more };
}

function post(bench: ShardBench, url: string, body: BodyInit): Promise<Response> {
  return bench.stub.fetch(url, { method: "POST", body });
}

async function ask(
  bench: ShardBench,
  recordIds: readonly RecordId[],
  next: Layout,
  more: Pick<ElderQuestion, "wantsList"> = {},
): Promise<ElderAnswer> {
  const reply: ElderReply = await (
    await post(bench, ASK_CALL.url, JSON.stringify({ recordIds, next, ...more }))
  ).json();
  return answerIn(reply);
}

async function hopOf(bench: ShardBench, head: ExchangeHead, url = EXCHANGE_CALL.url): Promise<Hop | null> {
  return hopIn(await post(bench, url, url === LOCATE_CALL.url ? JSON.stringify(head) : messageOf(head)));
}

describe("an object that is asked by a newer one", () => {
  it("seals itself once, says what it has, and lists the keys that it holds", async () => {
    const bench = new ShardBench();
    const head = headIn(ONE);
    await bench.send(messageOf(head));
    const absent = freshId();
    const held = { begin: "", hashes: head.record.id.slice(8, 16) };
    expect(await ask(bench, [absent], TWO, { wantsList: true })).toEqual({ here: false, next: TWO, elders: [], held });
    expect(await ask(bench, [absent], TWO)).toEqual({ here: false, next: TWO, elders: [], held: null });
    expect(await ask(bench, [absent, head.record.id], TWO)).toMatchObject({ here: true, next: TWO });
    // Another layout comes too late.
    expect(await ask(bench, [absent], THREE)).toMatchObject({ here: false, next: TWO });
    await bench.lose();
    expect(await ask(bench, [absent], THREE)).toMatchObject({ here: false, next: TWO });
    expect(await bench.within(({ seal }) => seal.next)).toBe(JSON.stringify(TWO));
  });

  it("says that an attempt in flight is here, and one that was lost with its object", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Promise(() => undefined);
    const head = headIn(ONE);
    const first = bench.send(messageOf(head)).catch(() => null);
    await bench.called(1);
    expect(await ask(bench, [head.record.id], TWO)).toMatchObject({ here: true });
    await bench.lose();
    await first;
    expect(await ask(bench, [head.record.id], TWO)).toMatchObject({ here: true });
  });

  it("refuses a layout that it follows itself", async () => {
    const bench = new ShardBench();
    await bench.within(({ elders }) =>
      elders.note("shard-0-of-2", { layout: JSON.stringify(TWO), next: JSON.stringify(ONE), held: null }, NOW),
    );
    await bench.evict();
    await expectThrown(ask(bench, [freshId()], TWO), "contradict each other");
    expect(await bench.within(({ seal }) => seal.next)).toBeNull();
    // One that it does not follow may seal it, and then anybody gets the answer.
    expect(await ask(bench, [freshId()], THREE)).toMatchObject({ here: false, next: THREE, elders: [TWO] });
    expect(await ask(bench, [freshId()], TWO)).toMatchObject({ here: false, next: THREE });
  });
});

describe("a sealed object", () => {
  it("sends a request for a new key on, with its own word and the elders of the request", async () => {
    const bench = new ShardBench();
    await ask(bench, [], THREE);
    const word = { layout: TWO, next: THREE };
    for (const url of [EXCHANGE_CALL.url, LOCATE_CALL.url]) {
      expect(await hopOf(bench, headIn(TWO), url)).toEqual({ kind: "moved", to: THREE, elders: [TWO], absent: [word] });
    }
    const elders = [{ layout: ONE, recordIds: [freshId()] }];
    expect(await hopOf(bench, headIn(TWO, { elders }), EXCHANGE_CALL.url)).toEqual({
      kind: "moved",
      to: THREE,
      elders: [ONE, TWO],
      absent: [word],
    });
    expect(bench.calls).toEqual([]);
  });

  it("answers for the records that it has", async () => {
    const bench = new ShardBench();
    const head = headIn(ONE);
    await bench.send(messageOf(head));
    await ask(bench, [], TWO);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, isReplay: true });
    expect(await hopOf(bench, head, LOCATE_CALL.url)).toBeNull();
  });

  it("fails a request for a new key of code that knows no hops, and sends nothing; it serves its records to it", async () => {
    const bench = new ShardBench();
    const { layout: _, ...known } = headIn(ONE);
    await bench.send(messageOf(known));
    await ask(bench, [], TWO);
    const { layout: _layout, ...unknown } = headIn(ONE);
    await expectThrown(bench.send(messageOf(unknown)), "without its layout");
    expect(await bench.send(messageOf(again(known)))).toMatchObject({ status: 201, isReplay: true });
    expect(bench.calls).toHaveLength(1);
  });

  it("discards the body of an upload that belongs elsewhere", async () => {
    const bench = new ShardBench();
    await ask(bench, [], TWO);
    const json = new TextEncoder().encode(
      JSON.stringify(
        headIn(ONE, {
          elders: [],
          request: {
            ...headOf().request,
            upload: {
              fingerprintParts: { method: "POST", path: "/", query: "", headers: [] },
              length: 3,
              maxBytes: 9,
              compare: "bytes",
            },
          },
        }),
      ),
    );
    const frame = (bytes: Uint8Array): readonly number[] => [0, 0, bytes.length >> 8, bytes.length & 255, ...bytes];
    const body = new Uint8Array([...frame(json), ...frame(new Uint8Array(3)), ...frame(new Uint8Array())]);
    expect(hopIn(await post(bench, UPLOAD_CALL.url, body))).toMatchObject({ kind: "moved", to: TWO });
    const discarded = await bench.within((_ledger, { storage }) =>
      storage.sql.exec("SELECT body FROM discarded").toArray(),
    );
    expect(discarded).toHaveLength(1);
  });
});

describe("an open object", () => {
  it("asks for the names of a key in the layouts that it knows and the request does not name", async () => {
    const bench = new ShardBench();
    await bench.within(({ elders }) =>
      elders.note("shard-0-of-1", { layout: JSON.stringify(ONE), next: JSON.stringify(TWO), held: null }, NOW),
    );
    await bench.evict();
    const head = headIn(TWO);
    expect(await hopOf(bench, head)).toEqual({ kind: "again", elders: [ONE], absent: [] });
    // The elder has said so already.
    const absent = [{ layout: ONE, next: TWO }];
    expect(
      await saidBy(await post(bench, EXCHANGE_CALL.url, messageOf({ ...head, elders: [], absent }))),
    ).toMatchObject({
      status: 201,
    });
    expect(bench.calls).toHaveLength(1);
  });

  it("asks for no names where the list of the elder tells that it does not hold the key", async () => {
    const bench = new ShardBench();
    const [listed, other] = [headIn(TWO), headIn(TWO)];
    await bench.within(({ elders }) =>
      elders.note(
        "shard-0-of-1",
        {
          layout: JSON.stringify(ONE),
          next: JSON.stringify(TWO),
          held: { begin: "", hashes: listed.record.id.slice(8, 16) },
        },
        NOW,
      ),
    );
    await bench.evict();
    expect(await hopOf(bench, listed)).toMatchObject({ kind: "again" });
    expect(await bench.send(messageOf(other))).toMatchObject({ status: 201 });
  });

  it("sends a request on to the layout for which an elder is sealed, if it does not know that layout", async () => {
    const bench = new ShardBench();
    const elders = [{ layout: ONE, recordIds: [freshId()] }];
    const absent = [{ layout: ONE, next: TWO }];
    expect(await hopOf(bench, headIn(THREE, { elders, absent }), EXCHANGE_CALL.url)).toEqual({
      kind: "moved",
      to: TWO,
      elders: [ONE],
      absent,
    });
  });

  it("asks a layout that the request has only visited if an elder is sealed for it, and otherwise not", async () => {
    const visited = { layout: THREE, recordIds: [freshId()], isVisited: true } as const;
    const elders = [{ layout: ONE, recordIds: [freshId()] }, visited];
    const locate = (next: Layout): Promise<Response> =>
      post(new ShardBench(), LOCATE_CALL.url, JSON.stringify(headIn(TWO, { elders, absent: [{ layout: ONE, next }] })));
    expect(await (await locate(TWO)).json()).toEqual({ absent: [{ layout: ONE, next: TWO }] });
    expect(hopIn(await locate(TWO))).toBeNull();
    const { absent }: Located = await (await locate(THREE)).json();
    expect(absent).toEqual([
      { layout: ONE, next: THREE },
      { layout: THREE, next: TWO },
    ]);
  });

  it("answers that it is the home of a key with all that it knows, and claims nothing", async () => {
    const bench = new ShardBench();
    const elders = [{ layout: ONE, recordIds: [freshId()] }];
    const absent = [{ layout: ONE, next: TWO }];
    const response = await post(bench, LOCATE_CALL.url, JSON.stringify(headIn(TWO, { elders, absent })));
    expect(await response.json()).toEqual({ absent });
    expect(await bench.within((_ledger, { storage }) => storage.sql.exec("SELECT id FROM records").toArray())).toEqual(
      [],
    );
  });
});
