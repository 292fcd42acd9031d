// The Worker's calls to a shard. A failed call is retried with a new stub and the same attempt id: the shard runs an attempt only
// once, however often it is delivered. If all retries fail, the caller gets `null`, and nothing is sent to the origin.

import { SMALL_BYTES } from "../http/body.ts";
import { endAfter } from "../http/drain.ts";
import { firstOf } from "../http/first-of.ts";
import { offerMessage, streamMessage } from "../http/message-stream.ts";
import { type ExchangeRequest, encodeMessage, EXCHANGE_URL, OFFER_URL, UPLOAD_URL } from "../http/message.ts";
import type { Jurisdiction } from "../config/words.ts";
import type { CallShard } from "../http/protect.ts";
import { type ShardPlace, shardName } from "./shard-place.ts";

/** Pauses before the second and the third try: an object that was reset starts again within a few milliseconds. */
const PAUSES_MS = [50, 250];

export function shardCaller(namespace: DurableObjectNamespace): CallShard {
  return async (route, exchange) => {
    const { jurisdiction, locationHint } = route;
    const place = { name: shardName(exchange.head.record.id, route.shards), jurisdiction, locationHint };
    // A stub that has failed stays broken (platform rule), so each try has its own.
    const call = (url: string, body: BodyInit): Promise<Response> =>
      shardStub(namespace, place).fetch(url, { ...OPTIONS, body });
    try {
      if (exchange.rest === null && exchange.body.byteLength > SMALL_BYTES) {
        return await withRetries(() => offer(exchange, (stream) => call(OFFER_URL, stream)));
      }
      if (exchange.rest === null) {
        const message = encodeMessage(exchange);
        return await withRetries(() => call(EXCHANGE_URL, message));
      }
      // Not retried: bytes that were read from a stream cannot be sent again.
      const { stream, taken } = streamMessage(exchange, exchange.rest);
      return await endAfter(await call(UPLOAD_URL, stream), taken);
    } catch (error) {
      console.error({ message: "shard unavailable", reason: String(error) });
      return null;
    }
  };
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
  const isAnswer = answer.then(
    () => true,
    () => false,
  );
  if ((await firstOf(isAnswer, FAILING_MS)) !== false) exchange.free();
}

async function withRetries(call: () => Promise<Response>): Promise<Response> {
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
function isOverloaded(error: unknown): boolean {
  return typeof error === "object" && error !== null && "overloaded" in error && error.overloaded === true;
}

/** Redirects are left to the client. If they were followed here, the origin could choose a URL of the shard. */
const OPTIONS = { method: "POST", encodeResponseBody: "manual", redirect: "manual" } as const;

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
