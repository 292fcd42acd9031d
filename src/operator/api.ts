// The operator API: JSON under one path, for holders of a token alone. Every operation stands in openapi.json, which tests
// hold against this file. Nothing of a record shows, and nothing changes, before the token has been looked at.

import { Hono } from "hono";
import type { Context } from "hono";
import { version } from "../../package.json";
import type { Problem } from "../core/problem.ts";
import type { Change } from "../core/timeline.ts";
import { epochMs, KEY_HASH_DIGITS, type RecordId, recordId } from "../core/units.ts";
import { readBounded } from "../http/body.ts";
import { ByteReader } from "../http/body-reader.ts";
import { ByteBudget } from "../http/byte-budget.ts";
import { drain, endAfter } from "../http/drain.ts";
import { problemResponse } from "../http/problem-response.ts";
import type { OperatorAuth, Role } from "./auth.ts";
import { parseChange } from "./change-request.ts";
import { parseListRequest } from "./list-request.ts";
import { EXPOSITION_TYPE } from "./exposition.ts";
import { previewOf } from "./given-response.ts";
import type { GivenResponse, Operator } from "./operator.ts";
import type { TrafficReader } from "./traffic-reader.ts";
import { totalOf } from "./totals.ts";
import { viewDetail, viewExchange, viewSummary } from "./views.ts";

type Handle = (request: Request) => Response | Promise<Response>;
interface Variables {
  readonly Variables: { role: Role };
}

/** Of a request for a change: a body of a mebibyte in base64, its headers, and room for escapes. */
const MOST_REQUEST_BYTES = 4 << 20;

/** What they hold while they come. */
const changeMemory = new ByteBudget(4 * MOST_REQUEST_BYTES, 60_000);

const CHANGES: readonly Change[] = ["release", "resolve", "forget"];

/** `auth` is `null` where operators are not let in: then there is nothing here. */
export function createOperatorApi(
  path: string,
  auth: OperatorAuth | null,
  operator: Operator,
  reader: TrafficReader,
): Handle {
  const app = auth === null ? new Hono<Variables>() : operatorApp(path, auth, operator, reader);
  app.notFound(() => refuse({ code: "operator-not-found" }));
  return async (request) => guarded(await app.fetch(request));
}

/** Each route with its method as it stands in openapi.json, for the test that compares them. */
export function operatorApp(
  path: string,
  auth: OperatorAuth,
  operator: Operator,
  reader: TrafficReader,
): Hono<Variables> {
  const app = new Hono<Variables>({ getPath: ({ url }) => new URL(url).pathname.slice(path.length) || "/" });
  // What needs no token would have to stand above this.
  app.use(async (context, next) => {
    const { headers } = context.req.raw;
    const address = headers.get("cf-connecting-ip") ?? "local";
    const admission = await auth.admit(headers.get("authorization"), address, Date.now());
    if (admission.kind === "refused") return refuse(admission.problem);
    context.set("role", admission.role);
    return next();
  });
  app.get("/health", (context) => context.json({ status: "ok", version }));
  app.get("/drain", async (context) => {
    const { shards, silent } = await operator.counts();
    if (shards.length === 0 && silent.length > 0) return refuse({ code: "store-unavailable" });
    return context.json({ ...totalOf(shards), silent, shards });
  });
  app.get("/metrics", async () => {
    return new Response(await reader.metrics(), { headers: { "Content-Type": EXPOSITION_TYPE } });
  });
  app.get("/recent", async (context) => {
    const recent = await reader.recent(context.req.query("after") ?? null);
    if (recent === null) return invalid("after is no cursor that this feed has given: begin without one.");
    return context.json({ exchanges: recent.exchanges.map(viewExchange), cursor: recent.cursor });
  });
  app.get("/records", async (context) => {
    const parsed = parseListRequest(new URL(context.req.url).searchParams);
    if (!parsed.ok) return invalid(parsed.reason);
    const { filter, limit, cursor } = parsed.value;
    if (operator.isPerKey && filter.key === null && (filter.idPrefix?.length ?? 0) < KEY_HASH_DIGITS) {
      return invalid(
        `Every key has an object of its own (shards = "per-key"), and those cannot be listed: give a key, or the first ${KEY_HASH_DIGITS} digits of an id.`,
      );
    }
    const page = await operator.list(filter, limit, cursor);
    if (page === null)
      return invalid("cursor is none that a list has given, or the shards are others now: begin again.");
    return context.json({ records: page.records.map(viewSummary), cursor: page.cursor, silent: page.silent });
  });
  app.get("/records/:id", async (context) => {
    const record = isRecordId(context) ? await operator.inspect(idOf(context)) : null;
    return record === null
      ? refuse({ code: "record-not-found" })
      : context.json(viewDetail(record, epochMs(Date.now())));
  });
  app.get("/records/:id/body", async (context) => {
    if (context.get("role") !== "admin") return refuse(auth.forbid());
    const body = isRecordId(context) ? await operator.body(idOf(context)) : null;
    if (body === null) return refuse({ code: "record-not-found" });
    // Whatever its type is: no browser is to show it, or run it.
    const headers = { "Content-Type": "application/octet-stream", "Content-Disposition": "attachment" };
    return new Response(body, { headers, encodeBody: "manual" });
  });
  app.post("/sessions/end", async (context) => {
    if (context.get("role") !== "admin") return refuse(auth.forbid());
    await operator.endSessions("admin");
    return context.json({ ended: true });
  });
  for (const action of CHANGES) {
    app.post(`/records/:id/${action}`, (context) => change(context, action, auth, operator));
  }
  app.onError((error) => {
    console.error({ message: "operator request failed", reason: String(error) });
    return refuse({ code: "store-unavailable" });
  });
  return app;
}

