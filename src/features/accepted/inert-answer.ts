// Makes a monitor's answer inert. A monitor answers a GET with what the origin said to a POST: a browser would show it as a page of this
// host, where operators may be signed in to the console, and a cache would keep it although the origin never allowed that for a POST. So
// the answer can be read as data, and nothing that it says about the page, the host or a cache is sent.

import type { FinishAnswer } from "../../kernel/request-feature.ts";
import type { HeadersView } from "../../kernel/request/headers.ts";
import { isMonitorPath, MONITOR_PREFIX } from "../../kernel/request/monitor-url.ts";

/** Tell a cache to keep the answer, or under which name. */
const OF_CACHES = new Set([
  "age",
  "cache-tag",
  "edge-cache-tag",
  "edge-control",
  "expires",
  "no-vary-search",
  "pragma",
  "surrogate-control",
  "surrogate-key",
  "x-accel-expires",
]);
/** `Cache-Control` itself, and those for one kind of cache: `CDN-Cache-Control`, `Cloudflare-CDN-Cache-Control`. */
const CACHE_CONTROL = /(?:^|-)cache-control$/;

/** Tell a browser something about this page, or about everything on this host. */
const OF_BROWSERS = new Set([
  "accept-ch",
  "activate-storage-access",
  "alt-svc",
  "clear-site-data",
  "content-security-policy",
  "content-security-policy-report-only",
  "critical-ch",
  "cross-origin-embedder-policy",
  "cross-origin-opener-policy",
  "cross-origin-resource-policy",
  "expect-ct",
  "nel",
  "origin-agent-cluster",
  "permissions-policy",
  "public-key-pins",
  "refresh",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "set-cookie",
  "set-cookie2",
  "set-login",
  "speculation-rules",
  "strict-transport-security",
  "x-frame-options",
]);

function isDropped(name: string): boolean {
  const lower = name.toLowerCase();
  return OF_CACHES.has(lower) || OF_BROWSERS.has(lower) || CACHE_CONTROL.test(lower);
}

/** `sandbox` gives the page an origin of its own, in which no script runs and no form is sent. */
const INERT = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
};

/** Makes every answer at the address of a monitor inert, whichever way it was made: results, refusals and answers after a bug. */
export const inertAtMonitors: FinishAnswer = (answer, request, _route, headers) => {
  // Most requests are none, and are not parsed for it.
  const isAtMonitor = request.url.includes(MONITOR_PREFIX) && isMonitorPath(URL.parse(request.url)?.pathname ?? "");
  return isAtMonitor ? inertAnswer(answer, headers) : answer;
};

/** The answer, with the status, the body and all headers that describe the result. */
export function inertAnswer(answer: Response, request: HeadersView): Response {
  const headers = new Headers(answer.headers);
  for (const [name] of answer.headers) if (isDropped(name)) headers.delete(name);
  for (const [name, value] of Object.entries(INERT)) headers.set(name, value);
  const { status, statusText, body } = answer;
  // A link to a monitor must not lead a browser away from this host. A client that reads it sees where a redirect leads.
  if (status >= 300 && status <= 399 && destinationOf(request) === "document") headers.delete("Location");
  const init = { status, statusText, headers, encodeBody: "manual" } as const;
  return new Response(body, init);
}

/**
 * Whether a browser would make something else of the answer than a page or a script's data: a script, a worker, a style sheet, an image, a
 * frame (Fetch Metadata, `Sec-Fetch-Dest`). Nobody follows a request like that, and a look asks the origin about a lost attempt.
 */
export function isLoadedIntoPage(request: HeadersView): boolean {
  const destination = destinationOf(request);
  return destination !== null && destination !== "empty" && destination !== "document";
}

/** `null`: no browser sends the request, or one that does not tell. */
function destinationOf(request: HeadersView): string | null {
  return request.get("sec-fetch-dest");
}
