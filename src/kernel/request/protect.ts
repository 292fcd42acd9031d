// A request that a route protects, acted on: it is read (exchange-request.ts), answered from this isolate's memory if that
// has its replay, and otherwise run by the shard that keeps its record.

import type { Origin, Route } from "../config/resolved.ts";
import { isShapedCode } from "../config/problem-shape.ts";
import { outcomeOf } from "../record/outcome.ts";
import type { ClientProblem } from "../record/problem.ts";
import { instanceOf } from "../record/units.ts";
import { type ExchangeReporter, type ExchangeSpan, TIMING_HEADER } from "../traffic/exchange-reporter.ts";
import type { HopTimer } from "../traffic/hop-meter.ts";
import { REPORT_HEADER } from "../traffic/platform-span.ts";
import { parseTraceparent, TRACEPARENT_HEADER } from "../traffic/trace-context.ts";
import { readExchange, type ReadPorts } from "./exchange-request.ts";
import type { ExchangeIntent, RefusedExchange, SearchIntent } from "./intent.ts";
import type { ExchangeRequest } from "./message.ts";
import type { RepeatedValues } from "../request-feature.ts";
import { STATUS_HEADER } from "./headers.ts";
import { NOTHING_REPEATED } from "./repeated-values.ts";
import { type Fetcher, forwardUnprotected, type PassOn } from "./pass-through.ts";
import { answerUnread } from "./own-body.ts";
import { isLeftOpen, withMonitor } from "./problem-monitor.ts";
import { type MadeKey, newInstance, problemResponse } from "./problem-response.ts";
import type { ReplayCache } from "./replay-cache.ts";
import { unreadOf } from "./body.ts";

/**
 * Runs an exchange in the shard that keeps its record. `null` when the shard cannot be reached, or cannot write; `nowhere` when
 * every shard answers and the key begins in none of them, because operators have contradicted each other.
 */
export type CallShard = (route: Route, exchangeRequest: ExchangeRequest) => Promise<Response | "nowhere" | null>;

/** The ways out of the Worker. */
export interface ProtectPorts extends ReadPorts {
  readonly callShard: CallShard;
  /** Where requests go; `null` when the origin names a binding that does not exist. */
  readonly target: (origin: Origin) => Fetcher | null;
  /** Reports the exchanges that this isolate answers alone; the shard reports all others. */
  readonly reporter: ExchangeReporter;
}

/** Refuses a request whose key is missing or invalid, or another process's. */
export async function refuseExchange(intent: RefusedExchange, ports: ProtectPorts): Promise<Response> {
  const { reporter } = ports;
  const { problem, request, headers, route } = intent;
  const refusal = finishWith(problem, null, beginSpan(intent, reporter), reporter);
  return answerUnread(await shaped(refusal, route, ports), unreadOf(request, headers));
}

/** Answers a request that has a key; one that its route lets pass without one is still to be sent on. */
export async function runExchange(
  intent: ExchangeIntent | SearchIntent,
  ports: ProtectPorts,
  replays: ReplayCache,
): Promise<Response | PassOn> {
  const { route } = intent;
  const { reporter } = ports;
  const span = beginSpan(intent, reporter);
  const read = await readExchange(intent, span.telemetry, ports);
  switch (read.kind) {
    case "refuse":
      return answerUnread(
        await shaped(finishWith(read.problem, read.echo, span, reporter), read.route ?? route, ports, read.repeated),
        read.unread,
      );
    case "pass":
      reporter.passed(route.path);
      return read;
    case "answered":
      return read.response;
    case "exchange":
      try {
        const own = read.exchange.route ?? route;
        const response = await answer(read.exchange, own, ports, replays, span);
        const { request, rules } = read.exchange.head;
        const given =
          response === null
            ? finishWith({ code: "store-unavailable" }, request.echo, span, reporter, rules.contentKey)
            : await addressed(response, read.exchange, intent, ports);
        const isShaped = own.problemShape !== null && isProblem(given);
        return isShaped ? await shaped(given, own, ports, read.repeated) : given;
      } finally {
        read.exchange.free();
      }
  }
}

