// The operations of the operator API on events: lists them without their data, which any token may see, and lets administrators send
// them again or drop them.

import type { Hono } from "hono";
import * as v from "valibot";

import { invalidRequest, parseBody, type RequestVariables } from "../../../operator/admin-request.ts";
import type { EventFilter, EventsChange, EventsOperator } from "./outbox-operator.ts";
import type { OutboxChangedView, OutboxPageView } from "./outbox-schema.ts";
import { EVENTS_QUERY, outboxChangeSchema } from "./events-request-schema.ts";
import { type PageQuery, pageOf, parseQuery, refuseQuery } from "../../../operator/query.ts";
import type { ParsedRequest } from "../../../operator/request-schema.ts";

export function addOutbox(app: Hono<RequestVariables>, outbox: EventsOperator): void {
  app.get("/outbox", async (context) => {
    const parsed = parseEventsQuery(new URL(context.req.url).searchParams);
    if (!parsed.ok) return invalidRequest(parsed.reason);
    const { limit, cursor, ...filter } = parsed.value;
    const page = await outbox.list(filter, limit, cursor);
    return page === null
      ? invalidRequest("cursor must come from a list, and the shards must not have changed since: start again.")
      : context.json<OutboxPageView>(page);
  });
  for (const action of ["resend", "drop"] as const) {
    app.post(`/outbox/${action}`, parseBody(parseEventsChange), async (context) => {
      const change = { ...context.get("parsed"), action, by: context.get("actor") };
      return context.json<OutboxChangedView>(await outbox.change(change));
    });
  }
}

export function parseEventsQuery(query: URLSearchParams): ParsedRequest<EventFilter & PageQuery> {
  const read = parseQuery(EVENTS_QUERY, query);
  if (!read.ok) return read;
  const { state = null, destination = null, ...page } = read.value;
  return { ok: true, value: { state, destination, ...pageOf(page) } };
}

export function parseEventsChange(json: unknown): ParsedRequest<Omit<EventsChange, "action" | "by">> {
  const read = v.safeParse(outboxChangeSchema, json);
  if (!read.success) return refuseQuery(read.issues[0].message);
  const { destination, reason, event = null, state = null, preview = false, confirm = false } = read.output;
  if (event === null && preview === confirm) {
    return refuseQuery(
      "All events of the destination would be changed. Write preview: true to count them, then confirm: true instead to change them.",
    );
  }
  if (event !== null && (state !== null || preview)) {
    return refuseQuery("event names one event: leave state and preview out.");
  }
  return { ok: true, value: { destination, reason, event, state, isPreview: preview } };
}
