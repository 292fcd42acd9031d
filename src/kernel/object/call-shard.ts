// The Worker's calls to a shard. A failed call is retried with a new stub and the same attempt id: the shard runs an attempt only
// once, however often it is delivered. If all retries fail, the caller gets `null`, and nothing is sent to the origin. While the
// layout changes, an object may send the Worker on to another one (kernel/previous-shards/hops.ts), with the same request and attempt id. If that
// leads nowhere, every object was reached, so that is told apart from a failure.

import type { Call, RawCall } from "../call.ts";
import type { Layout } from "../config/layout.ts";
import { SMALL_BYTES } from "../request/body.ts";
import { endAfter } from "../request/drain.ts";
import { firstOf } from "../request/first-of.ts";
import { Contradiction, type Hop, hopIn, type Located } from "../previous-shards/hops.ts";
import { offerMessage, streamMessage } from "../request/message-stream.ts";
import {
  type ExchangeHead,
  type ExchangeRequest,
  encodeExchange,
  EXCHANGE_CALL,
  headText,
  LOCATE_CALL,
  OFFER_CALL,
  UPLOAD_CALL,
} from "../request/message.ts";
import type { Jurisdiction } from "../config/words.ts";
import type { CallShard } from "../request/protect.ts";
import { follow, MAX_HOPS } from "../previous-shards/follow-hop.ts";
import { placeOf, type ShardPlace } from "./shard-place.ts";

/** Pauses before the second and the third try: an object that was reset starts again within a few milliseconds. */
const PAUSES_MS = [50, 250];

export function shardCaller(namespace: DurableObjectNamespace): CallShard {
  /** Whether an object has sent this isolate on, so that the layout changes although the configuration does not say so. */
  let hasMoved = false;
  return async (route, exchange) => {
    let at: Addressed = { layout: route.layouts.own, exchange };
    let isLocated = exchange.rest === null || (exchange.head.elders === undefined && !hasMoved);
    try {
      for (let hops = 0; hops < MAX_HOPS; hops += 1) {
        if (!isLocated) {
          const located = await locate(namespace, at);
          isLocated = !("kind" in located);
          hasMoved ||= !isLocated;
          at = "kind" in located ? await followed(located, at) : located;
          continue;
        }
        const response = await send(namespace, at);
        const hop = hopIn(response);
        if (hop === null) return response;
        hasMoved = true;
        if (exchange.rest !== null) throw new Error("the key has moved while its body was sent");
        at = await followed(hop, at);
      }
      throw new Contradiction("the key's home was not found");
    } catch (error) {
      console.error({ message: "shard unavailable", reason: String(error) });
      return error instanceof Contradiction ? "homeless" : null;
    }
  };
}

/** A request, and the layout of the object that it goes to. */
interface Addressed {
  readonly layout: Layout;
  readonly exchange: ExchangeRequest;
}

async function followed(hop: Hop, { layout, exchange }: Addressed): Promise<Addressed> {
  const next = await follow(hop, layout, exchange.head, exchange.namesIn);
  return { layout: next.layout, exchange: withHead(exchange, next) };
}

function withHead(exchange: ExchangeRequest, changes: Partial<ExchangeHead>): ExchangeRequest {
  return { ...exchange, head: { ...exchange.head, ...changes } };
}

/** Finds out whether this object is the key's home, before a body is sent that can be sent only once. */
async function locate(namespace: DurableObjectNamespace, at: Addressed): Promise<Addressed | Hop> {
  const message = headText(at.exchange.head);
  const response = await withRetries(() => post(namespace, at, LOCATE_CALL, message));
  const hop = hopIn(response);
  if (hop !== null) return hop;
  const { absent }: Located = await response.json();
  return { ...at, exchange: withHead(at.exchange, { absent }) };
}

