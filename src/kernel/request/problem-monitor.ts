// Where a client finds out what became of its request after a problem that leaves it open: the problem names the address (src/features/look-up/README.md).
// Only one at which this very caller gets an answer: elsewhere it would read that its key is not known, and take a request that acted for one that
// never came.

import type { ClientProblemCode } from "../record/problem.ts";
import { STATUS_HEADER } from "./headers.ts";
import type { ExchangeIntent } from "./intent.ts";
import { type MonitoredRequest, monitorPathOf } from "./monitor-url.ts";
import type { ReadScopes } from "./read-scopes.ts";
import { isWholeScope } from "./record-name.ts";
import { hasScopeInBody } from "./scope-in-body.ts";

const OPEN: readonly ClientProblemCode[] = [
  "in-flight",
  "outcome-unknown",
  "origin-dropped",
  "origin-timeout",
  "response-not-kept",
];

/** A request with a key, as its address names it. */
export function monitoredRequest({ request: { method }, url, key }: ExchangeIntent): MonitoredRequest {
  return { method, path: url.pathname, key: key.key, isFromContent: key.isFromContent === true };
}

/** A path and a query; `null`: the request's client may ask nowhere. Of several JSON-RPC routes at one path only a call's body says which is meant. */
export function lookUpAddress(intent: ExchangeIntent, { scope }: Pick<ReadScopes, "scope">): string | null {
  const { route, edits } = intent;
  const isAnswered = route.lookUp && edits === undefined && isWholeScope(scope) && !hasScopeInBody(route);
  return isAnswered ? monitorPathOf(monitoredRequest(intent)) : null;
}

/** Whether an error of a shard is such a problem. */
export function isLeftOpen({ headers }: Response): boolean {
  const code = headers.get(STATUS_HEADER);
  return OPEN.some((open) => open === code);
}

/** The problem with the address; `null`: there is none. */
export async function withMonitor(problem: Response, monitor: string | null): Promise<Response> {
  if (monitor === null) return problem;
  const { status } = problem;
  const headers = new Headers(problem.headers);
  headers.delete("Content-Length");
  const members: object = JSON.parse(await problem.text());
  return new Response(JSON.stringify({ ...members, monitor }), { status, headers });
}
