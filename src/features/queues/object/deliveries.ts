// Messages of one batch go to each of their shards in one call: their claims then share a commit, and the call is paid once. Each
// message is still an exchange of its own, and has its own answer. What cannot go that way goes alone, as a request does: a
// message while the layout changes, one with a larger body, and all of a call that fails.

import type { ObjectFeature, ObjectKernel, PerformedExchange } from "../../../kernel/object-feature.ts";
import { bytesBody } from "../../../kernel/body/request-body.ts";
import { type AnsweredCall, rawCall, respondToCall } from "../../../kernel/call.ts";
import { answerFromResponse, type ExchangeAnswer, problemAnswer } from "../../../kernel/object/exchange-answer.ts";
import type { ExchangeRunner } from "../../../kernel/object/exchanges.ts";
import type { ClientProblem } from "../../../kernel/record/problem.ts";
import { epochMs, keyHashOf } from "../../../kernel/record/units.ts";
import { SMALL_BYTES } from "../../../kernel/request/body.ts";
import { ECHO_HEADER, PARKED, STATUS_HEADER } from "../../../kernel/request/headers.ts";
import { type DeliveryReport, reportOf, reportOfWhole } from "../delivery-report.ts";
import {
  decodeExchange,
  encodeExchange,
  type ExchangeMessage,
  type ExchangeRequest,
  LENGTH_BYTES,
} from "../../../kernel/request/message.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import type { CallShard } from "../../../kernel/request/protect.ts";
import { isOverloaded, keysInLog, shardStub } from "../../../kernel/object/call-shard.ts";
import { shardAddressOf, type ShardAddress } from "../../../kernel/object/shard-address.ts";

/** Several messages of a queue together. */
export const DELIVERIES_CALL = rawCall("deliveries");

/** The most messages of one call: their claims are one turn, and nothing else of the object runs meanwhile. */
export const MOST_TOGETHER = 20;

/** One report for each exchange, in their order; `null` when nobody could be asked. */
export type DeliverExchanges = (
  route: Route,
  exchanges: readonly ExchangeRequest[],
) => readonly Promise<DeliveryReport | null>[];

export function exchangeDeliverer(namespace: DurableObjectNamespace, callShard: CallShard): DeliverExchanges {
  const alone = async (route: Route, exchange: ExchangeRequest): Promise<DeliveryReport | null> => {
    const response = await callShard(route, exchange);
    return response === null || response === "nowhere" ? null : reportOf(response);
  };
  return (route, exchanges) => {
    // `undefined`: it has to go alone.
    const reports = new Map<ExchangeRequest, Promise<DeliveryReport | null | undefined>>();
    for (const { address, together } of callsFor(route, exchanges)) {
      const answer = askTogether(namespace, address, together);
      for (const [index, exchange] of together.entries()) {
        reports.set(
          exchange,
          answer.then((all) => (all === null ? null : (all[index] ?? undefined))),
        );
      }
    }
    return exchanges.map(async (exchange) => {
      const report = await reports.get(exchange);
      return report === undefined ? alone(route, exchange) : report;
    });
  };
}

interface SharedCall {
  readonly address: ShardAddress;
  readonly together: readonly ExchangeRequest[];
}

/** The calls, each with the messages that share it. */
function callsFor(route: Route, exchanges: readonly ExchangeRequest[]): readonly SharedCall[] {
  const calls: { readonly address: ShardAddress; readonly together: ExchangeRequest[] }[] = [];
  const open = new Map<string, ExchangeRequest[]>();
  for (const exchange of exchanges) {
    if (route.layouts.previous.length > 0 || exchange.body.byteLength > SMALL_BYTES) continue;
    const address = shardAddressOf(exchange.head.record.id, route.layouts.own);
    const last = open.get(address.name);
    if (last !== undefined && last.length < MOST_TOGETHER) {
      last.push(exchange);
      continue;
    }
    const together = [exchange];
    open.set(address.name, together);
    calls.push({ address, together });
  }
  return calls;
}

