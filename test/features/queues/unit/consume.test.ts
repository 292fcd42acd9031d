// The consumer with a shard that says what the test wants: what reaches the shard, and what becomes of each message.

import { describe, expect, it, type Mock, vi } from "vitest";

import {
  type ConsumeBatch,
  type ConsumerPorts,
  type DeliveredMessage,
  queueConsumer,
} from "../../../../src/features/queues/consume.ts";
import { reportOf } from "../../../../src/features/queues/delivery-report.ts";
import type { ExchangeRequest } from "../../../../src/kernel/request/message.ts";
import { nameRecord } from "../../../../src/kernel/request/record-name.ts";
import { ExchangeReporter } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import { configOf } from "../../../kernel/unit/config/support.ts";

interface Scene {
  /** Delivers bodies in one batch; resolves with what became of each: `ack`, or the seconds of a retry. */
  deliver(bodies: readonly unknown[], message?: Partial<DeliveredMessage>): Promise<readonly (number | "ack" | null)[]>;
  readonly consume: ConsumeBatch;
  readonly requests: ExchangeRequest[];
  readonly letters: unknown[];
  readonly traffic: TrafficCounters;
  readonly flush: Mock<() => void>;
}

type Answer = Response | null | Error;

const QUEUE = {
  queue: "orders",
  to: "/in",
  dead_letter: { binding: "DEAD" },
  headers: { authorization: "secret:AUTH" },
};

function sceneOf(
  answer: (request: ExchangeRequest) => Answer,
  settings: object = {},
  send?: () => Promise<void>,
): Scene {
  const requests: ExchangeRequest[] = [];
  const letters: unknown[] = [];
  const traffic = new TrafficCounters();
  const flush = vi.fn<() => void>();
  const config = configOf({
    IDEMPOTENCY: { origin: "https://api.example" },
    QUEUES: [{ ...QUEUE, log: "none", ...settings }],
    DEAD: {},
    AUTH: "Bearer s3cret",
  });
  const ports: ConsumerPorts = {
    deliver: (_route, given) =>
      given.map(async (request) => {
        requests.push(request);
        const response = answer(request);
        if (response instanceof Error) throw response;
        return response === null ? null : reportOf(response);
      }),
    deadLetterQueue: () => ({
      send: async (letter) => {
        await send?.();
        letters.push(JSON.parse(letter));
      },
    }),
    reportAlert: () => Promise.resolve(),
    secret: (name) => (name === "AUTH" ? "Bearer s3cret" : null),
    reporter: new ExchangeReporter("worker", traffic),
    flush,
  };
  const consume = queueConsumer(config.queues, ports);
  const [{ queue } = QUEUE] = config.queues;
  return {
    consume,
    requests,
    letters,
    traffic,
    flush,
    async deliver(bodies, message = {}) {
      const ends: (number | "ack" | null)[] = bodies.map(() => null);
      const messages = bodies.map((body, index) => ({
        id: `m${index}`,
        timestamp: new Date(),
        attempts: 1,
        body,
        ack: () => (ends[index] ??= "ack"),
        retry: ({ delaySeconds }: { readonly delaySeconds: number }) => (ends[index] ??= delaySeconds),
        ...message,
      }));
      await consume({ queue, messages });
      return ends;
    },
  };
}

function answered(
  status: number,
  word: string,
  headers: Record<string, string> = {},
  body: string | ReadableStream | null = "{}",
): Response {
  return new Response(body, { status, headers: { "Idempotency-Status": word, ...headers } });
}

const DONE = (): Response => answered(201, "first");

