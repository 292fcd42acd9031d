// A trial of a queue with a shard that says what the test wants: what reaches the shard, and what is answered.

import { expect, it, vi } from "vitest";
import type { ConsumerPorts } from "../../../../src/features/queues/consume.ts";
import { MAX_MESSAGE_BYTES, queueTrials, type QueueTrialOutcome } from "../../../../src/features/queues/trial.ts";
import type { ExchangeRequest } from "../../../../src/kernel/request/message.ts";
import { ExchangeReporter } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import { configOf } from "../../../kernel/unit/config/support.ts";

const { queues } = configOf({
  IDEMPOTENCY: { origin: "https://api.example" },
  QUEUES: [{ queue: "orders", to: "/in", key: ["json:/id"], dead_letter: { binding: "DEAD" }, log: "none" }],
  DEAD: {},
});

function sceneOf(status: number): {
  readonly requests: ExchangeRequest[];
  readonly letters: unknown[];
  readonly flush: () => void;
  tryIt(body: unknown, queue?: string): Promise<QueueTrialOutcome>;
} {
  const requests: ExchangeRequest[] = [];
  const letters: unknown[] = [];
  const flush = vi.fn<() => void>();
  const ports: ConsumerPorts = {
    deliver: (_route, given) =>
      given.map((request) => {
        const word = requests.push(request) === 1 ? "first" : "replayed";
        return Promise.resolve({ status, word, retryAfterMs: null, isWhole: true, originalStatus: null });
      }),
    deadLetterQueue: () => ({ send: (letter) => Promise.resolve(letters.push(JSON.parse(letter))) }),
    reportAlert: () => Promise.resolve(),
    secret: () => null,
    reporter: new ExchangeReporter("worker", new TrafficCounters()),
    flush,
  };
  const tryQueue = queueTrials(queues, ports);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  return { requests, letters, flush, tryIt: (body, queue = "orders") => tryQueue(queue, body, "admin") };
}

it("is the same message twice, as a queue delivers it", async () => {
  const scene = sceneOf(201);
  const trial = await scene.tryIt({ id: "a", card: "4242-4242" });
  expect(trial).toMatchObject({
    kind: "tried",
    deliveries: [
      { decision: "ack", answer: "first", status: 201, reason: null, afterMs: null },
      { decision: "ack", answer: "replayed", status: 201, reason: null, afterMs: null },
    ],
  });
  const [first, second] = scene.requests.map(({ head }) => Object.fromEntries(head.call.headers));
  expect(first?.["onceway-message-id"]).toBe(second?.["onceway-message-id"]);
  expect([first?.["onceway-delivery"], second?.["onceway-delivery"]]).toEqual(["1", "2"]);
  expect(scene.flush).toHaveBeenCalledOnce();
  expect(console.warn).toHaveBeenCalledWith(expect.objectContaining({ message: "queue tried", by: "admin" }));
  expect(JSON.stringify(vi.mocked(console.warn).mock.calls)).not.toContain("4242-4242");
});

it("sends the dead letters that the consumer sends, with one id", async () => {
  const scene = sceneOf(422);
  expect(await scene.tryIt({ id: "a" })).toMatchObject({
    deliveries: [
      { decision: "dead", reason: "rejected" },
      { decision: "dead", reason: "rejected" },
    ],
  });
  const [first, second] = scene.letters;
  expect(first).toMatchObject({ id: expect.stringMatching(/^orders\//) });
  expect(second).toMatchObject({ id: Object(first).id });
});

it.each([
  ["an unknown queue", "order", { id: "a" }, { kind: "no-queue", queues: ["orders"] }],
  ["a message without a key", "orders", {}, { kind: "unusable", why: "key-missing" }],
  ["a message with a key that is none", "orders", { id: [] }, { kind: "unusable", why: "message-invalid" }],
  [
    "a message that no queue takes",
    "orders",
    "x".repeat(MAX_MESSAGE_BYTES + 1),
    { kind: "unusable", why: "too-large" },
  ],
])("does nothing for %s", async (_, queue, body, answer) => {
  const scene = sceneOf(201);
  expect(await scene.tryIt(body, queue)).toEqual(answer);
  expect([scene.requests, scene.letters]).toEqual([[], []]);
});
