// The bodies of the actions on records, with the documentation of their members: for the OpenAPI document. Must never be imported by the Worker.

import * as v from "valibot";

import { givenResponseMembers } from "./change-schema.ts";
import { describedMember, withDescription } from "./schema-members.ts";
import type { ActionTexts } from "./record-actions/action.ts";
import { ACTION_TEXTS, actionNamed, type RecordActionName } from "./record-actions/record-actions.ts";

const SHARED_MEMBERS: ActionTexts["members"] = {
  preview: { description: "Change nothing: the answer says whether it would be done.", example: true },
};

export function actionRequestSchema(name: RecordActionName): v.GenericSchema {
  const texts = { ...SHARED_MEMBERS, ...ACTION_TEXTS[name].members };
  const members = Object.entries(actionNamed(name).body.entries).map(([member, entry]) => [
    member,
    member === "response"
      ? withDescription(givenResponseMembers, "At most one of body and bodyBase64; at most 1 MiB.")
      : describedMember(entry, texts[member]),
  ]);
  return v.strictObject(Object.fromEntries(members));
}