describe("a message", () => {
  it("becomes the exchange that a request with its key would be, with the queue's headers", async () => {
    const scene = sceneOf(DONE);
    expect(await scene.deliver([{ n: 1 }], { id: "7f", attempts: 3 })).toEqual(["ack"]);
    const [request] = scene.requests;
    expect(request?.head).toMatchObject({
      record: { key: "7f", route: "queue:orders" },
      call: { method: "POST", url: "https://api.example/in", hasBody: true },
    });
    expect(Object.fromEntries(request?.head.call.headers ?? [])).toEqual({
      authorization: "Bearer s3cret",
      "content-type": "application/json",
      "Idempotency-Key": "7f",
      "onceway-queue": "orders",
      "onceway-message-id": "7f",
      "onceway-delivery": "3",
    });
    expect(new TextDecoder().decode(request?.body)).toBe('{"n":1}');
  });

  it("is the same record and the same content however its JSON is ordered", async () => {
    const scene = sceneOf(DONE);
    for (const body of [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
      { a: 1, b: 3 },
    ])
      await scene.deliver([body], { id: "7f" });
    const [first, second, third] = scene.requests.map(({ head }) => head);
    expect(second?.record.id).toBe(first?.record.id);
    expect(second?.request.fingerprint).toBe(first?.request.fingerprint);
    expect(third?.record.id).toBe(first?.record.id);
    expect(third?.request.fingerprint).not.toBe(first?.request.fingerprint);
  });

  it.each([
    ["text", "héllo", "text/plain;charset=utf-8", "héllo"],
    ["bytes", new Uint8Array([104, 105]), "application/octet-stream", "hi"],
    ["a buffer", new Uint8Array([104, 105]).buffer, "application/octet-stream", "hi"],
    ["null", null, "application/json", "null"],
  ])("may be %s", async (_what, body, type, sent) => {
    const scene = sceneOf(DONE);
    await scene.deliver([body]);
    const [request] = scene.requests;
    expect(new Map(request?.head.call.headers).get("content-type")).toBe(type);
    expect(new TextDecoder().decode(request?.body)).toBe(sent);
  });

  it.each([
    ["undefined", undefined],
    ["a big integer", { n: 1n }],
  ])("that has no form to be sent is a dead letter: %s", async (_what, body) => {
    const scene = sceneOf(DONE);
    expect(await scene.deliver([body])).toEqual(["ack"]);
    expect(scene.requests).toEqual([]);
    expect(scene.letters).toMatchObject([{ id: "orders/m0", data: { reason: "message-invalid", recordId: null } }]);
  });

  it("is acknowledged only after the whole answer", async () => {
    let pulls = 0;
    const broken = new ReadableStream({
      pull(controller) {
        pulls += 1;
        // The first bytes can be read before it breaks off.
        if (pulls === 1) controller.enqueue(new TextEncoder().encode("half"));
        else controller.error(new Error("lost"));
      },
    });
    const scene = sceneOf(() => answered(200, "first", {}, broken));
    expect(await scene.deliver([{}])).toEqual([1]);
    expect(pulls).toBe(2);
    expect(await sceneOf(() => answered(200, "replayed")).deliver([{}])).toEqual(["ack"]);
    expect(await sceneOf(() => answered(200, "attached")).deliver([{}])).toEqual(["ack"]);
    // The shard may give this head before the origin's body has ended.
    expect(await sceneOf(() => answered(205, "first", {}, null)).deliver([{}])).toEqual([1]);
    expect(await sceneOf(() => answered(205, "replayed", {}, null)).deliver([{}])).toEqual(["ack"]);
  });

  it("is acknowledged after a result that was not kept, by the status that it had", async () => {
    const notKept = (body: object) => sceneOf(() => answered(409, "response-not-kept", {}, JSON.stringify(body)));
    expect(await notKept({ originalStatus: 201 }).deliver([{}])).toEqual(["ack"]);
    expect(await notKept({}).deliver([{}])).toEqual([1]);
    const rejected = notKept({ originalStatus: 422 });
    expect(await rejected.deliver([{}])).toEqual(["ack"]);
    expect(rejected.letters).toMatchObject([{ data: { reason: "rejected", status: 422 } }]);
  });

  it("comes again after the time that the shard or the origin says, in seconds or as a date", async () => {
    const refused = (value: string) => sceneOf(() => answered(503, "first", { "Retry-After": value }));
    expect(await refused("90").deliver([{}])).toEqual([90]);
    const [seconds] = await refused(new Date(Date.now() + 120_000).toUTCString()).deliver([{}]);
    expect(seconds).toBeGreaterThan(110);
    expect(await sceneOf(() => answered(409, "in-flight", { "Retry-After": "33" })).deliver([{}])).toEqual([33]);
  });

  it("comes again if the shard cannot be reached, or says what this code does not know", async () => {
    expect(await sceneOf(() => null).deliver([{}])).toEqual([1]);
    expect(await sceneOf(() => answered(409, "word-of-the-future")).deliver([{}])).toEqual([1]);
  });
});

