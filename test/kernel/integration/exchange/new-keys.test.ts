// Between the question to the rate limiter and its answer other requests run: whatever they do, what follows is decided anew.

import { expect, it } from "vitest";
import { type Fingerprint, fingerprint } from "../../../../src/kernel/record/units.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { type HeldExchanges, withExchanges } from "../../../support/integration/held-exchanges.ts";
import { again, headOf } from "../../../support/integration/shard-bench.ts";

const COUNT = { binding: "NEW_KEYS", caller: "alice" };

function limited(head: ExchangeHead = headOf()): ExchangeHead {
  return { ...head, newKeys: COUNT };
}

function asking(head: ExchangeHead, content: Fingerprint): ExchangeHead {
  return { ...head, request: { ...head.request, fingerprint: content } };
}

interface Limiter {
  /** The callers that it was asked about. */
  readonly asked: string[];
  /** Answers the oldest question. */
  readonly answer: (success: boolean) => void;
}

/** The limiter answers when the test says so. */
function holdLimiter({ world }: HeldExchanges): Limiter {
  const asked: string[] = [];
  const open: ((answer: { readonly success: boolean }) => void)[] = [];
  world.limit = (caller) => {
    asked.push(caller);
    return new Promise((resolve) => open.push(resolve));
  };
  return { asked, answer: (success) => open.shift()?.({ success }) };
}

function countCalls({ world }: HeldExchanges): { calls: number } {
  const counted = { calls: 0 };
  world.origin = () => {
    counted.calls += 1;
    return Promise.resolve(new Response("done", { status: 201 }));
  };
  return counted;
}

const statusOf = async (answer: Promise<Response>): Promise<string> => {
  const { status, headers } = await answer;
  return `${status} ${headers.get("Idempotency-Status")}`;
};

it("claims nothing before the limiter has answered, and nothing if it refuses", () =>
  withExchanges(async (exchanges) => {
    const { asked, answer } = holdLimiter(exchanges);
    const counted = countCalls(exchanges);
    const head = limited();
    const refused = exchanges.run(head);
    expect([asked, exchanges.ledger.find(head.record.id)]).toEqual([["alice"], null]);
    answer(false);
    const response = await refused;
    expect([response.status, response.headers.get("Retry-After")]).toEqual([429, "10"]);
    expect([exchanges.ledger.find(head.record.id), counted.calls]).toEqual([null, 0]);
    const allowed = exchanges.run(again(head));
    answer(true);
    expect(await statusOf(allowed)).toBe("201 first");
    expect([asked.length, counted.calls]).toEqual([2, 1]);
  }));

it("starts one attempt of all that wait for the limiter, and tells a reuse among them", () =>
  withExchanges(async (exchanges) => {
    const { asked, answer } = holdLimiter(exchanges);
    const counted = countCalls(exchanges);
    const head = limited();
    const waiting = [
      exchanges.run(head),
      exchanges.run(again(head)),
      exchanges.run(asking(again(head), fingerprint("another"))),
    ];
    answer(true);
    expect(await Promise.all(waiting.map(statusOf))).toEqual(["201 first", "409 in-flight", "422 key-reused"]);
    expect([asked, counted.calls]).toEqual([["alice"], 1]);
  }));

it("joins the record if another request has claimed the key meanwhile, whatever the limiter says", () =>
  withExchanges(async (exchanges) => {
    const { answer } = holdLimiter(exchanges);
    const counted = countCalls(exchanges);
    const head = limited();
    const waiting = exchanges.run(head);
    // From a deployment whose route limits no new keys.
    const { newKeys: _, ...unlimited } = again(head);
    expect(await statusOf(exchanges.run(unlimited))).toBe("201 first");
    answer(false);
    expect(await statusOf(waiting)).toBe("201 replayed");
    expect(counted.calls).toBe(1);
  }));

it("asks about new keys only, not about what a record says", () =>
  withExchanges(async (exchanges) => {
    const { asked, answer } = holdLimiter(exchanges);
    const statuses = [503, 503, 201];
    exchanges.world.origin = () => Promise.resolve(new Response("", { status: statuses.shift() ?? 500 }));
    const head = limited();
    const first = exchanges.run(head);
    answer(true);
    const seen = [await statusOf(first)];
    for (let tries = 0; tries < 3; tries += 1) seen.push(await statusOf(exchanges.run(again(head))));
    seen.push(await statusOf(exchanges.run(asking(again(head), fingerprint("another")))));
    expect(seen).toEqual(["503 first", "503 first", "201 first", "201 replayed", "422 key-reused"]);
    expect(asked).toHaveLength(1);
  }));
