// Parses the body of an action on a record, and makes it what the record's object takes: why, which every action says, and for `resolve` the response
// that is replayed from now on.

import type { RecordEvent } from "../kernel/record/events.ts";
import type { ChangeRequest } from "./operator.ts";
import { actionNamed, type RecordActionName } from "./record-actions/record-actions.ts";
import type { ParsedRequest } from "./request-schema.ts";

export type ParsedChange = Omit<ChangeRequest, "by">;

export function parseChange(action: RecordActionName, json: unknown): ParsedRequest<ParsedChange> {
  const read = actionNamed(action).body.parse(json);
  if (!read.ok) return read;
  const { why: reason, ...asked } = read.value;
  return { ok: true, value: { action, reason, ...asked } };
}

/** What a change is to the record. */
export function eventOf({ action, by: { name: by }, reason, response }: ChangeRequest): RecordEvent {
  return actionNamed(action).event({ by, why: reason, response });
}
