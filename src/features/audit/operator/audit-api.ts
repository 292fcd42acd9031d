// The operations of the operator API on the audit log, which any operator may read and nobody can change: a page, and an export.

import type { Hono } from "hono";

import { AUDIT_WORD } from "../../../kernel/record/audit.ts";
import { parseDuration } from "../../../kernel/config/units.ts";
import type { AuditedEntry, AuditQuery } from "../object/audit-log-store.ts";
import { invalidRequest, type RequestVariables } from "../../../operator/admin-request.ts";
import type { OperatorsAudit, AuditPages } from "./operators-audit.ts";
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

const PARAMETERS = ["by", "action", "since", "limit", "cursor"];
const { defaultLimit, maxLimit } = LIST_LIMITS;

/** An unknown parameter is refused: a filter with a typo would list everything. */
export function parseAuditQuery(query: URLSearchParams, now: number): ParsedRequest<AuditQuery> {
  const unknown = [...query.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return refuse(`Unknown parameter: write one of ${PARAMETERS.join(", ")}.`);
  const repeated = PARAMETERS.find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return refuse(`${repeated} is given more than once: write it once.`);
  const by = query.get("by");
  if (by !== null && (by === "" || by.length > 254)) return refuse("by must be an operator's name, or e-mail address.");
  const action = query.get("action");
  if (action !== null && !AUDIT_WORD.test(action)) {
    return refuse('action must be a word as entries have it: write "release", "release-all" or "resend".');
  }
  const age = query.get("since");
  const duration = age === null ? null : parseDuration(age);
  if (duration?.ok === false) return refuse('since must be a duration: write "30m", "24h" or "7d".');
  const limit = query.get("limit") ?? String(defaultLimit);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > maxLimit) {
    return refuse(`limit must be a whole number from 1 to ${maxLimit}.`);
  }
  const cursor = query.get("cursor");
  if (cursor !== null && !/^\d{1,15}$/.test(cursor)) return refuse("cursor must come from a page: start again.");
  const since = duration === null ? null : now - duration.value;
  const before = cursor === null ? null : Number(cursor);
  return { ok: true, value: { by, action, since, before, limit: Number(limit) } };
}

export function viewEntry({ at, ...entry }: AuditedEntry): AuditEntryView {
  return { ...entry, at: new Date(at).toISOString() };
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
