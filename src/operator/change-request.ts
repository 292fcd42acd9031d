// Parses the body of a change request, and makes it an event of the life cycle: the reason, which every change needs, and for `resolve` the response that is replayed
// from now on.

import * as v from "valibot";

import type { OperatorEvent } from "../kernel/record/events.ts";
import type { OperatorChange } from "../kernel/record/timeline.ts";
import { givenResponse } from "./given-response.ts";
import type { ChangeRequest } from "./operator.ts";
import { changeSchema, type ParsedRequest, resolveSchema } from "./request-schema.ts";

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
