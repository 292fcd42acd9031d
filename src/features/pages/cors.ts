// What pages of other origins may read (`cors`). It is the last step of an answer, in the Worker: neither records nor objects know
// of it, so a replay that one page caused is right for another. With `cors`, the gateway alone sets these headers, on first answers
// and on replays. It is no access control: a request is processed as any other, whoever may read its answer (Fetch standard).

import type { Config, Cors, Route } from "../../kernel/config/resolved.ts";
import { isListed } from "../../kernel/config/page-origin.ts";
import type { Endpoint, FinishAnswer } from "../../kernel/request-feature.ts";
import {
  ECHO_HEADER,
  EXPIRES_HEADER,
  type HeadersView,
  KEY_SOURCE_HEADER,
  REPLAYED_HEADER,
  STATUS_HEADER,
  VERIFIED_HEADER,
} from "../../kernel/request/headers.ts";
import { isAskedAbout, MONITOR_METHODS, monitorIn } from "../../kernel/request/monitor-url.ts";

const ALLOW_ORIGIN = "Access-Control-Allow-Origin";

/** All headers of an answer by which browsers decide what pages may read have such names. */
const CORS_HEADER = /^access-control-/i;

/** The gateway's own headers, which its clients need. */
const OWN_HEADERS = [
  ECHO_HEADER,
  STATUS_HEADER,
  REPLAYED_HEADER,
  EXPIRES_HEADER,
  VERIFIED_HEADER,
  KEY_SOURCE_HEADER,
  "Retry-After",
  "Link",
  "WWW-Authenticate",
  "X-Should-Retry",
].join(", ");

/** Lets the pages that the route lists read the answer. What the origin answers about other origins, without the gateway, is its own affair. */
export const readableAnswer: FinishAnswer = (answer, _request, route, headers) =>
  route === null || route.cors === null ? answer : readableResponse(answer, route.cors, headers.get("origin"));

/** The answer for the page that sent this `Origin`; `null`: none did. */
export function readableResponse(response: Response, cors: Cors, origin: string | null): Response {
  const headers = new Headers(response.headers);
  for (const [name] of response.headers) if (CORS_HEADER.test(name)) headers.delete(name);
  if (allowOrigin(headers, cors, origin)) {
    const { exposeHeaders } = cors;
    headers.set("Access-Control-Expose-Headers", [OWN_HEADERS, ...exposeHeaders].join(", "));
  }
  const { status, statusText, body } = response;
  const init = { status, statusText, headers, encodeBody: "manual" } as const;
  return new Response(body, init);
}

/** Browsers ask whether a page of another origin may send a request that a route protects, or may ask about one. */
export function preflightEndpoint(config: Pick<Config, "routes">): Endpoint {
  const answersPreflights = config.routes.some(({ cors }) => cors?.preflight === "answer");
  const hasMonitors = config.routes.some(isAskedAbout);
  return {
    find: (request, url, findRoute) => {
      if (!answersPreflights && !hasMonitors) return null;
      const preflight = preflightIn(request.method, request.headers);
      if (preflight === null) return null;
      const own = (methods: readonly string[], cors: Cors) =>
        ({
          kind: "own",
          isAboutRecord: false,
          route: null,
          answer: () => preflightResponse({ methods }, cors, preflight),
        }) as const;
      const monitored = hasMonitors ? monitorIn(url) : null;
      if (monitored !== null) {
        const route = findRoute(monitored.method, monitored.path);
        if (route === null || route === "too-long" || !isAskedAbout(route) || route.cors === null) return null;
        return own(MONITOR_METHODS, route.cors);
      }
      const asked = answersPreflights ? findRoute(preflight.method, url.pathname) : null;
      // Every other preflight is the origin's: it asks for something that no route protects.
      if (asked === null || asked === "too-long" || asked.cors?.preflight !== "answer") return null;
      return own(asked.methods, asked.cors);
    },
  };
}

/** A preflight: which page asks to send what. */
export interface PreflightRequest {
  readonly origin: string;
  readonly method: string;
  readonly isPrivateNetwork: boolean;
}

/** `null`: the request is another one (Fetch standard, "CORS-preflight request"). */
export function preflightIn(method: string, headers: HeadersView): PreflightRequest | null {
  if (method !== "OPTIONS") return null;
  const origin = headers.get("origin");
  const asked = headers.get("access-control-request-method");
  if (origin === null || asked === null) return null;
  return { origin, method: asked, isPrivateNetwork: headers.get("access-control-request-private-network") === "true" };
}

/** The gateway's answer to a preflight. It says the same whatever is asked, and nothing to pages that are not listed. */
export function preflightResponse(
  { methods }: Pick<Route, "methods">,
  cors: Cors,
  { origin, isPrivateNetwork }: PreflightRequest,
): Response {
  const headers = new Headers();
  if (allowOrigin(headers, cors, origin)) {
    headers.set("Access-Control-Allow-Methods", methods.join(", "));
    headers.set("Access-Control-Allow-Headers", cors.allowHeaders.join(", "));
    headers.set("Access-Control-Max-Age", String(Math.floor(cors.maxAgeMs / 1000)));
    // For a gateway in a private network (WICG, "Private Network Access"): to pages that somebody has listed, not to every page of the web.
    if (isPrivateNetwork && cors.origins !== null) headers.set("Access-Control-Allow-Private-Network", "true");
  }
  return new Response(null, { status: 204, headers });
}

/** Sets the headers that depend on the page. Returns whether it may read the answer. */
function allowOrigin(headers: Headers, { origins, credentials }: Cors, origin: string | null): boolean {
  if (origins === null) {
    headers.set(ALLOW_ORIGIN, "*");
    return true;
  }
  if (!namesOrigin(headers.get("vary"))) headers.append("Vary", "Origin");
  if (origin === null || !origins.some((listed) => isListed(listed, origin))) return false;
  headers.set(ALLOW_ORIGIN, origin);
  if (credentials) headers.set("Access-Control-Allow-Credentials", "true");
  return true;
}

function namesOrigin(vary: string | null): boolean {
  return vary !== null && vary.split(",").some((name) => ["*", "origin"].includes(name.trim().toLowerCase()));
}
