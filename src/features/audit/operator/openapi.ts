// The operations of the operator API on the audit log, as the OpenAPI document describes them.

import { AUDIT_WORD } from "../../../kernel/record/audit.ts";
import { type OpenApiJson, type OpenApiFeature, queryParameter } from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { LIST_LIMITS } from "../../../operator/request-schema.ts";
import { auditEntrySchema, auditPageSchema } from "./audit-schema.ts";

export const auditOpenApi: OpenApiFeature = {
  name: "audit",
  schemas: { AuditPage: auditPageSchema, AuditEntry: auditEntrySchema },
  paths: {
    "/audit": {
      get: operationObject({
        id: "audit",
        summary: "What operators did, newest first.",
        description:
          "An entry is written before its change is made, and gets its outcome after it. A page may be shorter than limit, even empty, and not be the last: continue until cursor is null. An unknown parameter is refused.",
        parameters: parameters(),
        answer: describedAnswer("A page.", "AuditPage"),
        problems: ["Invalid", "Unavailable"],
      }),
    },
    "/audit/export": {
      get: operationObject({
        id: "exportAudit",
        summary: "The same, all of it: one entry on a line, as JSON.",
        description: "limit has no effect. An answer that breaks off is not complete.",
        parameters: parameters(),
        answer: {
          description: "The entries, newest first, each an AuditEntry.",
          content: { "application/x-ndjson": { schema: { type: "string" } } },
        },
        problems: ["Invalid", "Unavailable"],
      }),
    },
  },
};

function parameters(): readonly OpenApiJson[] {
  const { defaultLimit, maxLimit } = LIST_LIMITS;
  return [
    queryParameter("by", { type: "string", minLength: 1, maxLength: 254 }, "Only what this operator did."),
    queryParameter(
      "action",
      { type: "string", pattern: AUDIT_WORD.source, examples: ["release", "release-all", "resend"] },
      "Only this.",
    ),
    queryParameter("since", { type: "string", examples: ["24h", "7d"] }, "Only what was done within this time."),
    queryParameter(
      "limit",
      { type: "integer", minimum: 1, maximum: maxLimit, default: defaultLimit },
      "How many entries a page has at most.",
    ),
    queryParameter("cursor", { type: "string" }, "The cursor of the page before, with the same filter."),
  ];
}
