// Answers whose bodies decide, in a real object: nothing of them is sent or kept before they have been read.

import { describe, expect, it, vi } from "vitest";
import type { BodyRule } from "../../../../src/kernel/record/verdict.ts";
import { fingerprint } from "../../../../src/kernel/record/units.ts";
import { answerMemory } from "../../../../src/kernel/body/held-answer.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { asyncHead, SCHEDULE, untilState } from "../../../support/integration/accepted.ts"; // feature: accepted
import { again, headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";

const VERDICTS: readonly BodyRule[] = [
  { at: "/error", equals: ["busy"], is: "refused", statuses: ["2xx"] },
  { at: "/error", equals: ["lost"], is: "ambiguous", statuses: ["2xx"] },
];

function judgedHead(unknown: Parameters<typeof headOf>[1] = "hold", more: Partial<ExchangeHead["rules"]> = {}) {
  return headOf({ rules: { verdicts: VERDICTS, uncompressed: true, ...more } }, unknown);
}

const json = (value: unknown, init: ResponseInit = {}): Response => Response.json(value, init);

describe("an answer whose body says that the origin did not act", () => {
  it("is passed on and not kept, and the next request makes the next attempt", async () => {
    const bench = new ShardBench();
    bench.origin = (_request, number) => json(number === 1 ? { error: "busy" } : { id: number }, { status: 201 });
    const head = judgedHead();
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 201, text: '{"error":"busy"}', isReplay: false });
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "failed", attempt: { mayHaveActed: false } });
    const history = await bench.within((ledger) => ledger.find(head.record.id)?.history);
    expect(history).toMatchObject([
      { type: "attempt", verdict: "refused", reason: { kind: "body", at: "/error", status: 201 } },
    ]);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: '{"id":2}', isReplay: false });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: '{"id":2}', isReplay: true });
    expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
  });

  it("goes to everyone who has waited for it", async () => {
    const bench = new ShardBench();
    const gate = { isOpen: false };
    bench.origin = async () => {
      while (!gate.isOpen) await scheduler.wait(1);
      return json({ error: "busy" });
    };
    const head = judgedHead("hold", { duplicate: "wait", waitMs: 60_000 });
    const first = bench.send(messageOf(head));
    await bench.called(1);
    const others = [1, 2].map(() => bench.send(messageOf(again(head))));
    // One turn of the object: they wait.
    await bench.stored(head.record.id);
    gate.isOpen = true;
    for (const one of [first, ...others]) expect(await one).toMatchObject({ status: 200, text: '{"error":"busy"}' });
    expect(bench.calls).toHaveLength(1);
  });

  it("lets another request follow with after_refusal = any, which then alone has the key", async () => {
    const bench = new ShardBench();
    bench.origin = (_request, number) => json(number === 1 ? { error: "busy" } : { id: number });
    const own = judgedHead();
    const head = { ...own, rules: { ...own.rules, policy: { ...own.rules.policy, afterRefusal: "any" as const } } };
    const corrected = (): ExchangeHead => {
      const next = again(head);
      return { ...next, request: { ...next.request, fingerprint: fingerprint("corrected") } };
    };
    await bench.send(messageOf(head));
    const strict = corrected();
    expect(await bench.send(messageOf({ ...strict, rules: own.rules }))).toMatchObject({ code: "key-reused" });
    expect(await bench.send(messageOf(corrected()))).toMatchObject({ text: '{"id":2}' });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ code: "key-reused" });
    expect(await bench.send(messageOf(corrected()))).toMatchObject({ isReplay: true });
  });
});

describe("an answer whose body says that the origin may have acted", () => {
  it("is passed on, and no other attempt follows", async () => {
    const bench = new ShardBench();
    bench.origin = () => json({ error: "lost" });
    const head = judgedHead();
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 200, text: '{"error":"lost"}' });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ code: "outcome-unknown" });
    expect(bench.calls).toHaveLength(1);
  });
});

