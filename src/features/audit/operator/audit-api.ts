// The operations of the operator API on the audit log, which any operator may read and nobody can change: a page, and an export.

import type { Hono } from "hono";

import type { AuditedEntry, AuditQuery } from "../object/audit-log-store.ts";
import { invalidRequest, type RequestVariables } from "../../../operator/admin-request.ts";
import type { OperatorsAudit, AuditPages } from "./operators-audit.ts";
import { parseQuery } from "../../../operator/query.ts";
import { AUDIT_QUERY } from "./audit-query.ts";
import type { AuditEntryView, AuditPageView } from "./audit-schema.ts";
import { LIST_LIMITS, type ParsedRequest } from "../../../operator/request-schema.ts";

export function addAudit(app: Hono<RequestVariables>, audit: Pick<OperatorsAudit, "page">): void {
  app.get("/audit", async (context) => {
    const parsed = parseAuditQuery(new URL(context.req.url).searchParams, Date.now());
    if (!parsed.ok) return invalidRequest(parsed.reason);
    const { entries, next } = await audit.page(parsed.value);
    return context.json<AuditPageView>({
      entries: entries.map(viewEntry),
      cursor: next === null ? null : String(next),
    });
  });
  app.get("/audit/export", async (context) => {
    const parsed = parseAuditQuery(new URL(context.req.url).searchParams, Date.now());
    if (!parsed.ok) return invalidRequest(parsed.reason);
    const query = { ...parsed.value, limit: LIST_LIMITS.maxLimit };
    // The first page, so that an object that does not answer is a 503.
    const first = await audit.page(query);
    return new Response(linesOf(audit, query, first), { headers: { "Content-Type": "application/x-ndjson" } });
  });
}

/** One entry on a line, newest first. Reads the next page when the reader has taken the one before. */
function linesOf(
  audit: Pick<OperatorsAudit, "page">,
  query: AuditQuery,
  first: AuditPages,
): ReadableStream<Uint8Array> {
  let page: AuditPages | null = first;
  return new ReadableStream({
    async pull(controller) {
      while (page !== null) {
        const { entries, next }: AuditPages = page;
        if (entries.length > 0) {
          const lines = entries.map((entry) => `${JSON.stringify(viewEntry(entry))}\n`).join("");
          controller.enqueue(new TextEncoder().encode(lines));
        }
        page = next === null ? null : await audit.page({ ...query, before: next });
        if (entries.length > 0) return;
      }
      controller.close();
    },
  });
}

export function parseAuditQuery(query: URLSearchParams, now: number): ParsedRequest<AuditQuery> {
  const read = parseQuery(AUDIT_QUERY, query);
  if (!read.ok) return read;
  const { by = null, action = null, since = null, cursor = null, limit = LIST_LIMITS.defaultLimit } = read.value;
  return {
    ok: true,
    value: { by, action, since: since === null ? null : now - since, before: cursor, limit: limit },
  };
}

export function viewEntry({ at, ...entry }: AuditedEntry): AuditEntryView {
  return { ...entry, at: new Date(at).toISOString() };
}