/** The answer of this isolate, of the shard, or of the origin without protection; `null` when there is none. */
async function answer(
  request: ExchangeRequest,
  route: Route,
  { reporter, callShard, target }: ProtectPorts,
  replays: ReplayCache,
  span: ExchangeSpan,
): Promise<Response | null> {
  const { id: recordId } = request.head.record;
  const { fingerprint, echo, lastEventId } = request.head.request;
  const { contentKey } = request.head.rules;
  span.recordId = recordId;
  span.isFromContent = contentKey !== undefined;
  span.instance = instanceOf(request.head.request.attemptId);
  // Only the shard can answer from the middle of a stream, compare a body that is still to come, or tell a repeat from the same request.
  const isCacheable = request.rest === null && lastEventId === null && contentKey?.repeat !== "refuse";
  const asked = isCacheable ? { recordId, fingerprint, echo } : null;
  const known = asked === null ? null : replays.find(asked, Date.now());
  if (known !== null) return reporter.finish(span, known, "replay");
  const isCached = asked !== null && replays.isAskedAgain(recordId);
  const message = await withNote(request);
  const timer = reporter.hops.begin({ route: span.route, serverTiming: span.telemetry.serverTiming });
  const measured = withHops(isCached ? toCache(message) : message, timer, reporter);
  const response = await callShard(route, measured);
  // Nothing is down, so failing open is not meant: a retry would act again.
  if (response === "nowhere") return null;
  if (response !== null) {
    const report = reporter.takeReport(span, timer, response);
    const given = report === null ? response : withoutReport(response, report.timing);
    // Headers cost something to read: those of a success are left alone.
    if (given.status >= 400 && isLeftOpen(given)) return withMonitor(given, request.lookUpAddress?.() ?? null);
    return isCached ? replays.keep(given, asked, Date.now()) : given;
  }
  if (route.onStoreFailure === "closed" || !canSendBody(request)) return null;
  return reporter.finish(span, await forwardUnprotected(request, target(route.origin)), "unprotected");
}

/** Whether an answer is the gateway's own: no origin's has such a status. */
function isProblem({ headers }: Response): boolean {
  return isShapedCode(headers.get(STATUS_HEADER) ?? "");
}

/** A problem as the route's clients expect it. The log and the metrics have its own status. */
async function shaped(
  problem: Response,
  { problemShape }: Route,
  { shapeProblem }: ProtectPorts,
  repeated: RepeatedValues = NOTHING_REPEATED,
): Promise<Response> {
  if (problemShape === null || shapeProblem === undefined) return problem;
  return shapeProblem(problem, problemShape, repeated);
}

/** The answer as its request needs it, if it was another's first. */
async function addressed(
  shared: Response,
  { edits, head: { request } }: ExchangeRequest,
  intent: ExchangeIntent | SearchIntent,
  { editReplay }: ProtectPorts,
): Promise<Response> {
  if (edits === undefined || editReplay === undefined || !SHARED.has(shared.headers.get(STATUS_HEADER) ?? ""))
    return shared;
  const caller = intent.kind === "exchange" ? intent.request : intent.passing.request;
  return editReplay(shared, { ...edits, echo: request.echo, instance: instanceOf(request.attemptId), caller });
}

/** What `STATUS_HEADER` says of an answer that was another's first. */
const SHARED: ReadonlySet<string> = new Set(["replayed", "attached"]);

async function withNote(request: ExchangeRequest): Promise<ExchangeRequest> {
  const { head, note } = request;
  const noted = note === undefined ? null : await note();
  if (noted === null) return request;
  const excerpt = noted.excerpt === undefined ? null : { excerpt: noted.excerpt };
  return { ...request, head: { ...head, ...excerpt, record: { ...head.record, note: noted.note } } };
}

function toCache(exchangeRequest: ExchangeRequest): ExchangeRequest {
  const { head } = exchangeRequest;
  return { ...exchangeRequest, head: { ...head, request: { ...head.request, isCached: true } } };
}

/** A copy, because headers from an object cannot be changed. */
function withoutReport({ status, statusText, headers, body }: Response, timing: string | null): Response {
  const copy = new Response(body, { status, statusText, headers, encodeBody: "manual" });
  copy.headers.delete(REPORT_HEADER);
  if (timing !== null) copy.headers.append(TIMING_HEADER, timing);
  return copy;
}

/** Carries what was measured before, and has this call measured if there is a timer. */
function withHops(request: ExchangeRequest, timer: HopTimer | null, { hops }: ExchangeReporter): ExchangeRequest {
  const before = hops.take();
  if (timer === null && before.length === 0) return request;
  const { head } = request;
  return {
    ...request,
    ...(timer === null ? null : { timer }),
    head: {
      ...head,
      ...(before.length === 0 ? null : { hops: before }),
      ...(timer === null ? null : { telemetry: { ...head.telemetry, isMeasured: true } }),
    },
  };
}

/** Whether the body can still go elsewhere: a stream that has been read, or bytes that a shard has taken, cannot. */
export function canSendBody({ rest, body: { buffer } }: ExchangeRequest): boolean {
  return rest === null && !(buffer instanceof ArrayBuffer && buffer.detached);
}

function beginSpan(
  { headers, route }: Pick<ExchangeIntent, "headers" | "route">,
  reporter: ExchangeReporter,
): ExchangeSpan {
  const { path, log, serverTiming } = route;
  const trace = parseTraceparent(headers.get(TRACEPARENT_HEADER));
  return reporter.begin({
    route: path,
    recordId: null,
    instance: null,
    telemetry: { log, serverTiming, trace },
  });
}

function finishWith(
  problem: ClientProblem,
  echo: string | null,
  span: ExchangeSpan,
  reporter: ExchangeReporter,
  source?: MadeKey,
): Response {
  span.instance ??= newInstance();
  return reporter.finish(span, problemResponse(problem, echo, span.instance, source), outcomeOf(problem.code));
}