describe("a key", () => {
  const keyOf = async (settings: object, body: unknown): Promise<string | undefined> => {
    const scene = sceneOf(DONE, settings);
    await scene.deliver([body], { id: "7f" });
    return scene.requests[0]?.head.record.key;
  };

  it("comes from the body, in the order of the places, and last of all from the message's id", async () => {
    const key = ["cloudevent", ["json:/a", "json:/b"], "json:/order/id", "id"];
    expect(await keyOf({ key }, { order: { id: 17 } })).toBe("17");
    expect(await keyOf({ key }, { a: "x", b: "y", order: { id: 17 } })).toBe("(x:y)");
    expect(await keyOf({ key }, { specversion: "1.0", source: "/shop", id: "e1", a: "x", b: "y" })).toBe("(/shop:e1)");
    expect(await keyOf({ key }, { other: 1 })).toBe("7f");
    expect(await keyOf({ key: [{ template: "order-{json:/id}" }] }, { id: 3 })).toBe("order-3");
    expect(await keyOf({ key: ["json:/id"] }, '{"id":"in text"}')).toBe("(in%20text)");
  });

  it("is quoted for the origin where it has to be", async () => {
    const scene = sceneOf(DONE, { key: ["json:/id"] });
    await scene.deliver([{ id: "a,b" }]);
    expect(new Map(scene.requests[0]?.head.call.headers).get("Idempotency-Key")).toBe('"a,b"');
  });

  it("reaches the origin as forward_key says, and the question whether it took effect too", async () => {
    const verified = { key: ["json:/id"], unknown: "verify", verify: "/by-key/{key}" };
    const headOf = async (settings: object, id: string) => {
      const scene = sceneOf(DONE, settings);
      await scene.deliver([{ id }]);
      const head = scene.requests[0]?.head;
      if (head === undefined) throw new Error("no request");
      return { ...head, sent: new Map(head.call.headers).get("Idempotency-Key") };
    };
    const step = await headOf({ ...verified, forward_key: "charge" }, "a");
    expect(step.sent).toBe("a:charge");
    expect(step.verification).toMatchObject({ url: "https://api.example/by-key/a%3Acharge" });
    // The queue's credential, and nothing that describes the message's body.
    expect(Object.fromEntries(step.verification?.headers ?? [])).toEqual({
      authorization: "Bearer s3cret",
      "Idempotency-Key": "a:charge",
    });
    expect(step.rules.policy.unknown).toBe("verify");
    // Read as a path, this key could ask for something else: nobody is asked about it.
    const path = await headOf(verified, "../a");
    expect(path).toMatchObject({ verification: null, rules: { policy: { unknown: "hold" } } });
    expect((await headOf({ key: ["json:/id"], forward_key: "none" }, "a")).sent).toBeUndefined();
  });

  it.each([
    ["is not there", { n: 1 }, "key-missing"],
    ["is no text", { id: { n: 1 } }, "message-invalid"],
    ["is empty", { id: "" }, "message-invalid"],
  ])("that %s makes a dead letter", async (_what, body, reason) => {
    const scene = sceneOf(DONE, { key: ["json:/id"] });
    expect(await scene.deliver([body])).toEqual(["ack"]);
    expect(scene.letters).toMatchObject([{ data: { reason } }]);
    expect(scene.requests).toEqual([]);
  });

  it("means another record for each tenant and queue, and none of a client", async () => {
    const settings = { key: ["json:/id"], scope: ["json:/tenant"] };
    const scene = sceneOf(DONE, settings);
    for (const tenant of ["a", "b", undefined, "a"]) await scene.deliver([{ id: "k", tenant }]);
    const other = sceneOf(DONE, { ...settings, queue: "refunds" });
    await other.deliver([{ id: "k", tenant: "a" }]);
    const ids = [...scene.requests, ...other.requests].map(({ head }) => head.record.id);
    expect(new Set(ids).size).toBe(4);
    expect(ids[3]).toBe(ids[0]);
    expect(ids).not.toContain(await nameRecord("k", [], "64"));
    const invalid = sceneOf(DONE, settings);
    await invalid.deliver([{ id: "k", tenant: { name: "a" } }]);
    expect(invalid.letters).toMatchObject([{ data: { reason: "message-invalid" } }]);
  });
});

