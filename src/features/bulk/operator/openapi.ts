// The change of all records that a filter matches, as the OpenAPI document describes it and the command line calls it.

import { givenResponseMembers, reasonMember } from "../../../operator/change-schema.ts";
import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { A_TIME, documentedAction } from "../../../operator/schema-members.ts";
import { CHANGE_ALL } from "./all-request-schema.ts";
import { allChangedSchema } from "./bulk-schema.ts";

export const changeAllAction = documentedAction(CHANGE_ALL, {
  id: "changeAll",
  summary: "Changes all records that a filter matches.",
  description:
    "Either preview or confirm must be true. Ask for a preview, look at it, and send the same request with confirm and the until of its answer: records whose last attempt began after that time are left, and so are those that an operator has changed since. The ages of the filter count from until. One call works for about five seconds: continue with the cursor until it is null, and add the counts up. Each record is changed as it is alone, with the same refusals, and only if it is still what the list showed; its timeline has who, and why. It can be sent again: what has been changed is neither changed nor counted again. A filter that would match every record is refused. The log has the filter and the counts.",
  request: "ChangeAll",
  members: {
    change: { description: "What is done to each record.", example: "release" },
    filter: {
      description:
        "Which records: the conditions of GET /records, by the same names and in the same form, without limit and cursor. At least one.",
      example: { state: "unknown", route: "/v1/payments/*" },
    },
    reason: { described: reasonMember },
    response: { description: "Only with resolve: what every one of them is given.", schema: givenResponseMembers },
    preview: { description: "Only count.", example: true },
    confirm: { description: "Change them.", example: true },
    until: {
      description: "From the answer of the preview; a preview without it takes the time of the call.",
      example: A_TIME,
    },
    cursor: { description: "From the answer before, with the same request and its until.", example: "" },
  },
  answer: { description: "What this call has done, or would do.", name: "AllChanged", schema: allChangedSchema },
});

export const bulkOpenApi: OpenApiFeature = { name: "bulk", actions: [changeAllAction] };
