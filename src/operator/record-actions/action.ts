// What an operator may do to a record, declared once: a file for each action, and record-actions.ts lists them. From a declaration come the
// route of the API and its validation, the operation in the OpenAPI document, the method of the client, the command, the form, the change of
// all records that match, and the words of the audit log. Texts that only Node reads are an object of their own, so that the bundle of the
// Worker leaves them out. Imports nothing that needs the Worker.

import type { RecordEvent } from "../../kernel/record/events.ts";
import type { IdempotencyRecord } from "../../kernel/record/record.ts";
import type { GivenResponse } from "../given-response.ts";
import { type JsonBody, jsonBody } from "../operator-action.ts";
import { previewOrConfirm, reasonSchema } from "../request-schema.ts";
import type { MemberText } from "../schema-members.ts";

/** What a request asks of an action. */
export interface AskedAction {
  readonly why: string;
  /** Only with an action that takes one. */
  readonly response: GivenResponse | null;
  /** Nothing is changed: the answer says whether it would be. */
  readonly isPreview: boolean;
}

export const PREVIEW = previewOrConfirm.preview;

/** Of an action that says only why. */
export const REASON_BODY = jsonBody(
  { reason: reasonSchema, preview: PREVIEW },
  '{"reason":"…"}',
  ({ reason, preview = false }) => ({ ok: true, value: { why: reason, response: null, isPreview: preview } }),
);

export interface RecordAction<Name extends string = string> {
  /** In paths, commands and the audit log. */
  readonly name: Name;
  /** The member of the request that the timeline and the audit log keep: `reason`, or what is noted. */
  readonly why: "reason" | "text";
  /** Whether it takes the response that retries get. */
  readonly takesResponse: boolean;
  readonly body: JsonBody<AskedAction>;
  /** What it is to the record. */
  readonly event: (done: ActionDone) => RecordEvent;
  readonly words: ActionWords;
  /** What its form says of one record; without it, what it says of any. */
  readonly formOf?: (record: ActionSubject) => ActionForm | null;
  readonly form: ActionForm;
  /** Beside the box that has to be ticked before all records that match are changed; `null`: there is none. */
  readonly confirmAll: string | null;
}

/** Who does it, why, and with which response. */
export interface ActionDone {
  readonly by: string;
  readonly why: string;
  readonly response: { readonly status: number } | null;
}

export interface ActionSubject {
  readonly state: IdempotencyRecord["state"];
  readonly accepted: boolean;
}

export interface ActionWords {
  /** "Release" */
  readonly title: string;
  /** "released" */
  readonly past: string;
}

export interface ActionForm {
  /** Beside the title. */
  readonly summary: string;
  /** Beside the box that has to be ticked; `null`: there is none. */
  readonly confirmation: string | null;
  readonly button: string;
  /** Of the field for the member that says why. */
  readonly label: string;
  readonly hint: string;
}

/** What only Node says of an action. */
export interface ActionTexts {
  /** A sentence in the third person: "Lets the next request …". */
  readonly summary: string;
  readonly description: string;
  /** Its own members. */
  readonly members: Readonly<Record<string, MemberText>>;
  /** What the API answers. */
  readonly answer: string;
}

export const REASON = { label: "Reason", hint: "Kept in the record's timeline." } as const;

export const REASON_MEMBERS: ActionTexts["members"] = {
  reason: {
    description: "Why this is done; written to the record's timeline.",
    example: "The origin's log has no such payment.",
  },
};
