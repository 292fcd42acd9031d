// The operations of the operator API on groups of consumers: their open claims and positions, which any token may see, and setting a
// position, which administrators may.

import type { Hono } from "hono";

import { invalidRequest, type RequestVariables } from "../../../operator/admin-request.ts";
import { type AuditLog, auditedAction } from "../../../operator/audited.ts";
import type { PositionsOperator } from "./positions-operator.ts";
import type { PositionPageView } from "./positions-schema.ts";
import { POSITIONS_QUERY, setPosition } from "./position-request-schema.ts";
import { type PageQuery, pageOf, parseQuery } from "../../../operator/query.ts";
import type { ParsedRequest } from "../../../operator/request-schema.ts";

export function addPositions(app: Hono<RequestVariables>, positions: PositionsOperator, audit: AuditLog): void {
  app.get("/positions", async (context) => {
    const parsed = parsePositionsQuery(new URL(context.req.url).searchParams);
    if (!parsed.ok) return invalidRequest(parsed.reason);
    const { group, limit, cursor } = parsed.value;
    const page = await positions.list(group, limit, cursor);
    return page === null
      ? invalidRequest("cursor must come from a list, and the shards must not have changed since: start again.")
      : context.json<PositionPageView>(page);
  });
  auditedAction(setPosition, audit, (asked) => positions.set(asked)).addApi(app);
}

export function parsePositionsQuery(
  query: URLSearchParams,
): ParsedRequest<PageQuery & { readonly group: string | null }> {
  const read = parseQuery(POSITIONS_QUERY, query);
  return read.ok ? { ok: true, value: { group: read.value.group ?? null, ...pageOf(read.value) } } : read;
}
