// The operations of the operator API on the audit log, as the OpenAPI document describes them.

import {
  type OpenApiJson,
  type OpenApiFeature,
  pageTexts,
  queryParameters,
} from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { AUDIT_QUERY } from "./audit-query.ts";
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
  return queryParameters(AUDIT_QUERY, {
    by: { description: "Only what this operator did." },
    action: { description: "Only this.", schema: { examples: ["release", "release-all", "resend"] } },
    since: { description: "Only what was done within this time.", schema: { examples: ["24h", "7d"] } },
    limit: pageTexts("entries").limit,
    cursor: { description: "The cursor of the page before, with the same filter." },
  });
}
