// Dead letters: messages that will not be tried again, as CloudEvents (version 1.0, JSON) with the reason. A letter has the same id
// each time it is made for a message, because it may be sent twice.

import type { DeadReason } from "../../kernel/record/delivery.ts";
import type { BodyKind, MessageFacts } from "../../kernel/record/parked-message.ts";
import { base64Text } from "../../kernel/request/digest.ts";

/** Where letters go: a queue's producer binding. */
export interface DeadLetterQueue {
  send(letter: string, options: { readonly contentType: "text" }): Promise<unknown>;
}

/** The queue binding of this name; `null` when it does not exist. A binding's methods cannot be inspected (platform rule). */
export function deadLetterQueueIn(bindings: Readonly<Record<string, unknown>>, name: string): DeadLetterQueue | null {
  const binding = bindings[name];
  return isDeadLetterQueue(binding) ? binding : null;
}

function isDeadLetterQueue(binding: unknown): binding is DeadLetterQueue {
  return typeof binding === "object" && binding !== null;
}

/** Why a message died, and what is known about it. */
export interface DeadMessage extends MessageFacts {
  readonly queue: string;
  readonly reason: DeadReason;
  /** The status of the origin's answer; `null` without one. */
  readonly status: number | null;
  /** `null` when the message has no record. */
  readonly recordId: string | null;
  /** Whether its record has kept the message until now. */
  readonly wasParked: boolean;
}

/** The most bytes of a letter: the platform takes 128,000 with its own data. */
export const MAX_LETTER_BYTES = 127_000;

export interface DeadLetter {
  /** JSON. It is sent as this text, so that its bytes are those that were counted and stored. */
  readonly letter: string;
  /** Whether the message's body is in the letter. */
  readonly hasBody: boolean;
}

/** `body` is that of the message; `null` if it has no form that can be sent, or is known to be too large. */
export function deadLetter(dead: DeadMessage, body: Uint8Array | null, now: Date): DeadLetter {
  if (body !== null) {
    const whole = letterOf(dead, now, bodyMembers(dead.bodyKind, body));
    if (encoder.encode(whole).byteLength <= MAX_LETTER_BYTES) return { letter: whole, hasBody: true };
  }
  return { letter: letterOf(dead, now, ""), hasBody: false };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** `members`: JSON of those that hold the body, each after a comma. They are put in as they are: read anew, numbers would change. */
function letterOf(dead: DeadMessage, now: Date, members: string): string {
  const { queue, reason, status, recordId, messageId, deliveries, firstSentAt } = dead;
  const attributes = {
    specversion: "1.0",
    id: `${queue}/${messageId}`,
    source: `/queues/${queue}`,
    type: "dev.onceway.message.dead",
    time: now.toISOString(),
    datacontenttype: "application/json",
  };
  const data = {
    reason,
    detail: detailOf(dead),
    status,
    queue,
    messageId,
    deliveries,
    firstSentAt: new Date(firstSentAt).toISOString(),
    recordId,
  };
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${JSON.stringify(data).slice(0, -1)}${members}}}`;
}

/** Text and JSON as they are, so that an operator can read them. */
function bodyMembers(contentType: BodyKind, bytes: Uint8Array): string {
  const kind = `,"contentType":"${contentType}"`;
  switch (contentType) {
    case "bytes":
      return `${kind},"bodyBase64":"${base64Text(bytes)}"`;
    case "text":
      return `${kind},"body":${JSON.stringify(decoder.decode(bytes))}`;
    case "json":
      return `${kind},"body":${decoder.decode(bytes)}`;
  }
}

function detailOf({ reason, status, wasParked }: DeadMessage): string {
  switch (reason) {
    case "rejected":
      return `The origin answered with status ${status}, which does not settle the message. The answer is the record's result.`;
    case "exhausted":
      return wasParked
        ? "The last attempt had no effect, and the record that kept the message has expired."
        : "The last attempt had no effect, and the message is older than give_up allows.";
    case "outcome-unknown":
      return wasParked
        ? "An attempt may have taken effect, and the record that kept the message has expired before anybody decided. Find out at the origin."
        : "An attempt may have taken effect, and its outcome is unknown. Find out at the origin, then release or resolve the record.";
    case "store-unavailable":
      return "The object of the message's key could not be reached or could not write until the message was older than give_up allows. An earlier attempt may have taken effect: find out at the origin.";
    case "key-reused":
      return "The message's key was used for a message with another content.";
    case "key-missing":
      return "The message has none of the configured sources of a key.";
    case "message-invalid":
      return "The message cannot be sent to the origin, or a part of its key or scope cannot be read.";
  }
}
