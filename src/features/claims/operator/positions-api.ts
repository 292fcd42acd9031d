// The operations of the operator API on groups of consumers: their open claims and positions, which any token may see, and setting a
// position, which administrators may.

import type { Hono } from "hono";

import * as v from "valibot";

import { invalidRequest, parseBody, type RequestVariables } from "../../../operator/admin-request.ts";
import { parseJsonBody } from "../../../operator/change-request.ts";
import type { RequestedPosition, PositionsOperations } from "./positions-operator.ts";
import type { PositionPageView, PositionSetView } from "./positions-schema.ts";
import { POSITIONS_QUERY, positionChangeSchema } from "./position-request-schema.ts";
import { type PageQuery, pageOf, parseQuery, refuseQuery } from "../../../operator/query.ts";
import type { ParsedRequest } from "../../../operator/request-schema.ts";

export function addPositions(app: Hono<RequestVariables>, positions: PositionsOperations): void {
  app.get("/positions", async (context) => {
    const parsed = parsePositionsQuery(new URL(context.req.url).searchParams);
    if (!parsed.ok) return invalidRequest(parsed.reason);
    const { group, limit, cursor } = parsed.value;
    const page = await positions.list(group, limit, cursor);
    return page === null
      ? invalidRequest("cursor must come from a list, and the shards must not have changed since: start again.")
      : context.json<PositionPageView>(page);
  });
  app.post("/positions/set", parseBody(parsePositionChange), async (context) => {
    const isSet = await positions.set({ ...context.get("parsed"), by: context.get("actor") });
    return isSet
      ? context.json<PositionSetView>({ set: true })
      : invalidRequest("group must be the name of a group that CONSUMERS has.");
  });
}

export function parsePositionChange(bytes: Uint8Array): ParsedRequest<Omit<RequestedPosition, "by">> {
  const read = v.safeParse(positionChangeSchema, parseJsonBody(bytes), { abortEarly: true });
  return read.success ? { ok: true, value: read.output } : refuseQuery(read.issues[0].message);
}

export function parsePositionsQuery(
  query: URLSearchParams,
): ParsedRequest<PageQuery & { readonly group: string | null }> {
  const read = parseQuery(POSITIONS_QUERY, query);
  return read.ok ? { ok: true, value: { group: read.value.group ?? null, ...pageOf(read.value) } } : read;
}
