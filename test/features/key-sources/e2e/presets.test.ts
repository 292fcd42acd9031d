// The routes of src/features/key-sources/README.md ("Webhooks and well-known APIs"), as they stand there, each with requests of the shape that
// its senders send: one, the same again as they repeat it (other signatures, times and counters), and another one. Effects are counted
// at the origin.

import { randomUUID } from "node:crypto";
import { parse } from "smol-toml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as v from "valibot";
import { readConfig } from "../../../../src/features/settings.ts";
import { blockWith } from "../../../support/docs.ts";
import type { GatewayVars } from "../../../support/gateway.ts";
import { type HeaderPair, headerValue } from "../../../support/http.ts";
import { expectFirstAnswer, expectReplay } from "../../../support/e2e/problem.ts";
import { type Message, type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const PAGE = "src/features/key-sources/README.md";

interface Vars {
  readonly IDEMPOTENCY?: GatewayVars["IDEMPOTENCY"];
  readonly ROUTES: GatewayVars["ROUTES"];
}

const exampleSchema = v.object({
  vars: v.custom<Vars>((vars) => typeof vars === "object" && vars !== null && "ROUTES" in vars),
});

function example(text: string): Vars {
  return v.parse(exampleSchema, parse(blockWith(PAGE, text))).vars;
}

const webhooks = example("# Webhooks in");
const apis = example("# APIs whose clients");

const JSON_LINE: HeaderPair = ["Content-Type", "application/json"];
const TEXT_LINE: HeaderPair = ["Content-Type", "text/plain; charset=UTF-8"];

/** One request of a sender: `id` says which event it is, `attempt` which try. */
type Send = (id: string, attempt: number) => Omit<Message, "path">;

const json = (body: unknown, ...headers: readonly HeaderPair[]): Omit<Message, "path"> => ({
  headers: [JSON_LINE, ...headers],
  body: JSON.stringify(body),
});

const WEBHOOKS: Readonly<Record<string, Send>> = {
  "/webhooks/stripe": (id, attempt) =>
    json(
      {
        id: `evt_${id}`,
        object: "event",
        type: "payment_intent.succeeded",
        data: { object: { id: "pi_1", object: "payment_intent", amount: 2000 } },
        request: { id: null, idempotency_key: null },
        pending_webhooks: attempt,
      },
      ["Stripe-Signature", `t=${attempt},v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd`],
    ),
  "/webhooks/github": (id) =>
    json(
      { action: "opened", issue: { id: 73464126, number: 1347 }, repository: { id: 1296269 } },
      ["X-GitHub-Delivery", id],
      ["X-GitHub-Event", "issues"],
      ["X-Hub-Signature-256", "sha256=d57c68ca6f92289e6987922ff26938930f6e66a2"],
    ),
  "/webhooks/shopify": (id, attempt) =>
    json(
      { id: 820982911946154500, email: "jon@example.com", total_price: "598.94" },
      ["X-Shopify-Topic", "orders/create"],
      ["X-Shopify-Event-Id", id],
      ["X-Shopify-Webhook-Id", randomUUID()],
      ["X-Shopify-Triggered-At", `2026-03-01T00:00:0${attempt}.000Z`],
    ),
  "/webhooks/adyen": (id, attempt) =>
    json({
      live: "false",
      notificationItems: [
        {
          NotificationRequestItem: {
            additionalData: { hmacSignature: `${attempt}coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=` },
            amount: { currency: "EUR", value: 1130 },
            eventCode: "AUTHORISATION",
            eventDate: "2026-05-06T17:15:34.121+02:00",
            merchantAccountCode: "TestMerchant",
            merchantReference: "8313842560770001",
            pspReference: id.replaceAll("-", "").slice(0, 16).toUpperCase(),
            success: "true",
          },
        },
      ],
    }),
  "/webhooks/standard": (id, attempt) =>
    json(
      { type: "contact.created", timestamp: "2026-11-03T20:26:10.344522Z", data: { id: "1f81eb52" } },
      ["webhook-id", `msg_${id}`],
      ["webhook-timestamp", String(1674087231 + attempt)],
      ["webhook-signature", `v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI${attempt}=`],
    ),
  "/webhooks/sns": (id) => ({
    headers: [TEXT_LINE, ["x-amz-sns-message-type", "Notification"]],
    body: JSON.stringify(
      { Type: "Notification", MessageId: id, TopicArn: "arn:aws:sns:us-west-2:123456789012:MyTopic" },
      null,
      2,
    ),
  }),
  "/webhooks/pubsub": (id, attempt) =>
    json({
      deliveryAttempt: attempt,
      message: {
        attributes: { key: "value" },
        data: "SGVsbG8gQ2xvdWQgUHViL1N1YiEgSGVyZSBpcyBteSBtZXNzYWdlIQ==",
        messageId: String(BigInt(`0x${id.replaceAll("-", "").slice(0, 14)}`)),
        publishTime: "2026-02-26T19:13:55.749Z",
      },
      subscription: "projects/myproject/subscriptions/mysubscription",
    }),
  "/webhooks/events": (id) =>
    json(
      { order: 17 },
      ["ce-specversion", "1.0"],
      ["ce-type", "order.created"],
      ["ce-source", "/shops/1"],
      ["ce-id", id],
    ),
  "/webhooks/kafka": (id) =>
    json({ order: 17 }, ["X-Kafka-Topic", `orders-${id}`], ["X-Kafka-Partition", "3"], ["X-Kafka-Offset", "1041"]),
};

const AUTHORIZED: HeaderPair = ["Authorization", "Bearer token"];

const APIS: Readonly<Record<string, Send>> = {
  "/v2/checkout/*": (id) => json({ intent: "CAPTURE" }, AUTHORIZED, ["PayPal-Request-Id", id]),
  "/v1/charges": (id) => ({
    headers: [AUTHORIZED, ["Content-Type", "application/x-www-form-urlencoded"], ["Idempotency-Key", id]],
    body: "amount=2000&currency=eur&source=tok_visa",
  }),
  "/v1/books/*": (id) => json({ parent: "publishers/1", book: { title: "t" }, requestId: id }, AUTHORIZED),
  "/api/orders": (id) =>
    json(
      { order: 17 },
      AUTHORIZED,
      ["Repeatability-Request-ID", id],
      ["Repeatability-First-Sent", "Tue, 03 Nov 2026 10:00:00 GMT"],
    ),
};

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 2, timeout: "2s", lock: "2500ms" }, [...webhooks.ROUTES, ...apis.ROUTES]);
});
afterAll(() => scene.close());

