// The operator API: JSON under one path, only for holders of a token. Every operation is in openapi.json, and a test compares
// the two. Nothing is shown or changed before the token is checked.

import { Hono } from "hono";
import type { Context } from "hono";
import { version } from "../../package.json";
import { epochMs, recordId } from "../kernel/record/units.ts";
import { firstOf } from "../kernel/request/first-of.ts";
import {
  adminOnly,
  invalidRequest,
  parseBody,
  type ParsedVariables,
  refuseRequest,
  type RequestVariables,
} from "./admin-request.ts";
import type { OperatorFeature } from "../kernel/worker-feature.ts";
import { AuditUnavailable } from "./audited.ts";
import type { OperatorAuth } from "./access/auth.ts";
import { NO_PAGE, parseListRequest, whyNotListed } from "./list-request.ts";
import { EXPOSITION_TYPE } from "./exposition.ts";
import type { EndedView, HealthView, LayoutsView, RecentView, TotalsView } from "./gateway-schema.ts";
import { previewOf } from "./given-response.ts";
import { type Operator, openCounts, type ParsedChange, parseChange } from "./operator.ts";
import { ACTION_NAMES } from "./record-actions/record-actions.ts";
import { RECORD_ID } from "./request-schema.ts";
import type { ForgottenView, PreviewView } from "./change-schema.ts";
import type { RecordPageView, RecordView } from "./record-schema.ts";
import type { TrafficReader } from "./traffic-reader.ts";
import { viewDetail, viewExchange, viewLayout, viewSummary } from "./views.ts";

type Handle = (request: Request) => Response | Promise<Response>;
/** Whether the Worker answers must not depend on a shard. */
const WARNINGS_MS = 1000;

export interface ApiPorts {
  /** Audited: see audited.ts. */
  readonly operator: Operator;
  readonly reader: TrafficReader;
  readonly features: readonly OperatorFeature[];
}

/** `auth` is `null` when operators have no access: then every path is 404. */
export function createOperatorApi(path: string, auth: OperatorAuth | null, ports: ApiPorts): Handle {
  const app = auth === null ? new Hono<RequestVariables>() : operatorApp(path, auth, ports);
  app.notFound(() => refuseRequest({ code: "operator-not-found" }));
  return async (request) => guarded(await app.fetch(request));
}

/** The routes, for the test that compares them with openapi.json. */
export function operatorApp(
  path: string,
  auth: OperatorAuth,
  { operator, reader, features }: ApiPorts,
): Hono<RequestVariables> {
  const app = new Hono<RequestVariables>({ getPath: ({ url }) => new URL(url).pathname.slice(path.length) || "/" });
  // Every route below needs a token, or an assertion of Access.
  app.use(async (context, next) => {
    const admission = await auth.admit(context.req.raw.headers, Date.now());
    if (admission.kind === "refused") return refuseRequest(admission.problem);
    context.set("actor", admission.actor);
    return next();
  });
  // Only administrators do more than read.
  const byAdmin = adminOnly(auth);
  app.use((context, next) => (isRead(context.req.method) ? next() : byAdmin(context, next)));
  app.get("/health", async (context) => {
    const warnings = (await firstOf(reader.warnings(), WARNINGS_MS)) ?? [];
    return context.json<HealthView>({ status: "ok", version, warnings });
  });
  app.get("/drain", async (context) => {
    const { total, shards, unreachable, notAsked } = await operator.counts();
    if (total.objects === 0 && unreachable.length > 0) return refuseRequest({ code: "store-unavailable" });
    return context.json<TotalsView>({ ...openCounts([total]), unreachable, notAsked, shards });
  });
  app.get("/layouts", async (context) => {
    const isAll = context.req.query("all") === "1";
    const { total, layouts, unreachable, notAsked } = await operator.counts({ isAll });
    if (total.objects === 0 && unreachable.length > 0) return refuseRequest({ code: "store-unavailable" });
    return context.json<LayoutsView>({ layouts: layouts.map(viewLayout), routes: operator.routes, notAsked });
  });
  app.get("/metrics", async (c) => {
    const metrics = features.flatMap((feature) => feature.metrics ?? []);
    return new Response(await reader.metrics(c.req.query("shards") === "1", metrics), {
      headers: { "Content-Type": EXPOSITION_TYPE },
    });
  });
  app.get("/recent", async (context) => {
    const recent = await reader.recent(context.req.query("after") ?? null);
    if (recent === null) return invalidRequest("after must be a cursor from this feed: start without one.");
    return context.json<RecentView>({
      exchanges: recent.exchanges.map(viewExchange),
      cursor: recent.cursor,
      notAsked: recent.notAsked,
    });
  });
  app.post("/sessions/end", async (context) => {
    await operator.endSessions(context.get("actor"));
    return context.json<EndedView>({ ended: true });
  });
  app.use("/records/:id/body", byAdmin);
  addRecords(app, operator);
  for (const { addApi } of features) addApi(app);
  app.onError((error) => {
    console.error({ message: "operator request failed", reason: String(error) });
    return refuseRequest({ code: error instanceof AuditUnavailable ? "audit-unavailable" : "store-unavailable" });
  });
  return app;
}