describe("an answer whose body may decide", () => {
  it("is not begun before all of it is there, and breaks off like one of which nothing was sent", async () => {
    const bench = new ShardBench();
    const gate = { isOpen: false };
    bench.origin = () =>
      new Response(
        new ReadableStream({
          type: "bytes",
          async pull(controller) {
            controller.enqueue(new TextEncoder().encode('{"error":'));
            while (!gate.isOpen) await scheduler.wait(1);
            controller.error(new Error("cut"));
          },
        }),
        { headers: { "content-type": "application/json" } },
      );
    const head = judgedHead();
    let isAnswered = false;
    const said = bench.send(messageOf(head)).finally(() => (isAnswered = true));
    await bench.called(1);
    await bench.stored(head.record.id);
    await scheduler.wait(300);
    expect(isAnswered).toBe(false);
    gate.isOpen = true;
    expect(await said).toMatchObject({ status: 502, code: "origin-dropped" });
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "unknown" });
  });

  it.each([
    ["small", 10],
    ["more than a row", 100_000],
    ["more than a chunk", 700_000],
    ["larger than is read", 1_200_000],
  ])("is kept and replayed byte for byte if it is a result: %s", async (_size, bytes) => {
    const bench = new ShardBench();
    const text = JSON.stringify({ fill: "é".repeat(bytes / 2), error: "none" });
    bench.origin = () => new Response(text, { headers: { "content-type": "application/json" } });
    const head = judgedHead("hold", { maxResponseBodyBytes: 2_000_000 });
    const first = await bench.send(messageOf(head));
    expect(first.text).toBe(text);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text, isReplay: true });
    await vi.waitUntil(() => answerMemory.heldBytes === 0);
    expect(bench.calls).toHaveLength(1);
  });

  it.each([
    ["is larger than is read", () => json({ error: "busy", fill: "x".repeat(1 << 20) })],
    ["has another type", () => new Response('{"error":"busy"}', { headers: { "content-type": "text/plain" } })],
    ["is broken JSON", () => new Response('{"error":"busy"', { headers: { "content-type": "application/json" } })],
    ["is compressed all the same", () => json({ error: "busy" }, { headers: { "content-encoding": "zstd" } })],
  ])("is the result that its status says if it %s", async (_why, answer) => {
    const bench = new ShardBench();
    bench.origin = answer;
    const head = judgedHead("hold", { maxResponseBodyBytes: 2_000_000 });
    const first = await bench.send(messageOf(head));
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: first.text, isReplay: true });
    expect(bench.calls).toHaveLength(1);
  });

  it("is the result that its status says while others take up the memory", async () => {
    const bench = new ShardBench();
    bench.origin = () => json({ error: "busy", fill: "x".repeat(50_000) });
    const lease = answerMemory.lease(Date.now());
    expect(lease.take(16 << 20)).toBe(true);
    const head = judgedHead();
    await bench.send(messageOf(head));
    lease.shrinkTo(0);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ isReplay: true });
    expect(answerMemory.heldBytes).toBe(0);
  });

  it("is asked for without a coding, whatever the client takes; any other as its client asks", async () => {
    const bench = new ShardBench();
    const asked: (string | null)[] = [];
    bench.origin = (request) => {
      asked.push(request.headers.get("accept-encoding"));
      return json({});
    };
    const headers = [["Accept-Encoding", "br, gzip"]] as const;
    const call = { ...headOf().call, headers };
    await bench.send(messageOf({ ...judgedHead(), call }));
    await bench.send(messageOf({ ...headOf(), call }));
    expect(asked).toEqual(["identity", "br, gzip"]);
  });
});

// feature: accepted begins
describe("an accepted request", () => {
  it("is tried again after an answer whose body says that the origin did not act, and has its result then", async () => {
    const bench = new ShardBench();
    bench.origin = (_request, number) => json(number === 1 ? { error: "busy" } : { id: number });
    const own = asyncHead("hold");
    const head = { ...own, rules: { ...own.rules, verdicts: VERDICTS, uncompressed: true as const } };
    await bench.send(messageOf(head));
    await untilState(bench, head, "waiting");
    const history = await bench.within((ledger) => ledger.find(head.record.id)?.history);
    expect(history).toMatchObject([{ verdict: "refused", reason: { kind: "body", at: "/error", status: 200 } }]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + SCHEDULE.longestPauseMs });
    await bench.deliverAlarm();
    await untilState(bench, head, "completed");
    vi.useRealTimers();
    expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
  });
});
// feature: accepted ends
