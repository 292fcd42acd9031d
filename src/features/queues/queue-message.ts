// From a queue's message to the exchange that the shard runs: the same message to a shard that an HTTP request becomes. A
// message has no headers and no caller; its scope is its queue.

import { sourceText } from "../../kernel/config/key-source.ts";
import { type Layout, layoutName } from "../../kernel/config/layout.ts";
import type { Queue } from "../../kernel/config/resolved.ts";
import type { DeadReason } from "../../kernel/record/delivery.ts";
import { laneOf } from "../../kernel/record/lanes.ts";
import type { BodyKind, MessageFacts } from "../../kernel/record/parked-message.ts";
import { attemptId, epochMs, MAX_KEY_LENGTH } from "../../kernel/record/units.ts";
import { comparisonOf } from "../../kernel/request/comparison.ts";
import { recordNames } from "../../kernel/request/read-scopes.ts";
import { findKey } from "../../kernel/request/find-key.ts";
import { fingerprintRequest } from "../../kernel/request/fingerprint.ts";
import {
  DELIVERY_HEADER,
  ECHO_HEADER,
  type HeaderPairs,
  HeaderSnapshot,
  MESSAGE_ID_HEADER,
  QUEUE_HEADER,
} from "../../kernel/request/headers.ts";
import { type BodyValues, type KeyPlaces, readBodyValues } from "../../kernel/request/key-places.ts";
import { writeKey } from "../../kernel/request/key-text.ts";
import type { ExchangeRequest, NamesIn } from "../../kernel/request/message.ts";
import { originKey } from "../../kernel/request/origin-key.ts";
import { verificationRequest, withStep } from "../../kernel/verify/verification-request.ts";
import { noteOf } from "../../kernel/notes/request-note.ts";
import { nameRecord } from "../../kernel/request/record-name.ts";
import type { ScopeValues } from "../../kernel/request/scope.ts";

/** A message as the platform delivers it. */
export interface QueueMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts: number;
  readonly body: unknown;
}

/** A message's body as it goes to the origin. */
export interface MessageBody {
  readonly bytes: Uint8Array;
  readonly type: string;
  readonly kind: BodyKind;
}

const encoder = new TextEncoder();

/** JSON for everything but text and bytes; `null` when the body has no JSON form. An event may come as text, as this gateway sends it. */
export function bodyOf({ body }: QueueMessage): MessageBody | null {
  if (typeof body === "string") {
    const type = isEventText(body) ? "application/cloudevents+json" : "text/plain;charset=utf-8";
    return { bytes: encoder.encode(body), type, kind: "text" };
  }
  // Copied, because the bytes are given away with the request, and a dead letter may need them.
  if (body instanceof ArrayBuffer) return binaryBody(new Uint8Array(body.slice(0)));
  if (body instanceof Uint8Array) return binaryBody(new Uint8Array(body));
  const text = jsonOf(body);
  if (text === null) return null;
  const type = isEvent(body) ? "application/cloudevents+json" : "application/json";
  return { bytes: encoder.encode(text), type, kind: "json" };
}

function binaryBody(bytes: Uint8Array): MessageBody {
  return { bytes, type: "application/octet-stream", kind: "bytes" };
}

/** What a dead letter says of the message. One without a JSON form has no body there. */
export function messageFactsOf({ id, attempts, timestamp }: QueueMessage, body: MessageBody | null): MessageFacts {
  return {
    messageId: id,
    deliveries: attempts,
    firstSentAt: epochMs(timestamp.getTime()),
    bodyKind: body?.kind ?? "json",
  };
}

/** An event in JSON has these attributes (CloudEvents 1.0, section "Required attributes"). */
function isEvent(body: unknown): boolean {
  return typeof body === "object" && body !== null && "specversion" in body && "source" in body && "id" in body;
}

/** The gateway's own events begin so (features/outbox/cloud-event.ts), and no other text has to be read for this. */
const BEGINS_EVENT = '{"specversion":';

function isEventText(text: string): boolean {
  if (!text.startsWith(BEGINS_EVENT)) return false;
  try {
    return isEvent(JSON.parse(text));
  } catch {
    return false;
  }
}

function jsonOf(value: unknown): string | null {
  try {
    // There is none for `undefined` and functions, although the type says so.
    const text: unknown = JSON.stringify(value);
    return typeof text === "string" ? text : null;
  } catch {
    return null;
  }
}

/** The headers that the configuration gives each message, with the values that secrets have now. */
export function configuredHeaders(
  { callHeaders: headers }: Queue,
  secret: (name: string) => string | null,
): HeaderPairs {
  return headers.map(({ name, value }) => [name, value.kind === "text" ? value.text : (secret(value.secret) ?? "")]);
}

export type ReadMessage =
  | { readonly kind: "exchange"; readonly exchange: ExchangeRequest }
  | { readonly kind: "dead"; readonly reason: Extract<DeadReason, "message-invalid" | "key-missing"> };

/**
 * Reads one message. `headers` are those that the configuration gives, with the values of secrets. `ageMs`: that by which it is decided
 * what becomes of the message, so that one that is given up has also been offered to its record.
 */
