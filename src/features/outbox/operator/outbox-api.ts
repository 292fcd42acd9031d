// The operations of the operator API on events: lists them without their data, which any token may see, and lets administrators send
// them again or drop them.

import type { Hono } from "hono";

import { invalidRequest, type RequestVariables } from "../../../operator/admin-request.ts";
import type { EventFilter, EventsActions, OutboxOperator } from "./outbox-operator.ts";
import type { OutboxPageView } from "./outbox-schema.ts";
import { EVENTS_QUERY } from "./events-request-schema.ts";
import { type PageQuery, pageOf, parseQuery } from "../../../operator/query.ts";
import type { ParsedRequest } from "../../../operator/request-schema.ts";

export function addOutbox(app: Hono<RequestVariables>, outbox: OutboxOperator, actions: EventsActions): void {
  app.get("/outbox", async (context) => {
    const parsed = parseEventsQuery(new URL(context.req.url).searchParams);
    if (!parsed.ok) return invalidRequest(parsed.reason);
    const { limit, cursor, ...filter } = parsed.value;
    const page = await outbox.list(filter, limit, cursor);
    return page === null
      ? invalidRequest("cursor must come from a list, and the shards must not have changed since: start again.")
      : context.json<OutboxPageView>(page);
  });
  for (const { addApi } of Object.values(actions)) addApi(app);
}

export function parseEventsQuery(query: URLSearchParams): ParsedRequest<EventFilter & PageQuery> {
  const read = parseQuery(EVENTS_QUERY, query);
  if (!read.ok) return read;
  const { state = null, destination = null, ...page } = read.value;
  return { ok: true, value: { state, destination, ...pageOf(page) } };
}
