// Answers who asks for the outcome of an accepted request. The question names its record as a retry would, with the scope of whoever
// asks, so nobody reads here what a retry would not get. Nothing here begins an attempt; the object may ask the origin about a lost one.

import type { Layout, Layouts } from "../../kernel/config/layout.ts";
import type { Route } from "../../kernel/config/resolved.ts";
import type { PreviousLayouts } from "../../kernel/elsewhere.ts";
import type { Problem } from "../../kernel/record/problem.ts";
import { durationMs } from "../../kernel/record/units.ts";
import { askedScopes, recordNames, namerOf, readScopes } from "../../kernel/request/read-scopes.ts";
import type { CallerRequest, Endpoint, ProveCaller } from "../../kernel/request-feature.ts";
import { HeaderSnapshot } from "../../kernel/request/headers.ts";
import { isLoadedIntoPage } from "./inert-answer.ts";
import { writeKey } from "../../kernel/request/key-text.ts";
import { type MonitorQuestion, FINGERPRINT_PREFIX_DIGITS } from "./monitor-question.ts";
import {
  askedKeyProblem,
  type AskedMonitor,
  fullMonitorOf,
  MONITOR_METHODS,
  MONITOR_PREFIX,
  monitoredRoute,
  monitorIn,
} from "../../kernel/request/monitor-url.ts";
import { preferencesIn } from "../../kernel/request/prefer.ts";
import { problemResponse } from "../../kernel/request/problem-response.ts";

/**
 * Asks the objects that may keep the record, in one layout after the other. `not-found`: none of them has it, for this caller and this
 * request. `null`: one cannot be reached, so nobody knows. `placing` decides which objects.
 */
export type AskMonitor = (
  placing: string,
  layouts: Layouts,
  questionIn: (layout: Layout, previous: PreviousLayouts | undefined) => Promise<MonitorQuestion>,
) => Promise<Response | "not-found" | null>;

export interface MonitorPorts {
  readonly proveCaller: ProveCaller;
  readonly askMonitor: AskMonitor;
}

/** No client keeps the gateway busy for longer with one look. */
const MAX_WAIT_MS = 10_000;

const FINGERPRINT_PREFIX = new RegExp(`^[0-9a-f]{${FINGERPRINT_PREFIX_DIGITS}}$`);

const NOT_FOUND: Problem = { code: "monitor-not-found" };

const NO_DATA: Problem = {
  code: "request-invalid",
  reason: "A page reads this address with fetch(): it is no script, image, style sheet or frame.",
};

const NO_MONITOR_METHOD: Problem = {
  code: "request-invalid",
  reason: "This address tells what became of a request (GET, HEAD), or cancels it (DELETE).",
  allow: MONITOR_METHODS,
};

/** Somebody asks what became of an accepted request, whose route it is. */
interface MonitorRequest extends CallerRequest {
  readonly request: Request;
  readonly route: Route;
  readonly asked: AskedMonitor;
}

/** The paths of monitors are the gateway's alone, whatever is asked there. */
export function monitorEndpoint(ports: MonitorPorts): Endpoint {
  return {
    under: MONITOR_PREFIX,
    find: (request, url, findRoute) => {
      const asked = monitorIn(url);
      if (asked === null) return null;
      if (!MONITOR_METHODS.includes(request.method)) return { kind: "refuse", problem: NO_MONITOR_METHOD };
      const route = monitoredRoute(asked, findRoute);
      if (route === null) return { kind: "refuse", problem: NOT_FOUND };
      const question = { request, headers: new HeaderSnapshot(request.headers), url, route, asked };
      return { kind: "own", isAboutRecord: true, route, answer: () => answerMonitor(question, ports) };
    },
  };
}

/** Its answer is made inert, as every answer at this address (inert-answer.ts). */
async function answerMonitor(question: MonitorRequest, { proveCaller, askMonitor }: MonitorPorts): Promise<Response> {
  const { request, headers, route, asked } = question;
  if (isLoadedIntoPage(headers)) return problemResponse(NO_DATA, null);
  const { key, fingerprintPrefix } = asked;
  const reason = askedKeyProblem(asked, route.keyFormat);
  if (reason !== null) return problemResponse({ code: "key-invalid", reason }, null);
  const echo = writeKey(key);
  const scopes = readScopes({ ...question, path: asked.path }, await proveCaller(question));
  if ("problem" in scopes) return problemResponse(scopes.problem, echo);
  const named = askedScopes(scopes, asked);
  if (named === null) return problemResponse(NOT_FOUND, echo);
  if (!FINGERPRINT_PREFIX.test(fingerprintPrefix)) return problemResponse(NOT_FOUND, echo);
  const namesIn = namerOf(key, named);
  const waitMs = Math.min(preferencesIn(headers.get("prefer")).waitMs ?? 0, route.rules.waitMs, MAX_WAIT_MS);
  const [placing] = await namesIn(route.layouts.own);
  const answer = await askMonitor(placing, route.layouts, async (layout, previous) => ({
    ...(previous === undefined ? null : { previous }),
    record: { ...recordNames(await namesIn(layout)), key, route: route.path, lane: scopes.lane },
    rules: route.rules,
    echo,
    fingerprintPrefix,
    monitor: fullMonitorOf(asked),
    waitMs: durationMs(waitMs),
    cancel: request.method === "DELETE",
  }));
  if (answer === "not-found") return problemResponse(NOT_FOUND, echo);
  if (answer === null) return problemResponse({ code: "store-unavailable" }, echo);
  return request.method === "HEAD" ? withoutBody(answer) : answer;
}

async function withoutBody({ status, statusText, headers, body }: Response): Promise<Response> {
  await body?.cancel();
  return new Response(null, { status, statusText, headers, encodeBody: "manual" });
}