export async function readMessage(
  queue: Queue,
  message: QueueMessage,
  headers: HeaderPairs,
  ageMs: number,
): Promise<ReadMessage> {
  const body = bodyOf(message);
  if (body === null) return { kind: "dead", reason: "message-invalid" };
  const { keyFrom } = queue.route;
  const places: KeyPlaces = { headers: new HeaderSnapshot([["content-type", body.type]]), search: "" };
  const values = await readBodyValues({ keyFrom: [...keyFrom, ...queue.scopeParts] }, places.headers, body.bytes);
  const found = await findKey(queue.route, places, values);
  const scope = await scopeOf(queue, places, values);
  if (found.kind === "invalid" || scope === null) return { kind: "dead", reason: "message-invalid" };
  const key = found.kind === "key" ? found.key : queue.hasIdAsKey ? message.id : null;
  if (key === null) return { kind: "dead", reason: "key-missing" };
  return { kind: "exchange", exchange: await exchangeOf(queue, message, { body, key, scope, headers, ageMs }) };
}

/** Any text that a value can have. */
const ANY_FORM = { pattern: null, min: 1, max: MAX_KEY_LENGTH };

/**
 * Begins with a word that no part of a request's scope is called, so that no client's key names a message's record. A value that
 * is missing is one of its own. `null` when one cannot be read.
 */
async function scopeOf(queue: Queue, places: KeyPlaces, body: BodyValues): Promise<ScopeValues | null> {
  const values: (string | null)[] = ["queue", queue.queue];
  for (const part of queue.scopeParts) {
    const found = await findKey({ keyFrom: [part], keyFormat: ANY_FORM }, places, body);
    if (found.kind === "invalid") return null;
    values.push(sourceText(part), found.kind === "key" ? found.key : null);
  }
  return values;
}

interface MessageParts {
  readonly body: MessageBody;
  readonly key: string;
  readonly scope: ScopeValues;
  readonly headers: HeaderPairs;
  readonly ageMs: number;
}

async function exchangeOf(queue: Queue, message: QueueMessage, parts: MessageParts): Promise<ExchangeRequest> {
  const { route, url } = queue;
  const { body, key, scope } = parts;
  const namesIn: NamesIn = async (layout: Layout) => [await nameRecord(key, scope, layoutName(layout))];
  const { pathname, search } = new URL(url);
  const type = new HeaderSnapshot([["content-type", body.type]]);
  const [names, fingerprint, noted] = await Promise.all([
    namesIn(route.layouts.own),
    fingerprintRequest(
      { method: "POST", ...queue.target, headers: [] },
      body.bytes,
      comparisonOf(route.fingerprint, type),
    ),
    noteOf(
      route.note,
      { method: "POST", pathname, search, headers: type, scope, body: body.bytes, sizeBytes: body.bytes.byteLength },
      Date.now(),
    ),
  ]);
  const verification = verificationRequest(route, key, url, () => [
    ...parts.headers.filter(([name]) => !name.startsWith("content-")),
    ...keyHeaders(queue, key),
  ]);
  // Where the origin cannot be asked about this key, nobody waits for its answer.
  const asks = route.rules.policy.unknown !== "verify" || verification !== null;
  const isHeld = !asks || route.rules.policy.unknown === "hold";
  // Until then a message of a queue that asks the origin comes again.
  const isTooOld = parts.ageMs >= queue.giveUpAfterMs;
  return {
    head: {
      record: {
        ...recordNames(names),
        key,
        route: route.path,
        lane: laneOf(`queue ${queue.queue}`),
        ...(noted === null ? null : { note: noted.note }),
      },
      request: {
        echo: key,
        attemptId: attemptId(crypto.randomUUID()),
        fingerprint,
        sameBytes: route.fingerprint.body === "bytes",
        upload: null,
        isCached: false,
        lastEventId: null,
      },
      rules: asks ? route.rules : { ...route.rules, policy: { ...route.rules.policy, unknown: "hold" } },
      call: {
        origin: route.origin,
        method: "POST",
        url,
        headers: callHeaders(queue, message, parts),
        key: originKey(key, keyHeaders(queue, key)),
        hasBody: true,
      },
      verification,
      telemetry: { log: route.log, serverTiming: false, trace: null },
      ...(noted?.excerpt === undefined ? null : { excerpt: noted.excerpt }),
      ...(isHeld || isTooOld ? { park: true as const, message: messageFactsOf(message, body) } : null),
    },
    namesIn,
    body: body.bytes,
    rest: null,
    free: () => undefined,
  };
}

function callHeaders(queue: Queue, message: QueueMessage, { body, key, headers }: MessageParts): HeaderPairs {
  const typed = headers.some(([name]) => name === "content-type");
  return [
    ...headers,
    ...(typed ? [] : [["content-type", body.type] as const]),
    ...keyHeaders(queue, key),
    [QUEUE_HEADER, queue.queue],
    [MESSAGE_ID_HEADER, message.id],
    [DELIVERY_HEADER, String(message.attempts)],
  ];
}

/** The key as the origin gets it; it needs a quote where it is no token. */
function keyHeaders({ route: { forwardKey } }: Queue, key: string): HeaderPairs {
  switch (forwardKey.kind) {
    case "client":
      return [[ECHO_HEADER, writeKey(key)]];
    case "step":
      return [[ECHO_HEADER, writeKey(withStep(key, forwardKey.step))]];
    case "none":
      return [];
  }
}