async function change(
  context: Context<Variables>,
  action: Change,
  auth: OperatorAuth,
  operator: Operator,
): Promise<Response> {
  const stream = context.req.raw.body;
  if (context.get("role") !== "admin") {
    const refusal = refuse(auth.forbid());
    return stream === null ? refusal : endAfter(refusal, drain(new ByteReader(stream)));
  }
  const body = await readBounded(stream, MOST_REQUEST_BYTES, changeMemory).catch(() => null);
  if (body === null) return invalid("The request's body broke off.");
  if (body.kind === "over" && body.readBytes <= MOST_REQUEST_BYTES) {
    return endAfter(refuse({ code: "store-unavailable" }), drain(body.rest));
  }
  if (body.kind === "over") {
    return endAfter(refuse({ code: "body-too-large", limitBytes: MOST_REQUEST_BYTES }), drain(body.rest));
  }
  const parsed = parseChange(action, body.body.bytes);
  body.body.free();
  if (!parsed.ok) return invalid(parsed.reason);
  if (!isRecordId(context)) return refuse({ code: "record-not-found" });
  const { isPreview, ...asked } = parsed.value;
  if (isPreview && asked.response !== null) return preview(idOf(context), asked.response, context, operator);
  const result = await operator.change(idOf(context), { ...asked, by: "admin" });
  switch (result.kind) {
    case "changed":
      return context.json(viewDetail(result.record, epochMs(Date.now())));
    case "forgotten":
      return context.json({ forgotten: true });
    case "refused":
      return refuse(result.why === "none" ? { code: "record-not-found" } : { ...result, code: "change-refused" });
  }
}

/** Changes nothing; refuses what the change itself would be refused for. */
async function preview(
  id: RecordId,
  response: GivenResponse,
  context: Context<Variables>,
  operator: Operator,
): Promise<Response> {
  const record = await operator.inspect(id);
  if (record === null) return refuse({ code: "record-not-found" });
  switch (record.state) {
    case "failed":
    case "unknown":
      return context.json({ preview: previewOf(response, operator.omittedHeaders(record.route)) });
    case "completed":
      return refuse({ code: "change-refused", why: "completed" });
    case "started": {
      const retryAfterMs = Math.max(0, record.lockedUntil - Date.now());
      return refuse({ code: "change-refused", why: "in-flight", retryAfterMs });
    }
  }
}

function isRecordId(context: Context<Variables>): boolean {
  return /^[0-9a-f]{64}$/.test(idOf(context));
}

function idOf(context: Context<Variables>): ReturnType<typeof recordId> {
  return recordId(context.req.param("id") ?? "");
}

function invalid(reason: string): Response {
  return refuse({ code: "operator-request-invalid", reason });
}

function refuse(problem: Problem): Response {
  const response = problemResponse(problem, null);
  if (response.status === 401) response.headers.set("WWW-Authenticate", "Bearer");
  return response;
}

/** Nothing of this is to be kept by anybody, or taken for anything else than what it is called. */
function guarded(response: Response): Response {
  response.headers.set("Cache-Control", "no-store");
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}
