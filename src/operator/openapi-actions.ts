// The bodies of the actions on records, with the documentation of their members: for the OpenAPI document. Must never be imported by the Worker.

import type * as v from "valibot";

import { givenResponseMembers } from "./change-schema.ts";
import { describedBody, type MemberText } from "./schema-members.ts";
import { ACTION_TEXTS, actionNamed, type RecordActionName } from "./record-actions/record-actions.ts";

const SHARED: Readonly<Record<string, MemberText>> = {
  preview: { description: "Change nothing: the answer says whether it would be done.", example: true },
  response: { description: "At most one of body and bodyBase64; at most 1 MiB.", schema: givenResponseMembers },
};

export function actionRequestSchema(name: RecordActionName): v.GenericSchema {
  return describedBody<v.ObjectEntries>(actionNamed(name).body, { ...SHARED, ...ACTION_TEXTS[name].members });
}