describe("a dead letter", () => {
  it("is a CloudEvent with the reason, the record and the body, and always has the same id", async () => {
    const scene = sceneOf(() => answered(422, "first"));
    const sentAt = new Date("2026-11-22T10:00:00Z");
    expect(await scene.deliver([{ n: 1 }], { id: "7f", attempts: 4, timestamp: sentAt })).toEqual(["ack"]);
    await scene.deliver([{ n: 1 }], { id: "7f" });
    expect(scene.letters[0]).toEqual({
      specversion: "1.0",
      id: "orders/7f",
      source: "/queues/orders",
      type: "dev.onceway.message.dead",
      time: expect.any(String),
      datacontenttype: "application/json",
      data: {
        reason: "rejected",
        detail: expect.stringContaining("status 422"),
        status: 422,
        queue: "orders",
        messageId: "7f",
        deliveries: 4,
        firstSentAt: "2026-11-22T10:00:00.000Z",
        recordId: scene.requests[0]?.head.record.id,
        contentType: "json",
        body: { n: 1 },
      },
    });
    expect(scene.letters[1]).toMatchObject({ id: "orders/7f" });
  });

  it("has bytes in base64", async () => {
    const scene = sceneOf(() => answered(422, "first"));
    await scene.deliver([new Uint8Array([0, 255])]);
    expect(scene.letters).toMatchObject([{ data: { contentType: "bytes", bodyBase64: "AP8=" } }]);
  });

  it("keeps its batch for twenty seconds, and is sent again later, if its queue does not answer", async () => {
    vi.useFakeTimers();
    const scene = sceneOf(
      () => answered(422, "first"),
      {},
      () => new Promise(() => undefined),
    );
    const delivered = scene.deliver([{ id: "a" }, { id: "b" }]);
    await vi.advanceTimersByTimeAsync(20_000);
    vi.useRealTimers();
    const ends = await delivered;
    expect(ends.every((end) => typeof end === "number" && end > 0)).toBe(true);
  });

  it("is not that of a message which becomes too old while it is handled, and was not offered to its record", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const verify = { unknown: "verify", key: ["json:/id"], verify: "/by-key/{key}", give_up: { after: "5s" } };
    const scene = sceneOf((request) => {
      vi.setSystemTime(Date.now() + 10_000);
      return request.head.park === true
        ? answered(202, "parked")
        : answered(409, "outcome-unknown", { "Retry-After": "2" });
    }, verify);
    const timestamp = new Date();
    const [afterMs] = await scene.deliver([{ id: "a" }], { timestamp });
    expect(afterMs).toBeGreaterThanOrEqual(2);
    expect(await scene.deliver([{ id: "a" }], { timestamp })).toEqual(["ack"]);
    vi.useRealTimers();
    expect(scene.letters).toEqual([]);
    expect(scene.requests.map(({ head }) => head.park)).toEqual([undefined, true]);
  });

  it("that is not accepted leaves its message in the queue", async () => {
    const scene = sceneOf(
      () => answered(409, "outcome-unknown"),
      {},
      () => Promise.reject(new Error("full")),
    );
    const silenced = vi.spyOn(console, "error").mockReturnValue();
    expect(await scene.deliver([{}])).toEqual([1]);
    silenced.mockRestore();
    expect(scene.traffic.numbers).toMatchObject([{ route: "queue:orders", counts: { deliveries: { retry: 1 } } }]);
  });

  it("without room for the body goes without it, and the message stays for the platform's dead letter queue", async () => {
    const scene = sceneOf(() => answered(422, "first"));
    expect(await scene.deliver(["x".repeat(127_500)])).toEqual([1]);
    expect(scene.letters).toMatchObject([{ id: "orders/m0", data: { reason: "rejected" } }]);
    expect(JSON.stringify(scene.letters)).not.toContain("xxx");
  });
});

describe("a batch", () => {
  it("decides each message by itself: a poisonous one harms no other", async () => {
    const scene = sceneOf(({ body }) => {
      const text = new TextDecoder().decode(body);
      if (text === '"throws"' || text === "throws") return new Error("a bug");
      return text === "reused" ? answered(422, "key-reused") : DONE();
    });
    const silenced = vi.spyOn(console, "error").mockReturnValue();
    expect(await scene.deliver([{ n: 1 }, "throws", "reused", undefined, { n: 2 }])).toEqual([
      "ack",
      1,
      "ack",
      "ack",
      "ack",
    ]);
    silenced.mockRestore();
    expect(scene.letters).toMatchObject([{ data: { reason: "message-invalid" } }, { data: { reason: "key-reused" } }]);
    const [numbers] = scene.traffic.numbers;
    expect(numbers).toMatchObject({ route: "queue:orders", counts: { deliveries: { ack: 2, retry: 1, dead: 2 } } });
    expect(scene.flush).toHaveBeenCalledOnce();
  });

  it("of a queue that is not configured is not consumed", async () => {
    expect(await sceneOf(DONE).consume({ queue: "others", messages: [] })).toBe(false);
  });
});

describe("the log", () => {
  async function linesOf(log: string): Promise<readonly string[]> {
    const lines: string[] = [];
    const silenced = [vi.spyOn(console, "warn"), vi.spyOn(console, "error")].map((spy) =>
      spy.mockImplementation((line: string) => void lines.push(line)),
    );
    const answers = [answered(201, "first"), answered(503, "first"), answered(422, "first")];
    const scene = sceneOf(() => answers.shift() ?? null, { log, key: ["json:/order"] });
    for (let delivery = 0; delivery < 3; delivery += 1) await scene.deliver([{ order: "the-key", card: "4242" }]);
    for (const spy of silenced) spy.mockRestore();
    return lines;
  }

  it("has a line for each retry and each dead letter, without the key in the body, the body or a secret", async () => {
    const lines = await linesOf("errors");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "delivery", queue: "orders", messageId: "m0", decision: "retry", answer: "503" },
      { message: "delivery", queue: "orders", messageId: "m0", decision: "dead", reason: "rejected", answer: "422" },
    ]);
    expect(lines.join()).not.toMatch(/the-key|4242|s3cret/);
  });

  it('has none with log = "none"', async () => {
    expect(await linesOf("none")).toEqual([]);
  });
});
