// The request of an accepted exchange, as its record's row keeps it until the exchange has its result or is given up. It holds what
// the client sent, credentials included, so it is emptied in the same commit that ends its use.

import { type Acceptance, type IdempotencyRecord, promiseIn } from "../record/record.ts";
import { isWhole } from "../record/record-fault.ts";
import { type BodyNumber, bodyNumber, durationMs, epochMs } from "../record/units.ts";
import { exactBuffer } from "./bodies.ts";
import { hasMembers, readStoredJson } from "./unreadable.ts";

/** The bytes of a request's body, or where they are. */
export type RequestBytes =
  | { readonly kind: "inline"; readonly bytes: Uint8Array }
  /** In chunks of its own. */
  | { readonly kind: "chunks"; readonly body: BodyNumber; readonly count: number; readonly size: number };

export interface StoredRequest {
  /** What the shard needs to know to make the call, as text. */
  readonly head: string;
  readonly body: RequestBytes;
}

/** Bodies up to this size lie in the record's row, larger ones in chunks: as with responses, look-ups should not read them. */
export const IN_ROW_REQUEST_BYTES = 4096;

/** The columns of an accepted record, and those of its request. */
export const ACCEPTANCE_COLUMNS = ["accepted", "start_at"] as const;
export const REQUEST_COLUMNS = ["request", "request_body"] as const;

/**
 * What is written of an accepted record's columns: nothing, because it neither is nor was one; everything; all but its request, which
 * stays; or NULL, because it is none any more.
 */
export type AcceptanceWrite = "never" | "accept" | "keep" | "end";

/** The columns of REQUEST_COLUMNS. */
export interface RequestRow extends Record<string, SqlStorageValue> {
  readonly request: string | null;
  readonly request_body: ArrayBuffer | null;
}

/** What the row keeps of a request: its head, and where a large body is. */
interface WrittenRequest {
  readonly head: string;
  readonly chunks?: { readonly body: number; readonly count: number; readonly size: number };
}

export function writeRequest({ head, body }: StoredRequest): readonly SqlStorageValue[] {
  if (body.kind === "inline") return [JSON.stringify({ head } satisfies WrittenRequest), exactBuffer(body.bytes)];
  const { body: number, count, size } = body;
  return [JSON.stringify({ head, chunks: { body: number, count, size } } satisfies WrittenRequest), null];
}

/** `null` if there is none that can be read. */
export function readRequest({ request, request_body: bytes }: RequestRow): StoredRequest | null {
  const written = request === null ? null : readWritten(request);
  if (written === null) return null;
  const { head, chunks } = written;
  const body: RequestBytes | null =
    chunks === undefined
      ? bytes === null
        ? null
        : { kind: "inline", bytes: new Uint8Array(bytes) }
      : { kind: "chunks", ...chunks, body: bodyNumber(chunks.body) };
  return body === null ? null : { head, body };
}

/** An error would quote the text, which has the client's credential. */
function readWritten(text: string): WrittenRequest | null {
  try {
    return readStoredJson(text, "a request", isWritten);
  } catch {
    return null;
  }
}

function isWritten(value: unknown): value is WrittenRequest {
  if (!hasMembers(value, "head") || typeof value.head !== "string") return false;
  if (!hasMembers(value, "chunks")) return true;
  const { chunks } = value;
  return (
    hasMembers(chunks, "body", "count", "size") &&
    isWhole(chunks.body, 1) &&
    isWhole(chunks.count, 0) &&
    isWhole(chunks.size, 0)
  );
}

/** The values of ACCEPTANCE_COLUMNS. */
export function writeAcceptance(record: IdempotencyRecord): readonly SqlStorageValue[] {
  const accepted = promiseIn(record);
  return [accepted === null ? null : JSON.stringify(accepted), record.state === "waiting" ? record.startAt : null];
}

export function readAcceptance(text: string | null): Acceptance | null {
  if (text === null) return null;
  const { schedule, acceptedAt, giveUpAt, lastAttempt, isParked, message } = readStoredJson(
    text,
    "what a record promises",
    isAcceptance,
  );
  return {
    schedule: {
      attempts: schedule.attempts,
      firstPauseMs: durationMs(schedule.firstPauseMs),
      longestPauseMs: durationMs(schedule.longestPauseMs),
      giveUpAfterMs: durationMs(schedule.giveUpAfterMs),
    },
    acceptedAt: epochMs(acceptedAt),
    giveUpAt: epochMs(giveUpAt),
    lastAttempt,
    ...(isParked === true && { isParked }),
    ...(message !== undefined && { message: { ...message, firstSentAt: epochMs(message.firstSentAt) } }),
  };
}

/** The members that are objects; `recordFault` looks at the others. */
function isAcceptance(value: unknown): value is Acceptance {
  if (!hasMembers(value, "schedule", "acceptedAt", "giveUpAt", "lastAttempt")) return false;
  const hasMessage =
    !hasMembers(value, "message") || hasMembers(value.message, "queue", "binding", "done", "messageId");
  return hasMessage && hasMembers(value.schedule, "attempts", "firstPauseMs", "longestPauseMs", "giveUpAfterMs");
}

/** What happens to the columns of an accepted record. */
export function acceptanceWriteOf(
  before: IdempotencyRecord | null,
  after: IdempotencyRecord | null,
  hasRequest: boolean,
): AcceptanceWrite {
  const promised = promiseIn(before);
  const promises = promiseIn(after);
  if (promises === null) return promised === null ? "never" : "end";
  // A request that is accepted has its own; every other step leaves it as it is.
  const isAccepted = hasRequest && promised?.acceptedAt !== promises.acceptedAt;
  return isAccepted ? "accept" : "keep";
}
