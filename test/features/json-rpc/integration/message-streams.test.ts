// Event streams that answer calls, in a real object: a stream is a result once it has brought the response, and what that says.

import { describe, expect, it, vi } from "vitest";
import { answerMemory } from "../../../../src/kernel/body/held-answer.ts";
import type { BodyRule } from "../../../../src/kernel/record/verdict.ts";
import { EXCHANGE_CALL } from "../../../../src/kernel/request/message.ts"; // feature: verdicts
import { again, headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { eventually } from "../../../support/eventually.ts";

const VERDICTS: readonly BodyRule[] = [
  { at: "/result/resultType", equals: ["input_required"], is: "refused", statuses: ["2xx"] },
  { at: "/error/code", equals: [-32000], is: "ambiguous", statuses: ["2xx"] },
];

function callHead(more: Parameters<typeof headOf>[0] = {}) {
  const rules = { awaitsMessage: true, uncompressed: true, verdicts: VERDICTS, ...more.rules } as const;
  return headOf({ ...more, rules }, "hold");
}

const PROGRESS = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n';
const response = (body: string): string => `event: message\ndata: {"jsonrpc":"2.0","id":1,${body}}\n\n`;
const PAID = response('"result":{"paid":true}');

/** A stream in pieces, each when the gate has that many tickets. `ends`: how. */
function streamed(
  pieces: readonly string[],
  ends: "ends" | "breaks" = "ends",
  gate = { open: Number.POSITIVE_INFINITY },
) {
  let at = 0;
  const body = new ReadableStream({
    type: "bytes",
    async pull(controller) {
      while (gate.open <= at) await scheduler.wait(1);
      const piece = pieces[at];
      at += 1;
      if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      else if (ends === "breaks") controller.error(new Error("cut"));
      else {
        controller.close();
        controller.byobRequest?.respond(0);
      }
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

describe("an event stream", () => {
  it("is kept byte for byte when it has brought the response", async () => {
    const bench = new ShardBench();
    bench.origin = () => streamed([PROGRESS, PAID]);
    const head = callHead();
    expect(await bench.send(messageOf(head))).toMatchObject({ text: PROGRESS + PAID, isReplay: false });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: PROGRESS + PAID, isReplay: true });
    expect(bench.calls).toHaveLength(1);
    await vi.waitUntil(() => answerMemory.heldBytes === 0);
  });

  it("is a result when it breaks off behind the response, which nobody would send again", async () => {
    const bench = new ShardBench();
    bench.origin = () => streamed([PROGRESS, PAID, ": more\n\n"], "breaks");
    const head = callHead();
    expect((await bench.send(messageOf(head))).text).toContain(PAID);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ isReplay: true });
  });

  it("is over soon after the response, although the server keeps it open with signs of life", async () => {
    const bench = new ShardBench();
    bench.origin = () => {
      let isFirst = true;
      const body = new ReadableStream({
        type: "bytes",
        async pull(controller) {
          if (!isFirst) await scheduler.wait(50);
          controller.enqueue(new TextEncoder().encode(isFirst ? PAID : ": alive\n\n"));
          isFirst = false;
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    const head = callHead();
    expect((await bench.send(messageOf(head))).text).toContain(PAID);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ isReplay: true });
  });

  it.each([
    ["ends", "ends"],
    ["breaks off", "breaks"],
  ] as const)("that %s without the response may have acted: no other attempt follows", async (_how, ends) => {
    const bench = new ShardBench();
    bench.origin = () => streamed([PROGRESS, 'data: {"id":1,'], ends);
    const head = callHead();
    await bench.send(messageOf(head)).catch(() => undefined);
    await eventually(async () => expect(await bench.stored(head.record.id)).toMatchObject({ state: "unknown" }));
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ code: "outcome-unknown" });
    expect(bench.calls).toHaveLength(1);
  });

  // feature: verdicts begins
  it.each([
    ["at once", [response('"result":{"resultType":"input_required"}')]],
    [
      "after megabytes",
      [
        ...Array.from({ length: 30 }, () => `: ${"x".repeat(50_000)}\n\n`),
        response('"result":{"resultType":"input_required"}'),
      ],
    ],
  ])("whose response is no result is given and not kept, and the next request acts: %s", async (_when, pieces) => {
    const bench = new ShardBench();
    bench.origin = (_request, number) => streamed(number === 1 ? pieces : [PAID]);
    const head = callHead({ rules: { maxResponseBodyBytes: 10_000_000 } });
    expect((await bench.send(messageOf(head))).text).toBe(pieces.join(""));
    await eventually(async () => expect(await bench.stored(head.record.id)).toMatchObject({ state: "failed" }));
    expect(await bench.stored(head.record.id)).toMatchObject({ attempt: { mayHaveActed: false } });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: PAID, isReplay: false });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: PAID, isReplay: true });
    const left = await bench.within((_ledger, { storage }) =>
      storage.sql.exec("SELECT count(*) AS n FROM chunks").one(),
    );
    expect(left).toEqual({ n: 0 });
  });

  it("that was refused after it had begun goes to those who waited as its response alone", async () => {
    const bench = new ShardBench();
    const gate = { open: 1 };
    const refused = response('"result":{"resultType":"input_required"}');
    bench.origin = () => streamed([PROGRESS, refused], "ends", gate);
    const head = callHead({ rules: { duplicate: "wait", waitMs: 60_000 } });
    const first = bench.send(messageOf(head));
    await bench.called(1);
    const other = bench.send(messageOf(again(head)));
    await bench.stored(head.record.id);
    gate.open = 10;
    expect((await first).text).toBe(PROGRESS + refused);
    expect((await other).text).toBe(refused);
    expect(bench.calls).toHaveLength(1);
  });

  it("that was refused gives those who waited no session of the first caller", async () => {
    const bench = new ShardBench();
    const gate = { open: 0 };
    bench.origin = () => {
      const answer = streamed([response('"result":{"resultType":"input_required"}')], "ends", gate);
      answer.headers.set("mcp-session-id", "first");
      return answer;
    };
    const head = callHead({ rules: { duplicate: "wait", waitMs: 60_000, omitHeaders: ["mcp-session-id"] } });
    const ask = (message: Uint8Array): Promise<Response> =>
      bench.stub.fetch(EXCHANGE_CALL.url, { method: "POST", body: message });
    const first = ask(messageOf(head));
    await bench.called(1);
    const other = ask(messageOf(again(head)));
    await bench.stored(head.record.id);
    gate.open = 10;
    const answers = [await first, await other];
    expect(answers.map(({ headers }) => headers.get("mcp-session-id"))).toEqual(["first", null]);
    await Promise.all(answers.map((answer) => answer.text()));
  });

  it("whose response says that the outcome is open is given, and no other attempt follows", async () => {
    const bench = new ShardBench();
    bench.origin = () => streamed([response('"error":{"code":-32000}')]);
    const head = callHead();
    await bench.send(messageOf(head));
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ code: "outcome-unknown" });
  });
  // feature: verdicts ends

  it("of a route without calls is whole when it ends", async () => {
    const bench = new ShardBench();
    bench.origin = () => streamed([PROGRESS]);
    const head = headOf({}, "hold");
    await bench.send(messageOf(head));
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: PROGRESS, isReplay: true });
  });
});
