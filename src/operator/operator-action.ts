// What an operator may do, declared once, in the feature that owns it: where the API has it, what its body has, and what the audit log says. From a
// declaration come the route, its validation and the audit log's entries (audited.ts), and, with what schema-members.ts adds to it in Node, the
// operation in the OpenAPI document and the call of the command line. Actions on one record are declared in record-actions. Imports nothing that needs
// the Worker.

import * as v from "valibot";

import type { ParsedRequest } from "./request-schema.ts";

/** The JSON body of a request. */
export interface JsonBody<Asked, Entries extends v.ObjectEntries = v.ObjectEntries> {
  /** Without descriptions. */
  readonly entries: Entries;
  readonly parse: (json: unknown) => ParsedRequest<Asked>;
}

type ReadBody<Entries extends v.ObjectEntries> = v.InferOutput<v.StrictObjectSchema<Entries, string>>;

/** `example`: what to write instead of a body that is none. */
export function jsonBody<const Entries extends v.ObjectEntries, Asked>(
  entries: Entries,
  example: string,
  read: (body: ReadBody<Entries>) => ParsedRequest<Asked>,
): JsonBody<Asked, Entries> {
  const schema = v.strictObject(entries, `The body must be JSON: write ${example}.`);
  return {
    entries,
    parse(json) {
      const parsed = v.safeParse(schema, json, { abortEarly: true });
      return parsed.success ? read(parsed.output) : { ok: false, reason: parsed.issues[0].message };
    },
  };
}

export interface OperatorAction<Asked = never, Entries extends v.ObjectEntries = v.ObjectEntries> {
  /** In the audit log (`AUDIT_WORD`). */
  readonly word: string;
  /** In the API: `/outbox/resend`. */
  readonly path: string;
  readonly body: JsonBody<Asked, Entries>;
  /** To what it is done, for the audit log. */
  target(asked: Asked): string;
}

export function operatorAction<Asked, Entries extends v.ObjectEntries>(
  action: OperatorAction<Asked, Entries>,
): OperatorAction<Asked, Entries> {
  return action;
}

/** What a request asks of an action. */
export type AskedOf<Action> = Action extends OperatorAction<infer Asked, infer _> ? Asked : never;

/** What the audit log reads of what is asked. */
export interface AskedByOperator {
  readonly reason?: string;
  /** Nothing is changed, so the log has nothing of it. */
  readonly isPreview?: boolean;
}
