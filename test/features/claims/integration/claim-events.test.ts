// feature: outbox begins
// The events of claims in a real shard (guarantee G11): what a consumer completes is published in the commit of its completion, and
// nothing else is.

import { describe, expect, it, vi } from "vitest";
import type { ClaimAct } from "../../../../src/features/claims/claim-message.ts";
import { encodeMessage } from "../../../../src/kernel/request/message.ts";
import { CHANGE_CALL, type ChangeAnswer } from "../../../../src/kernel/object/operator-calls.ts";
import { CLAIM_LOCK_MS, ClaimBench, claimAct, entryOf, tryOf } from "./claim-bench.ts";
import { Hooks, untilLeft } from "../../outbox/integration/hooks.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";

standStill(["error"]);

const PUBLISH = [{ to: "one", type: "charged", when: ["2xx"], data: "response", step: "shipping" }] as const;

function scene(unknown: "hold" | "retry" = "hold"): { readonly bench: ClaimBench; readonly hooks: Hooks } {
  const bench = new ClaimBench(unknown, { publish: PUBLISH });
  return { bench, hooks: new Hooks(bench) };
}

describe("a completed claim", () => {
  it("has one event, with what the consumer gave, however often it is completed", async () => {
    const { bench, hooks } = scene();
    const one = tryOf();
    await bench.claim(one);
    expect(await bench.complete(one, { charged: 5 })).toEqual({ state: "settled" });
    expect(await bench.complete(one, { charged: 6 })).toEqual({ state: "settled" });
    await untilLeft(bench, 0);
    expect(hooks.received).toMatchObject([
      {
        hook: "one",
        event: {
          source: "onceway:claims:billing",
          type: "charged",
          subject: one.id,
          attempt: 1,
          idempotencykey: "key:shipping",
          data: { status: 200, contentType: "application/json", body: { charged: 5 } },
        },
      },
    ]);
  });

  it("without a result has an event with an empty body", async () => {
    const { bench, hooks } = scene();
    const one = tryOf();
    await bench.claim(one);
    await bench.complete(one);
    await untilLeft(bench, 0);
    expect(hooks.received).toMatchObject([{ event: { data: { status: 204, contentType: null, body: "" } } }]);
  });

  it("has events of its own, also if its consumer has used the attempt's id before", async () => {
    const { bench, hooks } = scene();
    const [one, other] = [tryOf(), tryOf()];
    for (const each of [one, { ...one, id: other.id }]) {
      await bench.claim(each);
      await bench.complete(each, 1);
    }
    await untilLeft(bench, 0);
    expect(new Set(hooks.received.map(({ id }) => id)).size).toBe(2);
  });

  it("keeps its event with its result, and the position, if nothing can be sent", async () => {
    const { bench, hooks } = scene();
    hooks.answer = () => new Response(null, { status: 500 });
    const one = tryOf();
    const position = { stream: "orders", partition: 0, offset: 4 };
    const ask = (act: ClaimAct): Promise<unknown> => bench.ask(entryOf(one, act, { position }));
    await ask(claimAct());
    await ask({ verb: "complete", result: "7" });
    await bench.lose();
    await untilLeft(bench, 1);
    expect(await bench.claim(tryOf(one.id))).toMatchObject({ state: "completed", result: 7 });
  });
});

describe("a claim that is not completed", () => {
  it("has no event: released, unknown, taken over, or late", async () => {
    const { bench, hooks } = scene("retry");
    const [free, uncertain, late] = [tryOf(), tryOf(), tryOf()];
    for (const one of [free, uncertain, late]) await bench.claim(one);
    await bench.release(free, "none");
    await bench.release(uncertain, "unknown");
    vi.setSystemTime(Date.now() + CLAIM_LOCK_MS + 1);
    expect(await bench.claim(tryOf(late.id))).toMatchObject({ state: "granted", attempt: 2 });
    expect(await bench.complete(late, "too late")).toEqual({ state: "superseded" });
    expect(hooks.received).toEqual([]);
    expect(await bench.within((ledger) => new OutboxStore(ledger.tables).events.exists)).toBe(false);
  });

  it("has the event of what an operator says instead", async () => {
    const { bench, hooks } = scene();
    const one = tryOf();
    await bench.claim(one);
    await bench.release(one, "unknown");
    const event = { type: "resolve", by: "me", reason: "seen in the ledger", status: 200 } as const;
    const head = { id: one.id, event, headers: [["content-type", "application/json"]] };
    const body = encodeMessage({ head, body: new TextEncoder().encode('{"charged":5}') });
    const changed: ChangeAnswer = await (await bench.stub.fetch(CHANGE_CALL.url, { method: "POST", body })).json();
    expect(changed.why).toBeNull();
    await untilLeft(bench, 0);
    expect(hooks.received).toMatchObject([{ event: { data: { status: 200, body: { charged: 5 } } } }]);
  });
});
// feature: outbox ends
