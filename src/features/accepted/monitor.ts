// Answers who asks for the outcome of an accepted request. The question names its record as a retry would, with the scope of whoever
// asks, so nobody reads here what a retry would not get. Nothing here begins an attempt; the object may ask the origin about a lost one.

import type { Layout, Layouts } from "../../kernel/config/layout.ts";
import type { Problem } from "../../kernel/record/problem.ts";
import { durationMs } from "../../kernel/record/units.ts";
import { named, namerOf, readScopes } from "../../kernel/request/exchange-request.ts";
import type { Identities } from "../identities/identity.ts";
import { isLoadedIntoPage } from "./inert-answer.ts";
import type { MonitorIntent } from "../../kernel/request/intent.ts";
import { formatProblem } from "../../kernel/request/key.ts";
import { writeKey } from "../../kernel/request/key-text.ts";
import { type MonitorQuestion, PRINT_DIGITS } from "./monitor-question.ts";
import { fullMonitorOf } from "../../kernel/request/monitor-url.ts";
import { preferencesIn } from "../../kernel/request/prefer.ts";
import { problemResponse } from "../../kernel/request/problem-response.ts";

/**
 * Asks the objects that may keep the record, in one layout after the other. `not-found`: none of them has it, for this caller and this
 * request. `null`: one cannot be reached, so nobody knows.
 */
export type AskMonitor = (
  layouts: Layouts,
  questionIn: (layout: Layout) => Promise<MonitorQuestion>,
) => Promise<Response | "not-found" | null>;

export interface MonitorPorts {
  /** Proves who callers are, where a route's scope says that. */
  readonly identities: Identities;
  readonly askMonitor: AskMonitor;
}

/** No client keeps the gateway busy for longer with one look. */
const MAX_WAIT_MS = 10_000;

const PRINT = new RegExp(`^[0-9a-f]{${PRINT_DIGITS}}$`);

const NOT_FOUND: Problem = { code: "monitor-not-found" };

const NO_DATA: Problem = {
  code: "request-invalid",
  reason: "A page reads this address with fetch(): it is no script, image, style sheet or frame.",
};

/** Its answer is made inert, as every answer at this address (app.ts). */
export async function answerMonitor(
  intent: MonitorIntent,
  { identities, askMonitor }: MonitorPorts,
): Promise<Response> {
  const { request, headers, route, asked } = intent;
  if (isLoadedIntoPage(headers)) return problemResponse(NO_DATA, null);
  const { key, print } = asked;
  const reason = formatProblem(key, 'The parameter "key"', route.keyFormat);
  if (reason !== null) return problemResponse({ code: "key-invalid", reason }, null);
  const echo = writeKey(key);
  const scopes = readScopes(intent, await identities.prove(intent));
  if ("problem" in scopes) return problemResponse(scopes.problem, echo);
  if (!PRINT.test(print)) return problemResponse(NOT_FOUND, echo);
  const namesIn = namerOf(key, scopes);
  const waitMs = Math.min(preferencesIn(headers.get("prefer")).waitMs ?? 0, route.rules.waitMs, MAX_WAIT_MS);
  const answer = await askMonitor(route.layouts, async (layout) => ({
    record: { ...named(await namesIn(layout)), key, route: route.path, lane: scopes.lane },
    rules: route.rules,
    echo,
    print,
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
