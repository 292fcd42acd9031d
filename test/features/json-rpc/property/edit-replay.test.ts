// Over any JSON: an edited replay is the first answer but for its id, byte by byte, and its client finds its call by it. Over any cut of an event stream: the
// response that is found is the one that was sent, and no byte of another message is given.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editReplay } from "../../../../src/features/json-rpc/edit-replay.ts";
import { messageStream, EventReader } from "../../../../src/features/json-rpc/event-reader.ts";

const RUNS = { numRuns: 500 };
const encoder = new TextEncoder();

const id = fc.oneof(
  fc.integer().map(String),
  fc.string({ maxLength: 8 }).map((text) => JSON.stringify(text)),
  fc.constantFrom("7.0", '"\\u0037"', "1e3", "-0"),
);
const space = fc.constantFrom("", " ", "\n\t");
const member = fc.constantFrom("result", "error", "x", 'i"d', "Id", "jsonrpc", "été");

/** A message in which the id stands anywhere, and also deeper. */
const message = fc.record({
  before: fc.array(fc.tuple(member, fc.json({ maxDepth: 2 })), { maxLength: 3 }),
  after: fc.array(fc.tuple(member, fc.json({ maxDepth: 2 })), { maxLength: 3 }),
  id,
  space,
});

function written(
  {
    before,
    after,
    space: gap,
  }: {
    readonly before: readonly (readonly [string, string])[];
    readonly after: readonly (readonly [string, string])[];
    readonly space: string;
  },
  own: string,
): string {
  const text = ([name, value]: readonly [string, string]): string => `${JSON.stringify(name)}${gap}:${gap}${value}`;
  const nested = '"result":{"id":1,"method":"x"}';
  return `${gap}{${[...before.map(text), nested, `"id"${gap}:${gap}${own}`, ...after.map(text)].join(`,${gap}`)}${gap}}${gap}`;
}

const TO = { members: [], echo: "key", instance: "urn:uuid:1", caller: new Request("https://gateway.test") };

function edited(body: string, type: string, callId: string | null): Promise<Response> {
  const headers = { "Content-Type": type, ETag: '"a"', "Content-Digest": "sha-256=:x:", "X-Own": "kept" };
  return editReplay(new Response(body, { headers: { ...headers, "Idempotent-Replayed": "true" } }), { ...TO, callId });
}

/** By another reader. Where a name is there twice, it says nothing. */
function isResponse(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject && Object.hasOwn(value, "id") && !Object.hasOwn(value, "method") && !/"id".*"id"/.test(text);
  } catch {
    return false;
  }
}

