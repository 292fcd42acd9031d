// What an operator can do about a record while the origin is being asked what became of it: the answer that is on its way decides first.

import { expect, it, vi } from "vitest";
import { asyncHead } from "../../support/integration/accepted.ts"; // feature: accepted
import { untilState } from "../../support/integration/accepted.ts";
import { OperatedBench } from "../../support/integration/operated-bench.ts";
import { again, headOf, heldAnswer, LOCK_MS, messageOf } from "../../support/integration/shard-bench.ts";
import { silence } from "../../support/integration/silence.ts";
import { epochMs } from "../../../src/kernel/record/units.ts"; // feature: bulk
import type { ExchangeHead } from "../../../src/kernel/request/message.ts";
import { encodeMessage } from "../../../src/kernel/request/message.ts"; // feature: bulk
import { CHANGE_LISTED_CALL } from "../../../src/features/bulk/object/listed-changes.ts"; // feature: bulk

silence();

const BY = { by: "operator", reason: "the shop called" };

interface Scene {
  readonly bench: OperatedBench;
  readonly head: ExchangeHead;
  /** The origin answers the question. */
  readonly answer: (status: number) => void;
}

/** A request whose first attempt broke off, about which the origin is being asked. */
async function asked(plain: ExchangeHead = headOf({}, "verify")): Promise<Scene> {
  const bench = new OperatedBench();
  let found = 0;
  const held = heldAnswer(() => new Response(`found ${found}`, { status: found }));
  bench.origin = (request, number) => {
    if (request.method === "GET") return held.origin(request, number);
    return new Response(`answer ${number}`, { status: number === 1 ? 504 : 201 });
  };
  const verification = {
    origin: { kind: "url", url: "https://api.example" },
    url: "https://api.example/look-up",
    headers: [],
    timeoutMs: 5000,
    idleTimeoutMs: 5000,
    maxBytes: 1000,
  } as const;
  const head = { ...plain, verification };
  await bench.send(messageOf(head));
  await untilState(bench, head, "unknown");
  vi.setSystemTime(Date.now() + LOCK_MS + 1000);
  await bench.deliverAlarm();
  await bench.called(2);
  const answer = (status: number): void => {
    found = status;
    held.release();
  };
  return { bench, head, answer };
}

it.each(["release", "resolve", "forget"] as const)(
  "a %s waits for the answer that is on its way, and changes nothing about an operation that took effect",
  async (type) => {
    const { bench, head, answer } = await asked();
    const event = type === "resolve" ? { type, status: 200, ...BY } : { type, ...BY };
    const change = bench.change(head.record.id, event);
    await scheduler.wait(50);
    answer(200);
    const { why, detail } = await change;
    expect(why).toBe(type === "forget" ? "in-flight" : "completed");
    expect(detail?.record).toMatchObject({ state: "completed", status: 200 });
    await bench.deliverAlarm();
    expect(bench.calls).toEqual(["POST /act 1", "GET /look-up -"]);
  },
);

it("a release after the origin has said that it knows nothing lets the next attempt begin once", async () => {
  const { bench, head, answer } = await asked();
  const change = bench.change(head.record.id, { type: "release", ...BY });
  answer(500);
  expect((await change).why).toBeNull();
  await bench.deliverAlarm();
  expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201 });
  expect(bench.calls).toEqual(["POST /act 1", "GET /look-up -", "POST /act 2"]);
});

// feature: accepted begins
it("a release after the origin has said that it knows nothing begins the next attempt of an accepted request once", async () => {
  const { bench, head, answer } = await asked(asyncHead("verify"));
  const change = bench.change(head.record.id, { type: "release", ...BY });
  answer(500);
  expect((await change).why).toBeNull();
  await bench.deliverAlarm();
  await untilState(bench, head, "completed");
  expect(bench.calls).toEqual(["POST /act 1", "GET /look-up -", "POST /act 2"]);
});
// feature: accepted ends

// feature: bulk begins
it("a change of many records, and its preview, leave one that the origin is being asked about", async () => {
  const { bench, head, answer } = await asked();
  const { id } = head.record;
  const attempt = (await bench.stored(id))?.attempt;
  if (attempt === undefined) throw new Error("no record");
  const listed = { id, state: "unknown", attempt: attempt.number, startedAt: attempt.startedAt } as const;
  const event = { type: "release", ...BY } as const;
  for (const isPreview of [true, false]) {
    const change = { records: [listed], event, headers: [], isPreview, since: epochMs(Date.now()) };
    const message = encodeMessage({ head: change, body: new Uint8Array() });
    const response = await bench.stub.fetch(CHANGE_LISTED_CALL.url, { method: "POST", body: message });
    expect(await response.json()).toEqual(["in-flight"]);
  }
  answer(200);
  await untilState(bench, head, "completed");
  expect(bench.calls).toEqual(["POST /act 1", "GET /look-up -"]);
});
// feature: bulk ends
