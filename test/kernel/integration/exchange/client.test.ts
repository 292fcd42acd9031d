// `onceway/client` inside workerd: a Worker may be the client, and its `Request`, streams and signals are the runtime's own.

import { describe, expect, it } from "vitest";
import { createFetch, IdempotencyError } from "../../../../src/client/index.ts";
import { problemResponse } from "../../../../src/kernel/request/problem-response.ts";

const URL = "https://gateway.test/v1/payments";

interface Sent {
  readonly key: string | null;
  readonly body: string;
}

/** Answers with one step after the other. */
function scripted(steps: readonly (() => Response)[]) {
  const sent: Sent[] = [];
  const send = createFetch({
    firstPauseMs: 1,
    async fetch(input, init) {
      const request = new Request(input, init);
      sent.push({
        key: request.headers.get("Idempotency-Key"),
        body: new TextDecoder().decode(await request.arrayBuffer()),
      });
      const step = steps[sent.length - 1];
      if (step === undefined) throw new Error("more requests than steps");
      return step();
    },
  });
  return { sent, send };
}

const half = (): Response => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  void writer.write(new TextEncoder().encode("fir")).then(() => writer.abort(new Error("cut")));
  return new Response(readable, { status: 201 });
};
const lost = (): Response => {
  throw new Error("Network connection lost.");
};

describe("onceway/client in a Worker", () => {
  it("sends the same key and bytes until it has the whole answer", async () => {
    const { send, sent } = scripted([lost, half, () => new Response("first", { status: 201 })]);
    const form = new FormData();
    form.set("amount", "4200");
    const response = await send(URL, { method: "POST", body: form });
    expect([response.status, await response.text()]).toEqual([201, "first"]);
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map(({ key, body }) => `${key} ${body}`)).size).toBe(1);
    expect(sent[0]?.body).toContain("4200");
  });

  it("throws an error that says what is known", async () => {
    const { send } = scripted([lost, () => problemResponse({ code: "outcome-unknown", retryAfterMs: null }, "k")]);
    const end = await send(URL, { method: "POST", body: "{}" }).catch((error: unknown) => error);
    expect(end).toBeInstanceOf(IdempotencyError);
    expect(end).toMatchObject({ outcome: "unknown", tries: 2, problem: { code: "outcome-unknown" } });
  });

  it("refuses a stream, and stops when its caller aborts", async () => {
    const { send, sent } = scripted([]);
    const { readable } = new TransformStream();
    await expect(send(URL, { method: "POST", body: readable })).rejects.toThrow("cannot be sent again");
    await expect(send(URL, { method: "POST", signal: AbortSignal.abort(new Error("early")) })).rejects.toThrow("early");
    expect(sent).toEqual([]);
  });
});
