// What a record notes of its request for operators (kernel/record/request-note.ts), as the route says. A value that cannot be read is left out:
// no request fails because of its note.

import type { KeyPart } from "../config/key-source.ts";
import type { NoteRule } from "../config/resolved.ts";
import { CALLER_DIGITS, MAX_NOTE_LENGTH, writeNote } from "../record/request-note.ts";
import { digest } from "../request/digest.ts";
import type { HeadersView } from "../request/headers.ts";
import { readBodyValues, readPart } from "../request/key-places.ts";
import type { NotedRequest } from "../request/message.ts";
import { callerValues, isSomebody } from "../request/record-name.ts";
import type { ScopeValues } from "../request/scope.ts";
import type { WaitingCaller } from "../request/time-slicer.ts";

/** The parts of a request that may be noted. */
export interface NotableRequest {
  readonly method: string;
  readonly pathname: string;
  /** Begins with the question mark; empty if the URL has no query. */
  readonly search: string;
  readonly headers: HeadersView;
  readonly caller?: WaitingCaller;
  readonly scope: ScopeValues;
  /** `null`: it is not held. */
  readonly body: Uint8Array | null;
  /** The size of the body, if it is known. */
  readonly sizeBytes: number | null;
  /** Whether its key is made from its content: that is noted in any case. */
  readonly isFromContent?: boolean;
}

/** `null`: nothing is noted. */
export async function noteOf(rule: NoteRule, request: NotableRequest, now: number): Promise<NotedRequest | null> {
  const { method, pathname, search, sizeBytes, scope, body, isFromContent = false } = request;
  if (rule.what === "none" && rule.label === null && rule.excerpt === null && !isFromContent) return null;
  const isShown = rule.what !== "none";
  const excerpt = rule.excerpt === null || body === null ? null : excerptOf(body, rule.excerpt.bytes);
  const excerptUntil = rule.excerpt === null || excerpt === null ? null : now + rule.excerpt.keepMs;
  const note = writeNote({
    method,
    target: isShown ? shortened(rule.what === "path" ? pathname : pathname + search) : null,
    sizeBytes,
    caller: isShown && isSomebody(scope) ? (await digest(callerValues(scope))).slice(0, CALLER_DIGITS) : null,
    label: rule.label === null ? null : await labelOf(rule.label, request),
    excerptUntil,
    ...(isFromContent ? { fromContent: true } : null),
  });
  return excerpt === null || excerptUntil === null
    ? { note }
    : { note, excerpt: { until: excerptUntil, text: excerpt } };
}

async function labelOf(part: KeyPart, { headers, search, body, caller }: NotableRequest): Promise<string | null> {
  const values = await readBodyValues({ keyFrom: [part] }, headers, body ?? new Uint8Array(), caller);
  const value = readPart(part, { headers, search }, values);
  return value.kind === "text" ? shortened(value.text) : null;
}

/** Bytes that are not text are replaced, as well as a character that is cut. */
function excerptOf(body: Uint8Array, bytes: number): string {
  return new TextDecoder().decode(body.subarray(0, bytes));
}

function shortened(text: string): string {
  return text.length <= MAX_NOTE_LENGTH ? text : `${text.slice(0, MAX_NOTE_LENGTH - 1)}…`;
}
