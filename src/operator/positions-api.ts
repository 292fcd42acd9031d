// The operation of the operator API on groups of consumers: their open claims and positions, which any token may see.

import type { Hono } from "hono";

import { invalid, type Variables } from "./admin-request.ts";
import type { Parsed } from "./list-request.ts";
import type { PositionsOperator } from "./positions-operator.ts";
import type { PositionPageView } from "./positions-schema.ts";
import { GROUP_NAME } from "./request-schema.ts";
import { type PageQuery, parsePageQuery, refuse } from "./shard-pages.ts";

export function addPositions(app: Hono<Variables>, positions: PositionsOperator): void {
  app.get("/positions", async (context) => {
    const parsed = parsePositionsQuery(new URL(context.req.url).searchParams);
    if (!parsed.ok) return invalid(parsed.reason);
    const { group, limit, cursor } = parsed.value;
    const page = await positions.list(group, limit, cursor);
    return page === null
      ? invalid("cursor must come from a list, and the shards must not have changed since: start again.")
      : context.json<PositionPageView>(page);
  });
}

export function parsePositionsQuery(query: URLSearchParams): Parsed<PageQuery & { readonly group: string | null }> {
  const page = parsePageQuery(query, ["group"]);
  if (!page.ok) return page;
  const group = query.get("group");
  if (group !== null && !GROUP_NAME.test(group))
    return refuse("group must be the name of a group, as the list gives it.");
  return { ok: true, value: { group, ...page.value } };
}