async function send(namespace: DurableObjectNamespace, at: Addressed): Promise<Response> {
  const { exchange } = at;
  if (exchange.rest !== null) {
    // Not retried: bytes that were read from a stream cannot be sent again.
    const { stream, taken } = streamMessage(exchange, exchange.rest);
    return endAfter(await post(namespace, at, UPLOAD_CALL, stream), taken);
  }
  if (exchange.body.byteLength > SMALL_BYTES) {
    return withRetries(() => offer(exchange, (stream) => post(namespace, at, OFFER_CALL, stream)));
  }
  const message = encodeExchange(exchange);
  return withRetries(() => post(namespace, at, EXCHANGE_CALL, message));
}

/** A stub that has failed stays broken (platform rule), so each try has its own. */
function post(
  namespace: DurableObjectNamespace,
  { layout, exchange }: Addressed,
  { url }: RawCall,
  body: BodyInit,
): Promise<Response> {
  return shardStub(namespace, placeOf(exchange.head.record.id, layout)).fetch(url, { ...OPTIONS, body });
}

/** A call that fails within this time after its body was refused is retried with the same bytes. */
const FAILING_MS = 100;

/**
 * Offers a body to the shard. Its memory is freed as soon as the shard has taken it or does not need it, so that waiting
 * duplicates hold no memory here. A call that fails after that is retried with the head alone, which is enough for everything
 * except starting an attempt.
 */
async function offer(
  exchange: ExchangeRequest,
  call: (stream: ReadableStream<Uint8Array>) => Promise<Response>,
): Promise<Response> {
  const { stream, taken } = offerMessage(exchange);
  const answer = call(stream);
  void freeAfter(exchange, taken, answer);
  return answer;
}

async function freeAfter(exchange: ExchangeRequest, taken: Promise<void>, answer: Promise<Response>): Promise<void> {
  await taken;
  // Another object may need the body after a hop.
  const isAnswer = answer.then(
    (response) => hopIn(response) === null,
    () => false,
  );
  if ((await firstOf(isAnswer, FAILING_MS)) !== false) exchange.free();
}

export async function withRetries<T>(call: () => Promise<T>): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await call();
    } catch (error) {
      if (isOverloaded(error)) throw error;
      console.warn({ message: "shard call failed, trying again", reason: String(error) });
      // Jitter.
      await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
    }
  }
  return call();
}

/** The platform's sign that more calls make it worse (Durable Objects documentation, "Error handling"). */
export function isOverloaded(error: unknown): boolean {
  return typeof error === "object" && error !== null && "overloaded" in error && error.overloaded === true;
}

/** Redirects are left to the client. If they were followed here, the origin could choose a URL of the shard. */
export const OPTIONS = { method: "POST", encodeResponseBody: "manual", redirect: "manual" } as const;

/** Asks an object by a request, which has room for long questions. */
export async function askObject<In, Out>(stub: DurableObjectStub, { url }: Call<In, Out>, question: In): Promise<Out> {
  const body = question === undefined ? null : JSON.stringify(question);
  const response = await stub.fetch(url, { ...OPTIONS, body });
  return response.json();
}

/**
 * Used for client and operator requests alike, because the first call to an object decides where the object is created. A stub
 * that has failed stays broken (platform rule), so each call needs its own.
 */
export function shardStub(
  everywhere: DurableObjectNamespace,
  { name, jurisdiction, locationHint }: ShardPlace,
): DurableObjectStub {
  const namespace = jurisdiction === null ? everywhere : everywhere.jurisdiction(jurisdiction);
  return namespace.get(idOf(everywhere, namespace, name, jurisdiction), locationHint === null ? {} : { locationHint });
}

/** By jurisdiction and name. To make an id from a name takes a keyed digest. */
const ids = new WeakMap<DurableObjectNamespace, Map<string, DurableObjectId>>();

/** Enough for all shards, unless each key has its own. */
const MAX_IDS = 1024;

function idOf(
  everywhere: DurableObjectNamespace,
  namespace: DurableObjectNamespace,
  name: string,
  jurisdiction: Jurisdiction | null,
): DurableObjectId {
  const known = ids.get(everywhere) ?? new Map<string, DurableObjectId>();
  ids.set(everywhere, known);
  const place = `${jurisdiction} ${name}`;
  const id = known.get(place) ?? namespace.idFromName(name);
  if (known.size < MAX_IDS) known.set(place, id);
  return id;
}
