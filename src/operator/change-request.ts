// Parses the body of a change request, and makes it an event of the life cycle: the reason, which every change needs, and for `resolve` the response that is replayed
// from now on.

import * as v from "valibot";

import type { OperatorEvent } from "../kernel/record/events.ts";
import type { OperatorChange } from "../kernel/record/timeline.ts";
import { isOriginsHeader } from "../kernel/request/headers.ts";
import { contradictionIn } from "./given-response.ts";
import type { ParsedRequest } from "./list-request.ts";
import type { ChangeRequest, GivenResponse } from "./operator.ts";
import { changeSchema, type givenResponseSchema, resolveSchema } from "./request-schema.ts";

/** The limit for a given response's body. It is stored in its record's row, which the platform limits to 2 MB. */
const MAX_BODY_BYTES = 1 << 20;
const MAX_HEADER_CHARACTERS = 32_768;

export interface ParsedChange extends Omit<ChangeRequest, "by"> {
  /** The request asks only what the change would do. */
  readonly isPreview: boolean;
}

export function parseChange(action: OperatorChange, bytes: Uint8Array): ParsedRequest<ParsedChange> {
  const json = parseJsonBody(bytes);
  if (action !== "resolve") {
    const read = v.safeParse(changeSchema, json);
    if (!read.success) return refuse(read.issues[0].message);
    return { ok: true, value: { action, reason: read.output.reason, response: null, isPreview: false } };
  }
  const read = v.safeParse(resolveSchema, json);
  if (!read.success) return refuse(read.issues[0].message);
  const { preview = false, confirm = false } = read.output;
  if (preview === confirm) {
    return refuse(
      "Every retry would get this response. Write preview: true to see it, then confirm: true instead to give it.",
    );
  }
  const given = givenResponse(read.output.response);
  if (!given.ok) return given;
  return { ok: true, value: { action, reason: read.output.reason, response: given.value, isPreview: preview } };
}

/** `null` if it is not JSON. */
export function parseJsonBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    return null;
  }
}

export function givenResponse(written: v.InferOutput<typeof givenResponseSchema>): ParsedRequest<GivenResponse> {
  const { status, headers = [], body: text, bodyBase64 } = written;
  if (text !== undefined && bodyBase64 !== undefined) return refuse("Write response.body or bodyBase64, not both.");
  const size = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (size > MAX_HEADER_CHARACTERS) return refuse(`response.headers exceed ${MAX_HEADER_CHARACTERS} characters.`);
  for (const [name, value] of headers) {
    if (!isPossible(name, value)) return refuse(`response.headers: "${name.slice(0, 60)}" cannot be sent as a header.`);
    if (!isOriginsHeader(name))
      return refuse(`response.headers: "${name}" is set by the gateway, not by the origin: leave it out.`);
  }
  const body = bodyBase64 === undefined ? new TextEncoder().encode(text ?? "") : decodeBase64(bodyBase64);
  if (body === null) return refuse("response.bodyBase64 is not base64.");
  if (body.byteLength > MAX_BODY_BYTES) return refuse(`The response's body exceeds ${MAX_BODY_BYTES} bytes.`);
  const given = { status, headers, body };
  const contradiction = contradictionIn(given, bodyBase64 === undefined);
  return contradiction === null ? { ok: true, value: given } : refuse(contradiction);
}

function isPossible(name: string, value: string): boolean {
  // Visible Latin-1, spaces and tabs within (RFC 9110, section 5.5).
  return (
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) &&
    /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/.test(value)
  );
}

export function decodeBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function refuse(message: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason: message };
}

/** What a change is to the record's life cycle. */
export function eventOf({ action, by: { name: by }, reason, response }: ChangeRequest): OperatorEvent {
  switch (action) {
    case "release":
    case "forget":
      return { type: action, by, reason };
    case "resolve":
      if (response === null) throw new TypeError("resolve takes a response");
      return { type: action, by, reason, status: response.status };
  }
}
