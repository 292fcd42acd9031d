// The calls to a shard: of the Worker, and of another object or the shard itself. A failed call is retried with a new stub and the same attempt id: the shard runs an attempt only
// once, however often it is delivered. If all retries fail, the caller gets `null`, and nothing is sent to the origin. An object may answer that a key
// begins elsewhere (kernel/elsewhere.ts): then the next one gets the same request with the same attempt id. If that leads nowhere, every object was
// reached, so that is distinguished from a failure.

import { keyHashOf } from "../record/units.ts";
import { type JsonCall, jsonCall, type RawCall } from "../call.ts";
import type { Layout } from "../config/layout.ts";
import {
  askOwn,
  type BeginsElsewhere,
  elsewhereIn,
  type FindObject,
  isSameLayout,
  LOCATE_CALL,
  type PlacedRecord,
  type PreviousLayouts,
} from "../elsewhere.ts";
import { SMALL_BYTES } from "../request/body.ts";
import { endAfter } from "../request/drain.ts";
import { recordNames } from "../request/read-scopes.ts";
import { firstOf } from "../request/first-of.ts";
import { offerMessage, streamMessage } from "../request/message-stream.ts";
import {
  type ExchangeRequest,
  encodeExchange,
  EXCHANGE_CALL,
  type LogNames,
  logNames,
  OFFER_CALL,
  placingOf,
  UPLOAD_CALL,
} from "../request/message.ts";
import type { Jurisdiction } from "../config/words.ts";
import { type CallShard, canSendBody } from "../request/protect.ts";
import { bindingIn } from "./bindings.ts";
import { shardAddressOf, type ShardAddress } from "./shard-address.ts";

/** Pauses before the second and the third try: an object that was reset starts again within a few milliseconds. */
const PAUSES_MS = [50, 250];

export function shardCaller(namespace: DurableObjectNamespace, findObject: FindObject = askOwn): CallShard {
  /** Whether an object has answered to this isolate that a key begins elsewhere, although its configuration may not say so. */
  let hasClosed = false;
  return async ({ layouts }, exchange) => {
    const { own, previous: before } = layouts;
    const isSentOnce = exchange.rest !== null;
    const names = logNames(exchange.head);
    try {
      const response = await findObject(placingOf(exchange.head.record), layouts, async (at, previous) => {
        const addressed = { layout: at, exchange: await inLayout(exchange, at, own, previous) };
        // The request itself is the question, unless its body can be sent only once, or may not go where it does not belong.
        const isElsewhere = at.jurisdiction !== own.jurisdiction;
        if (isElsewhere || (isSentOnce && (before.length > 0 || hasClosed))) {
          const located = await locateKey(namespace, at, addressed.exchange.head, names);
          hasClosed ||= located !== null;
          if (located !== null) return located;
        }
        const given = await send(namespace, addressed);
        const elsewhere = elsewhereIn(given);
        if (elsewhere === null) return { kind: "given", given };
        hasClosed = true;
        // Without its body it would be another request.
        if (!canSendBody(exchange)) throw new Error("the key begins elsewhere since its body was sent");
        return elsewhere;
      });
      if (response === null)
        console.error({ message: "a key begins in none of the objects that were asked", ...names });
      return response ?? "nowhere";
    } catch (error) {
      console.error({ message: "shard unavailable", ...names, reason: String(error) });
      return null;
    }
  };
}

/** A request, and the layout of the object that it goes to. */
interface Addressed {
  readonly layout: Layout;
  readonly exchange: ExchangeRequest;
}

/** The request with its record's names in the layout of the object that it goes to. */
async function inLayout(
  exchange: ExchangeRequest,
  at: Layout,
  own: Layout,
  previous: PreviousLayouts | undefined,
): Promise<ExchangeRequest> {
  const isOwn = isSameLayout(at, own);
  if (isOwn && previous === undefined) return exchange;
  const { head } = exchange;
  const record = isOwn ? head.record : { ...head.record, ...recordNames(await exchange.namesIn(at)) };
  return { ...exchange, head: { ...head, record, ...(previous === undefined ? null : { previous }) } };
}

/** Asks the key's object of a layout where the key begins, before it gets the request; `null`: there, or it has a record there. */
export function locateKey(
  namespace: DurableObjectNamespace,
  at: Layout,
  { record, previous }: PlacedRecord,
  names: LogNames = { keyHash: keyHashOf(record.id) },
): Promise<BeginsElsewhere | null> {
  const { id, olderIds, placedBy, route } = record;
  const named = { id, route, ...(olderIds && { olderIds }), ...(placedBy === undefined ? null : { placedBy }) };
  const placed = { record: named, ...(previous === undefined ? null : { previous }) };
  const ask = () => askObject(shardStub(namespace, shardAddressOf(placingOf(record), at)), LOCATE_CALL, placed);
  return withRetries(ask, names);
}

