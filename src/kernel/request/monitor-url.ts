// The address of a monitor: below it is the request's own path, and in its query what a retry would have, except the caller, who
// proves who it is with each question. The key is in it, so it is as secret as the key.

import type { Config, Route } from "../config/resolved.ts";
import { MAX_KEY_LENGTH } from "../record/units.ts";
import type { FindRoute } from "./intent.ts";
import { formatProblem, type KeyFormat } from "./key.ts";
import { WELL_KNOWN_PATH } from "./problem-response.ts";

/** The request's own path, as it came, follows. */
export const MONITOR_PREFIX = `${WELL_KNOWN_PATH}/requests`;

/** A request that was accepted, as far as its monitor names it. */
export interface MonitoredRequest {
  readonly method: string;
  readonly path: string;
  /** The key itself, not as a header carries it. */
  readonly key: string;
  /** Whether the key is made from the request's content: a client's own key of that text is another. */
  readonly isFromContent: boolean;
}

/** What the query of a monitor is asked for. */
export interface AskedMonitor extends MonitoredRequest {
  /** The beginning of the fingerprint; empty: it is missing. */
  readonly fingerprintPrefix: string;
}

/** Reads it, or cancels the request. */
export const MONITOR_METHODS = ["GET", "HEAD", "DELETE"];

/** Whether some route accepts requests: then the paths of monitors are the gateway's own. */
export function acceptsRequests({ routes }: Pick<Config, "routes">): boolean {
  return routes.some(({ async }) => async !== "never");
}

/** Whether clients of the route may ask about a request at its address: what became of its key, or how far an accepted one is. */
export function isAskedAbout({ async, lookUp }: Pick<Route, "async" | "lookUp">): boolean {
  return lookUp || async !== "never";
}

/** The route of the accepted request; `null`: there is none. */
export function monitoredRoute(
  { method, path }: Pick<MonitoredRequest, "method" | "path">,
  findRoute: FindRoute,
): Route | null {
  const found = findRoute(method, path);
  return found === null || found === "too-long" || found.async === "never" ? null : found;
}

const USUAL_METHOD = "POST";

/** In the query: where the key comes from, if its client has not sent it. */
const SOURCE = "source";
const CONTENT = "content";

/** A path and a query, to which the shard adds the fingerprint's beginning. */
export function monitorPathOf({ method, path, key, isFromContent }: MonitoredRequest): string {
  const source = isFromContent ? `&${SOURCE}=${CONTENT}` : "";
  const named = `${MONITOR_PREFIX}${path}?key=${encodeURIComponent(key)}${source}`;
  return method === USUAL_METHOD ? named : `${named}&method=${encodeURIComponent(method)}`;
}

/** The monitor with the fingerprint's beginning. */
export function fullMonitorOf(asked: AskedMonitor): string {
  return `${monitorPathOf(asked)}&print=${asked.fingerprintPrefix}`;
}

/** Whether the path is that of a monitor, in a gateway that accepts requests. */
export function isMonitorPath(pathname: string): boolean {
  return pathname.startsWith(`${MONITOR_PREFIX}/`);
}

/** What is wrong with the key that is asked about; `null`: nothing. A key that is made from content has a form of its own. */
export function askedKeyProblem({ key, isFromContent }: AskedMonitor, format: KeyFormat): string | null {
  return formatProblem(key, 'The parameter "key"', isFromContent ? ANY_FORMAT : format);
}

const ANY_FORMAT: KeyFormat = { pattern: null, min: 1, max: MAX_KEY_LENGTH };

/** `null`: the URL is not that of a monitor. */
export function monitorIn({ pathname, searchParams }: URL): AskedMonitor | null {
  if (!isMonitorPath(pathname)) return null;
  return {
    method: searchParams.get("method") ?? USUAL_METHOD,
    path: pathname.slice(MONITOR_PREFIX.length),
    key: searchParams.get("key") ?? "",
    isFromContent: searchParams.get(SOURCE) === CONTENT,
    fingerprintPrefix: searchParams.get("print") ?? "",
  };
}