/** Reports in the order of the messages, without those that have to go alone. `null`: nobody may be asked now. */
async function askTogether(
  namespace: DurableObjectNamespace,
  address: ShardAddress,
  exchanges: readonly ExchangeRequest[],
): Promise<readonly (DeliveryReport | null)[] | null> {
  try {
    const body = encodeAll(exchanges);
    const response = await shardStub(namespace, address).fetch(DELIVERIES_CALL.url, { method: "POST", body });
    return await response.json();
  } catch (error) {
    // Each message has its attempt's id, so whatever has begun is not begun again.
    const keys = keysInLog(exchanges.map(({ head }) => head.record.id));
    console.warn({ message: "deliveries in one call failed", ...keys, reason: String(error) });
    return isOverloaded(error) ? null : [];
  }
}

function encodeAll(exchanges: readonly ExchangeRequest[]): Uint8Array {
  const messages = exchanges.map(encodeExchange);
  const bytes = new Uint8Array(messages.reduce((sum, { byteLength }) => sum + LENGTH_BYTES + byteLength, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const message of messages) {
    view.setUint32(at, message.byteLength);
    bytes.set(message, at + LENGTH_BYTES);
    at += LENGTH_BYTES + message.byteLength;
  }
  return bytes;
}

/** Reads what `encodeAll` wrote. */
function decodeAll(bytes: Uint8Array): readonly ExchangeMessage[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: ExchangeMessage[] = [];
  for (let at = 0; at < bytes.byteLength;) {
    const beginsAt = at + LENGTH_BYTES;
    at = beginsAt + view.getUint32(at);
    // The bytes of a body are given away with its request, so each needs its own.
    messages.push(decodeExchange(bytes.slice(beginsAt, at)));
  }
  return messages;
}

function deliveryCalls(exchanges: Pick<ExchangeRunner, "deliver">): readonly AnsweredCall[] {
  return [
    respondToCall(DELIVERIES_CALL, (request) =>
      answerDeliveries(request, async ({ head, body }) => {
        const answer = await exchanges.deliver(head, bytesBody(body), request);
        return answer === null ? null : reportOfAnswer(answer);
      }),
    ),
  ];
}

/** Reads a stream to its end. */
async function reportOfAnswer(answer: ExchangeAnswer): Promise<DeliveryReport> {
  return answer.isWhole ? reportOfWhole(answer.status, (name) => answer.header(name)) : reportOf(answer.response);
}

/**
 * The object's answer to such a call, when all of its messages have theirs. `run` begins each exchange before it first waits, so
 * that all claims are one turn.
 */
async function answerDeliveries(
  request: Request,
  run: (message: ExchangeMessage) => Promise<DeliveryReport | null>,
): Promise<Response> {
  const messages = decodeAll(new Uint8Array(await request.arrayBuffer()));
  const reports = messages.map(async (message) => {
    try {
      return await run(message);
    } catch (error) {
      const keyHash = keyHashOf(message.head.record.id);
      console.error({ message: "a delivery failed", keyHash, reason: String(error) });
      return null;
    }
  });
  return Response.json(await Promise.all(reports));
}

/** Stores a message with its record, whose outcome is unknown. It is answered only when that is durable, as every write. */
function park(
  { id, head, stored }: PerformedExchange,
  refusal: ClientProblem,
  steps: ObjectKernel["steps"],
): ExchangeAnswer {
  const { request, rules, message } = head;
  const { fingerprint, echo } = request;
  const parked = message === undefined || rules.deadLetters === undefined ? null : { ...rules.deadLetters, ...message };
  const event = { type: "park", fingerprint, ...(parked === null ? null : { message: parked }) } as const;
  const { reply } = steps.take(id, event, rules.policy, epochMs(Date.now()), { request: stored });
  if (reply.type !== "parked") return problemAnswer(head, refusal);
  const headers = { [ECHO_HEADER]: echo, [STATUS_HEADER]: PARKED };
  return answerFromResponse(new Response(null, { status: 204, headers }), "outcome-unknown");
}

export function queuesObject(kernel: ObjectKernel): ObjectFeature {
  const { steps } = kernel;
  return {
    name: "queues",
    actions: { park: (exchange, refusal) => park(exchange, refusal, steps) },
    calls: deliveryCalls(kernel),
  };
}