async function send(namespace: DurableObjectNamespace, at: Addressed): Promise<Response> {
  const { exchange } = at;
  const names = logNames(exchange.head);
  if (exchange.rest !== null) {
    // Not retried: bytes that were read from a stream cannot be sent again.
    const { stream, taken } = streamMessage(exchange, exchange.rest);
    return endAfter(await post(namespace, at, UPLOAD_CALL, stream), taken);
  }
  if (exchange.body.byteLength > SMALL_BYTES) {
    return withRetries(() => offer(exchange, (stream) => post(namespace, at, OFFER_CALL, stream)), names);
  }
  const message = encodeExchange(exchange);
  const { timer } = exchange;
  return withRetries(() => {
    if (timer !== undefined) timer.sentMs = performance.now();
    return post(namespace, at, EXCHANGE_CALL, message);
  }, names);
}

/** A stub that has failed stays broken (platform rule), so each try has its own. */
function post(
  namespace: DurableObjectNamespace,
  { layout, exchange }: Addressed,
  { url }: RawCall,
  body: BodyInit,
): Promise<Response> {
  return shardStub(namespace, shardAddressOf(placingOf(exchange.head.record), layout)).fetch(url, { ...OPTIONS, body });
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
  // If the key begins elsewhere, another object needs the body.
  const isAnswer = answer.then(
    (response) => elsewhereIn(response) === null,
    () => false,
  );
  if ((await firstOf(isAnswer, FAILING_MS)) !== false) exchange.free();
}

/** `names`: what the call is about, for the log. */
export async function withRetries<T>(call: () => Promise<T>, names: object = {}): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await call();
    } catch (error) {
      if (isOverloaded(error)) throw error;
      console.warn({ message: "shard call failed, trying again", ...names, reason: String(error) });
      // Jitter.
      await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
    }
  }
  return call();
}

/** How a line of the log names the keys that it is about. */
export function keysInLog(ids: readonly string[]): object {
  const keyHashes = ids.map(keyHashOf);
  return keyHashes.length > 1 ? { keyHashes } : { keyHash: keyHashes[0] };
}

/** The platform's sign that more calls make it worse (Durable Objects documentation, "Error handling"). */
export function isOverloaded(error: unknown): boolean {
  return typeof error === "object" && error !== null && "overloaded" in error && error.overloaded === true;
}

/** Redirects are left to the client. If they were followed here, the origin could choose a URL of the shard. */
export const OPTIONS = { method: "POST", encodeResponseBody: "manual", redirect: "manual" } as const;

/** Asks an object by a request, which has room for long questions. */
export async function askObject<In, Out>(
  stub: DurableObjectStub,
  { url }: JsonCall<In, Out>,
  question: In,
): Promise<Out> {
  const body = question === undefined ? null : JSON.stringify(question);
  const response = await stub.fetch(url, { ...OPTIONS, body });
  return response.json();
}

/** An object calls itself, to stay in memory. */
export const ALIVE_CALL = jsonCall<void, void>("alive");

/** A request of the object to itself. Does nothing when its namespace is bound under another name. */
export async function callItself({ id }: DurableObjectState, env: Readonly<Record<string, unknown>>): Promise<void> {
  const own = bindingIn(env, "KEY_SHARD");
  // Its answer is read: a body that nobody reads would keep the object in memory for ever.
  if (own !== null) await askObject(own.get(id), ALIVE_CALL, undefined);
}

/** A question to another object. Only of an object that keeps no records, because this one would wait for that one. */
export async function askAnother<In, Out>(
  env: Readonly<Record<string, unknown>>,
  address: ShardAddress,
  call: JsonCall<In, Out>,
  question: In,
): Promise<Out> {
  const namespace = bindingIn(env, "KEY_SHARD");
  if (namespace === null) throw new TypeError("there is no Durable Object binding KEY_SHARD");
  return askObject(shardStub(namespace, address), call, question);
}

/**
 * Used for client and operator requests alike, because the first call to an object decides where the object is created. A stub
 * that has failed stays broken (platform rule), so each call needs its own.
 */
export function shardStub(
  everywhere: DurableObjectNamespace,
  { name, jurisdiction, locationHint }: ShardAddress,
): DurableObjectStub {
  const namespace = jurisdiction === null ? everywhere : everywhere.jurisdiction(jurisdiction);
  const isPlaced = locationHint !== null && locationHint !== "first-use";
  return namespace.get(idOf(everywhere, namespace, name, jurisdiction), isPlaced ? { locationHint } : {});
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
