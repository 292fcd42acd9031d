// Sends events to their destination: a queue takes a batch, a webhook one at a time, signed after Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks, version 1.0.0). Never rejects: a failure is an answer. What is sent is the text
// that is stored: read and written anew, large numbers would lose digits, and 1e20 would grow beyond what a queue takes.

import type { Destination } from "../../kernel/config/resolved.ts";
import { type TryFailure, LONGEST_PAUSE_MS, type TryResult } from "../../kernel/record/outbox.ts";
import { isSuccessStatus } from "../../kernel/record/verdict.ts";
import { base64Text } from "../../kernel/request/digest.ts";
import { firstOf } from "../../kernel/request/first-of.ts";
import { retryAfterIn } from "../../kernel/request/headers.ts";

/** What is sent of an event. */
export interface OutgoingEvent {
  readonly id: string;
  /** JSON. */
  readonly event: string;
}

/** Where events are sent. */
export type EventReceiver = Pick<Destination, "target">;

type Env = Readonly<Record<string, unknown>>;

/** How long a webhook, or a queue, may take to answer. */
const ANSWER_MS = 20_000;

/** The most that one call takes: the platform's limits for a batch are 100 messages and 256 KB with its own data. */
export function batchOf({ target }: EventReceiver): { readonly events: number; readonly bytes: number } {
  return target.kind === "queue" ? { events: 100, bytes: 250_000 } : { events: 1, bytes: 0 };
}

export async function sendEvents(
  { target }: EventReceiver,
  events: readonly OutgoingEvent[],
  env: Env,
  now: Date,
): Promise<TryResult> {
  try {
    if (target.kind === "queue") return await sendBatch(target.binding, events, env);
    for (const event of events) {
      const sent = await post(target.url, event, await signaturesOf(target.secrets, event, env, now), now);
      if (sent.kind === "failed") return sent;
    }
    return ACCEPTED;
  } catch (error) {
    return failed(String(error));
  }
}

const ACCEPTED: TryResult = { kind: "accepted" };

function failed(reason: string, failure: Partial<TryFailure> = {}): TryResult {
  return { kind: "failed", reason, retryAfterMs: null, scope: "destination", ...failure };
}

interface QueuedEvent {
  readonly body: string;
  readonly contentType: "text";
}

/** What events need of a queue's producer binding. */
interface EventQueue {
  sendBatch(messages: readonly QueuedEvent[]): Promise<unknown>;
}

function isEventQueue(binding: unknown): binding is EventQueue {
  return typeof binding === "object" && binding !== null;
}

async function sendBatch(name: string, events: readonly OutgoingEvent[], env: Env): Promise<TryResult> {
  const queue = env[name];
  if (!isEventQueue(queue)) return failed(`the binding ${name} does not exist`);
  const sending = queue.sendBatch(events.map(({ event }) => ({ body: event, contentType: "text" })));
  // What it refuses may be this batch: its answer says nothing about others.
  const sent = sending.then(
    () => ACCEPTED,
    (error: unknown) => failed(String(error), { scope: "lane" }),
  );
  // A queue's binding has no time limit of its own, and one call that hangs would keep its destination for ever.
  return (await firstOf(sent, ANSWER_MS)) ?? failed(`no answer within ${ANSWER_MS / 1000} s`);
}

/** One for each secret, so that a receiver may have any of them while they change. Rejects when a secret is missing or unusable. */
async function signaturesOf(
  names: readonly string[],
  { id, event }: OutgoingEvent,
  env: Env,
  now: Date,
): Promise<string> {
  const signed = new TextEncoder().encode(`${id}.${timestampOf(now)}.${event}`);
  const signatures = names.map(async (name) => {
    const secret = env[name];
    if (typeof secret !== "string") throw new Error(`the secret ${name} does not exist`);
    const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (character) => character.charCodeAt(0));
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return `v1,${base64Text(new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)))}`;
  });
  return (await Promise.all(signatures)).join(" ");
}

function timestampOf(now: Date): string {
  return String(Math.floor(now.getTime() / 1000));
}

async function post(url: string, { id, event }: OutgoingEvent, signatures: string, now: Date): Promise<TryResult> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/cloudevents+json",
      "user-agent": "Onceway",
      "webhook-id": id,
      "webhook-timestamp": timestampOf(now),
      "webhook-signature": signatures,
    },
    body: event,
    // A redirect could lead anywhere, and the operator has configured this address.
    redirect: "manual",
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  // Nothing in it decides anything.
  await response.body?.cancel();
  const { status, headers } = response;
  if (isSuccessStatus(status)) return ACCEPTED;
  const retryAfterMs = retryAfterIn(headers.get("retry-after"), now.getTime());
  if (status === 410) return failed("status 410", { retryAfterMs: LONGEST_PAUSE_MS, scope: "lane" });
  return failed(`status ${status}`, { retryAfterMs, scope: ABOUT_EVENT.has(status) ? "event" : "lane" });
}

/** What a receiver says about an event, and not about itself. A gateway in front of it answers 409 while its record is in flight. */
const ABOUT_EVENT: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