describe.each([
  ["webhooks", webhooks, WEBHOOKS],
  ["APIs", apis, APIS],
])("the routes of %s", (_name, vars, senders) => {
  const bodiesAt = async (path: string): Promise<readonly string[]> => {
    const requests = await scene.origin.requests();
    return requests
      .filter((request) => request.path === path)
      .map(({ body }) => Buffer.from(body?.base64 ?? "", "base64").toString());
  };

  it("are all tried here", () => {
    expect(new Set(vars.ROUTES.map(({ path }) => path))).toEqual(new Set(Object.keys(senders)));
  });

  it.each(Object.entries(senders))("%s: a repetition is replayed, another one takes effect", async (route, send) => {
    const path = route.replace("*", randomUUID());
    const [id, other] = [randomUUID(), randomUUID()];
    const [message, again, another] = [send(id, 1), send(id, 2), send(other, 1)];
    const first = await scene.send({ path, ...message });
    expectFirstAnswer(first, 201);
    expectReplay(await scene.send({ path, ...again }), first);
    expectFirstAnswer(await scene.send({ path, ...another }), 201);
    expect(await bodiesAt(path)).toEqual([message.body, another.body]);
  });
});

it("are loose for themselves alone: another route of their gateway is as strict as ever", () => {
  expect([webhooks.IDEMPOTENCY, apis.IDEMPOTENCY]).toEqual([undefined, undefined]);
  const read = readConfig({ ROUTES: [...webhooks.ROUTES, { path: "/v1/payments" }] });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  expect(read.config.routes.at(-1)).toMatchObject({
    scope: [{ kind: "header", name: "authorization" }, { kind: "host" }],
    fingerprint: { body: "bytes" },
    rules: { policy: { unknown: "hold" } },
  });
});

describe("webhooks of several senders, some of which the handler does not accept", () => {
  it("never share a key, whatever one sender puts into it", async () => {
    const keyOf = async (path: string, message: Omit<Message, "path">): Promise<string> => {
      const answer = await scene.send({ path, ...message });
      expectFirstAnswer(answer, 201);
      return headerValue(answer, "idempotency-key") ?? "";
    };
    const id = randomUUID();
    for (const [path, send] of Object.entries(WEBHOOKS)) {
      const name = path.slice("/webhooks/".length);
      expect(await keyOf(path, send(id, 1))).toMatch(new RegExp(`^\\(${name}:`));
    }
    const [subscription, messageId] = [`projects/p/subscriptions/${id}`, "17"];
    const event = json({}, ["ce-specversion", "1.0"], ["ce-source", subscription], ["ce-id", messageId]);
    await keyOf("/webhooks/events", event);
    await keyOf("/webhooks/pubsub", json({ subscription, message: { messageId } }));
  });

  it("with a wrong signature do not take the key from the real one", async () => {
    const message = WEBHOOKS["/webhooks/stripe"]?.(randomUUID(), 1);
    const forged = await scene.send({ path: "/webhooks/stripe", ...message, behave: { status: 401, effect: false } });
    expect(forged.status).toBe(401);
    expectFirstAnswer(await scene.send({ path: "/webhooks/stripe", ...message }), 201);
  });

  it("because it failed are tried again", async () => {
    const message = WEBHOOKS["/webhooks/stripe"]?.(randomUUID(), 1);
    const failed = await scene.send({ path: "/webhooks/stripe", ...message, behave: { status: 500, effect: false } });
    expect(failed.status).toBe(500);
    const repeat = async () => {
      const answer = await scene.send({ path: "/webhooks/stripe", ...message });
      return answer.status === 409 ? null : answer;
    };
    expectFirstAnswer(await until(repeat, "the lock ends"), 201);
  });
});