function addRecords(app: Hono<RequestVariables>, operator: Operator): void {
  app.get("/records", async (context) => {
    const parsed = parseListRequest(new URL(context.req.url).searchParams);
    if (!parsed.ok) return invalidRequest(parsed.reason);
    const { filter, limit, cursor } = parsed.value;
    const why = whyNotListed(operator.isPerKey, filter);
    if (why !== null) return invalidRequest(why);
    const page = await operator.list(filter, limit, cursor);
    if (page === null) return invalidRequest(`${NO_PAGE} Begin again without a cursor.`);
    const { calls: _calls, ...shown } = page;
    return context.json<RecordPageView>({ ...shown, records: page.records.map(viewSummary) });
  });
  app.get("/records/:id", async (context) => {
    const record = isRecordId(context) ? await operator.inspect(idOf(context)) : null;
    return record === null
      ? refuseRequest({ code: "record-not-found" })
      : context.json<RecordView>(viewDetail(record, epochMs(Date.now())));
  });
  app.get("/records/:id/body", async (context) => {
    const body = isRecordId(context) ? await operator.body(idOf(context), context.get("actor")) : null;
    if (body === null) return refuseRequest({ code: "record-not-found" });
    // Whatever its type: no browser may show or run it.
    const headers = { "Content-Type": "application/octet-stream", "Content-Disposition": "attachment" };
    return new Response(body, { headers, encodeBody: "manual" });
  });
  for (const action of ACTION_NAMES) {
    const parsed = parseBody((json) => parseChange(action, json));
    app.post(`/records/:id/${action}`, parsed, (context) => change(context, operator));
  }
}

async function change(
  context: Context<RequestVariables & ParsedVariables<ParsedChange>>,
  operator: Operator,
): Promise<Response> {
  if (!isRecordId(context)) return refuseRequest({ code: "record-not-found" });
  const asked = context.get("parsed");
  const { isPreview, response } = asked;
  const result = await operator.change(idOf(context), { ...asked, by: context.get("actor") });
  switch (result.kind) {
    case "changed":
      return isPreview && response !== null
        ? context.json<PreviewView>({ preview: previewOf(response, operator.omittedHeaders(result.record.route)) })
        : context.json<RecordView>(viewDetail(result.record, epochMs(Date.now())));
    case "forgotten":
      return context.json<ForgottenView>({ forgotten: !isPreview });
    case "refused":
      return refuseRequest(
        result.why === "none" ? { code: "record-not-found" } : { ...result, code: "change-refused" },
      );
  }
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function isRecordId(context: Context): boolean {
  return RECORD_ID.test(idOf(context));
}

function idOf(context: Context): ReturnType<typeof recordId> {
  return recordId(context.req.param("id") ?? "");
}

/** No cache may store an answer, no browser may guess its type, and no other page of this host may read it in a window or a frame. */
function guarded(response: Response): Response {
  response.headers.set("Cache-Control", "no-store");
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'");
  response.headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return response;
}