describe("an edited replay", () => {
  it("is the first answer but for its id, for any JSON", async () => {
    await fc.assert(
      fc.asyncProperty(message, id, async (parts, callId) => {
        const answer = await edited(written(parts, parts.id), "application/json", callId);
        expect(await answer.text()).toBe(written(parts, callId));
        expect(answer.headers.get("ETag")).toBe(parts.id === callId ? '"a"' : null);
        expect(answer.headers.get("X-Own")).toBe("kept");
      }),
      RUNS,
    );
  });

  it("is the first answer, byte by byte, if that is no response to a call", async () => {
    const other = fc.oneof(
      fc.json(),
      fc.string(),
      fc
        .record({ id, method: fc.string() })
        .map(({ id: own, method }) => `{"id":${own},"method":${JSON.stringify(method)}}`),
      fc.tuple(id, id).map(([one, two]) => `{"id":${one},"id":${two}}`),
    );
    await fc.assert(
      fc.asyncProperty(other, async (text) => {
        if (isResponse(text)) return;
        const answer = await edited(text, "application/json", '"another"');
        expect(new Uint8Array(await answer.arrayBuffer())).toEqual(encoder.encode(text));
      }),
      RUNS,
    );
  });

  it("of an event stream is its response alone, under the caller's id", async () => {
    const other = fc.constantFrom(
      ": comment\n\n",
      "id: 1\ndata: \n\n",
      'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}\n\n',
      'event: message\r\ndata: {"id":9,"method":"elicitation/create"}\r\n\r\n',
      'event: ping\ndata: {"id":5,"result":{}}\n\n',
      "data: no JSON\n\n",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(other, { maxLength: 4 }),
        message,
        id,
        fc.array(other, { maxLength: 2 }),
        async (before, parts, callId, after) => {
          const text = written(parts, parts.id);
          const event = `${text
            .split("\n")
            .map((line) => `data: ${line}\n`)
            .join("")}\n`;
          const stream = [...before, event, ...after].join("");
          const answer = await edited(stream, "text/event-stream", callId);
          expect(await answer.text()).toBe(
            new TextDecoder().decode(messageStream(encoder.encode(written(parts, callId)))),
          );
        },
      ),
      RUNS,
    );
  });

  it("has the members that its route says, also in an event stream; an answer that was no result has not", async () => {
    const members = [
      { tokens: ["result", "replayed"], json: "true" },
      { tokens: ["result", "context"], json: '{"own" : 2}' },
    ];
    const text = '{"id":1,"result":{"context":{"own":1},"content":[{"text":"{\\"context\\":1}"}]}}';
    const wanted = '{"id":2,"result":{"replayed":true,"context":{"own" : 2},"content":[{"text":"{\\"context\\":1}"}]}}';
    const answer = (type: string, body: string, mark: Record<string, string>): Response =>
      new Response(body, { headers: { "Content-Type": type, ETag: '"a"', ...mark } });
    const replay = { "Idempotent-Replayed": "true" };
    const to = { ...TO, callId: "2", members };
    const json = await editReplay(answer("application/json", text, replay), to);
    expect([await json.text(), json.headers.get("ETag")]).toEqual([wanted, null]);
    const stream = await editReplay(answer("text/event-stream", `data: ${text}\n\n`, replay), to);
    expect(await stream.text()).toBe(`event: message\ndata: ${wanted}\n\n`);
    const refused = await editReplay(answer("application/json", text, {}), to);
    expect(await refused.text()).toBe(text.replace('"id":1', '"id":2'));
  });

  it("has its caller's id also if a byte order mark stands before it, which clients skip and JSON has not", async () => {
    const answer = await edited('\ufeff{"id":1,"result":{}}', "application/json", "2");
    expect(await answer.json()).toEqual({ id: 2, result: {} });
    const same = await edited('\ufeff{"id":1,"result":{}}', "application/json", "1");
    expect([same.headers.get("ETag"), [...new Uint8Array(await same.arrayBuffer())].slice(0, 4)]).toEqual([
      '"a"',
      [0xef, 0xbb, 0xbf, 0x7b],
    ]);
  });

  it("is one event also where its caller has written carriage returns, which end lines in a stream", async () => {
    const members = [{ tokens: ["result", "context"], json: '{"own"\r:\r\n2}' }];
    const headers = { "Content-Type": "text/event-stream", "Idempotent-Replayed": "true" };
    const first = new Response('data: {"id":1,"result":{"context":{}}}\n\n', { headers });
    const lines = (await (await editReplay(first, { ...TO, callId: "2", members })).text()).split(/\r\n|\r|\n/);
    const data = lines.flatMap((line) => (line.startsWith("data: ") ? [line.slice("data: ".length)] : []));
    expect(lines).toEqual(["event: message", ...data.map((line) => `data: ${line}`), "", ""]);
    expect(JSON.parse(data.join("\n"))).toEqual({ id: 2, result: { context: { own: 2 } } });
  });

  it("is the answer itself for a notification, and of any other type", async () => {
    for (const [type, callId] of [
      ["application/json", null],
      ["text/html", "8"],
    ] as const) {
      expect(await (await edited('{"id":7,"result":1}', type, callId)).text()).toBe('{"id":7,"result":1}');
    }
  });

  it("of a call is no 202, which a notification got first: its client would wait for ever", async () => {
    const first = (): Response => new Response(null, { status: 202, headers: { "Idempotent-Replayed": "true" } });
    expect(await (await editReplay(first(), { ...TO, callId: "7" })).json()).toMatchObject({
      code: "response-not-kept",
      originalStatus: 202,
    });
    expect((await editReplay(first(), { ...TO, callId: null })).status).toBe(202);
  });

  it("that is no replay, because it was refused, does not say that the operation took effect", async () => {
    const refused = new Response("x", { headers: { "Content-Type": "application/json", "Content-Encoding": "gzip" } });
    const answer = await editReplay(refused, { ...TO, callId: "7" });
    expect([answer.headers.get("retry-after"), await answer.json()]).toEqual([
      "1",
      expect.objectContaining({ code: "in-flight", retryable: true }),
    ]);
  });

  it.each([
    ["has no response", "text/event-stream", 'data: {"method":"x"}\n\n'],
    ["is larger than is read", "application/json", `{"id":1,"result":"${"x".repeat(1 << 20)}"}`],
  ])("is not given if the stored answer %s: its client would wait for ever", async (_why, type, body) => {
    const answer = await edited(body, type, "2");
    expect([answer.status, await answer.json()]).toMatchObject([
      409,
      { code: "response-not-kept", originalStatus: 200 },
    ]);
  });
});

describe("the events of a stream", () => {
  it("are the same however it is cut", () => {
    const line = fc.constantFrom(
      "data: a",
      "data:b",
      "data",
      "event: x",
      "id: 1",
      ": c",
      "",
      "",
      "other: d",
      "data: é",
    );
    const end = fc.constantFrom("\n", "\r", "\r\n");
    fc.assert(
      fc.property(
        fc.array(fc.tuple(line, end), { maxLength: 15 }),
        fc.array(fc.nat(40), { maxLength: 6 }),
        (lines, cuts) => {
          const bytes = encoder.encode(lines.map((pair) => pair.join("")).join(""));
          const whole = [...new EventReader(1000).feed(bytes)];
          const reader = new EventReader(1000);
          const places = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].toSorted(
            (a, b) => a - b,
          );
          const pieces = places
            .slice(1)
            .flatMap((to, index) => Array.from(reader.feed(bytes.subarray(places[index], to))));
          expect(pieces).toEqual(whole);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("are not held beyond the limit, however many lines an event has", () => {
    const reader = new EventReader(100);
    const lines = encoder.encode("data: y\n".repeat(100));
    const events = Array.from({ length: 100 }, () => Array.from(reader.feed(lines))).flat();
    expect(events).toEqual([]);
    expect(reader.heldBytes).toBeLessThanOrEqual(110);
    expect(Array.from(reader.feed(encoder.encode("\ndata: z\n\n")), ({ data }) => data?.byteLength ?? null)).toEqual([
      null,
      1,
    ]);
  });

  it("are not held beyond the limit", () => {
    const reader = new EventReader(100);
    const events = [
      ...reader.feed(encoder.encode(`data: ${"x".repeat(500)}\n`)),
      ...reader.feed(encoder.encode("data: y\n\ndata: z\n\n")),
    ];
    expect(events.map(({ data }) => data?.byteLength ?? null)).toEqual([null, 1]);
    expect(reader.heldBytes).toBe(0);
  });
});
