// The Worker's request handler: a request becomes an intent (kernel/request/intent.ts), and this file acts on it. Routes come from the
// configuration, in its order. Hono's router is used without its application, which would slow down every request (kernel/request/README.md).

import type { Consumers } from "../features/claims/api.ts";
import type { Config, ConfigProblem } from "../kernel/config/resolved.ts";
import type { Problem } from "../kernel/record/problem.ts";
import { preflightResponse, readable } from "../features/pages/cors.ts";
import { PROCESS_HEADER } from "../kernel/request/headers.ts";
import { isHost } from "../kernel/request/host.ts";
import { inertAnswer } from "../features/accepted/inert-answer.ts";
import {
  acceptsRequests,
  type ExchangeIntent,
  hostOf,
  type Intent,
  intentReader,
  type SearchIntent,
} from "../kernel/request/intent.ts";
import { operatorPathMatcher } from "../kernel/request/operator-path.ts";
import { answerMonitor } from "../features/accepted/monitor.ts";
import { isMonitorPath, MONITOR_PREFIX } from "../kernel/request/monitor-url.ts";
import { passThrough } from "../kernel/request/pass-through.ts";
import { newInstance, problemResponse } from "../kernel/request/problem-response.ts";
import { exchange, type Ports, refuseExchange } from "../kernel/request/protect.ts";
import { ReplayCache } from "../kernel/request/replay-cache.ts";
import { RotatingTokens } from "../kernel/request/rotating-tokens.ts";
import { wellKnownResponse } from "../kernel/request/well-known.ts";

type PassIntent = Extract<Intent, { readonly kind: "pass" }>;

type Handle = (request: Request) => Response | Promise<Response>;

/** Answers a request that no route protects, instead of the origin. */
export type Unprotected = (request: Request<unknown, IncomingRequestCfProperties>) => Response | Promise<Response>;

/** Answers requests. Those that no route protects are answered by `unprotected`, if it is given. */
export type PassingHandle = (request: Request, unprotected?: Unprotected) => Promise<Response>;

/** What the handler needs to know about operators. */
export interface Operators {
  /** Answers their requests, whose paths begin with `config.operatorPath`. */
  readonly operate: Handle;
  /** Whether a request carries an operator's token, whatever its path. */
  readonly isTheirs: (headers: Headers) => boolean;
}

const OPERATOR_NOT_FOUND: Problem = { code: "operator-not-found" };

const NO_CONSUMERS: Consumers = {
  answer: async () => refuse({ code: "consumer-unauthorized" }),
  isTheirs: () => false,
};

const NO_OPERATORS: Operators = { operate: () => refuse(OPERATOR_NOT_FOUND), isTheirs: () => false };

export function createApp(
  config: Config,
  ports: Ports,
  { operate, isTheirs }: Operators = NO_OPERATORS,
  consumers: Consumers = NO_CONSUMERS,
  isForThisProcess: (headers: Headers) => boolean = () => true,
): PassingHandle {
  const portsTo = (unprotected: Unprotected | undefined): PassingPorts =>
    unprotected === undefined ? ports : { ...ports, unprotected };
  const readIntent = intentReader(config, isTheirs, consumers.isTheirs);
  const replays = new ReplayCache();
  const rotating = new RotatingTokens((route) => ports.reporter.rotating(route));
  const handle = guarded((request, url, unprotected) => {
    const intent = readIntent(request, url);
    switch (intent.kind) {
      case "operate":
        return operate(request);
      case "claim":
        return isForThisProcess(request.headers)
          ? consumers.answer(request, url.pathname)
          : refuse({ code: "store-unavailable" });
      case "publish":
        return wellKnownResponse(config);
      case "refuse":
        return refuse(intent.problem);
      case "loop":
        return refuseLoop();
      case "preflight":
        return preflightResponse(intent.route, intent.cors, intent.preflight);
      case "pass":
        if (intent.route !== null) ports.reporter.passed(intent.route.path);
        return pass(intent, portsTo(unprotected));
      case "refuse-exchange":
        return refuseExchange(intent, ports).then((answer) => forPage(intent, answer));
      case "monitor": {
        const answer = isForThisProcess(request.headers)
          ? answerMonitor(intent, ports)
          : Promise.resolve(refuse({ code: "store-unavailable" }));
        return answer.catch(refuseAfterBug).then((told) => forPage(intent, told));
      }
      case "exchange":
      case "search":
        if (!isForThisProcess(request.headers)) {
          const { route, headers } = intent;
          const refused = {
            kind: "refuse-exchange",
            request,
            problem: { code: "store-unavailable" },
            headers,
            route,
          } as const;
          return refuseExchange(refused, ports).then((answer) => forPage(intent, answer));
        }
        rotating.look(intent.route, intent.headers);
        return run(intent, portsTo(unprotected), replays);
    }
  });
  return acceptsRequests(config) ? inertAtMonitors(handle) : handle;
}

/** Makes every answer at the address of a monitor inert, whichever way it was made: results, refusals and answers after a bug. */
function inertAtMonitors(handle: PassingHandle): PassingHandle {
  return async (request, unprotected) => {
    const answer = await handle(request, unprotected);
    // Most requests are none, and are not parsed for it.
    const isAtMonitor = request.url.includes(MONITOR_PREFIX) && isMonitorPath(URL.parse(request.url)?.pathname ?? "");
    return isAtMonitor ? inertAnswer(answer, request.headers) : answer;
  };
}

/**
 * Whether a request about a key is for this process: one of several behind a proxy that sends each key to one of them (src/serve/README.md).
 * What another process keeps is not found here: a first request would act a second time, and a monitor would say that nothing was accepted. So a
 * process that has a number answers for keys only when the proxy names that number. `own`: its number; `null`: there is no other.
 */
export function processGate(own: string | null): (headers: Headers) => boolean {
  if (own === null) return () => true;
  const isOwn = (name: string): boolean => /^\d+$/.test(name) && Number(name) === Number(own);
  return (headers) => {
    const named = headers.get(PROCESS_HEADER);
    if (named !== null && isOwn(named)) return true;
    const chosen = named === null ? "none" : `process ${JSON.stringify(named)}`;
    console.error({
      message: `process ${own} was sent a key for which the proxy has chosen ${chosen}: it refuses, because another process may have its record`,
    });
    return false;
  };
}

/** The operators' own listener: it serves only operators, and sends nothing to an origin. */
export function createOperatorApp(config: Config, { operate }: Operators): PassingHandle {
  const matchOperators = operatorPathMatcher(config.operatorPath);
  const { operatorHostname } = config;
  return guarded((request, url) => {
    const isTheirHost = operatorHostname === null || hostOf(request, url) === operatorHostname;
    const isPlain = matchOperators(request.url, url.pathname) === "plain";
    return isTheirHost && isPlain ? operate(request) : refuse(OPERATOR_NOT_FOUND);
  });
}

/** Refuses every request while the configuration has problems, which the log names. Nothing is forwarded, protected or not. */
export function createRefusingApp(problems: readonly ConfigProblem[]): PassingHandle {
  return inertAtMonitors(async () => refuse({ code: "configuration-invalid", problemCount: problems.length }));
}

/** Answers every request, even when `answer` fails. A request without a valid host is refused before anything else. */
function guarded(
  answer: (request: Request, url: URL, unprotected?: Unprotected) => Response | Promise<Response>,
): PassingHandle {
  return async (request, unprotected) => {
    const url = isHost(request.headers.get("host")) ? URL.parse(request.url) : null;
    if (url === null) return refuse(NO_URL);
    try {
      return await answer(request, url, unprotected);
    } catch (error) {
      return refuseAfterBug(error);
    }
  };
}

/** A request with a key is safe to send again; one that no route protects was never more than passed on. */
function refuseAfterBug(error: unknown): Response {
  const instance = newInstance();
  console.error({ message: "unexpected error", reason: String(error), instance });
  return problemResponse({ code: "store-unavailable" }, null, instance);
}

/** For a Host header that names no host, or a target that makes no URL (RFC 9112, section 3.2). */
const NO_URL: Problem = { code: "request-invalid", reason: "The request's target and Host header make no URL." };

/** Refuses a request without an exchange, so the answer echoes no key. */
function refuse(problem: Problem): Response {
  return problemResponse(problem, null);
}

function refuseLoop(): Response {
  const message = "the request came back to the gateway: name a URL or a binding as the origin";
  console.error(`configuration: IDEMPOTENCY.origin: ${message}`);
  return refuse({ code: "configuration-invalid", problemCount: 1 });
}

interface PassingPorts extends Ports {
  readonly unprotected?: Unprotected;
}

/** As an entrypoint, whoever answers instead of the origin gets the request as it is. */
const OWN = { kind: "entrypoint", entrypoint: "" } as const;

/** Answers a request that a route protects, or passes it on if the route asks for no key and it has none. */
async function run(
  intent: ExchangeIntent | SearchIntent,
  ports: PassingPorts,
  replays: ReplayCache,
): Promise<Response> {
  // Here, because a page has to be able to read this answer too.
  const done = await exchange(intent, ports, replays).catch(refuseAfterBug);
  if (done instanceof Response) return forPage(intent, done);
  const { passing, body } = done;
  try {
    return await pass(
      { passing: body === null ? passing : { ...passing, bytes: body.bytes }, route: intent.route },
      ports,
    );
  } finally {
    body?.free();
  }
}

/** The answer with the headers that let the pages read it which the route lists. */
function forPage({ route: { cors }, headers }: Pick<ExchangeIntent, "route" | "headers">, answer: Response): Response {
  return cors === null ? answer : readable(answer, cors, headers.get("origin"));
}

/** What the origin answers about other origins is its own affair. Only where the gateway has to answer does the route's list count. */
function pass(
  { passing, route }: Pick<PassIntent, "passing" | "route">,
  { target, unprotected }: PassingPorts,
): Response | Promise<Response> {
  const { headers } = passing.request;
  const refuseToPage = (problem: Problem): Response => {
    const response = refuse(problem);
    return route === null ? response : forPage({ route, headers }, response);
  };
  if (unprotected !== undefined) {
    const own = {
      fetch: async (copy: Request | string, init?: RequestInit<IncomingRequestCfProperties>) => {
        const response: unknown = await unprotected(new Request<unknown, IncomingRequestCfProperties>(copy, init));
        if (response instanceof Response) return response;
        throw new TypeError("what answers unprotected requests has returned no Response");
      },
    };
    return passThrough({ ...passing, origin: OWN }, own, refuseToPage);
  }
  const fetcher = target(passing.origin);
  if (fetcher === null) return refuseToPage({ code: "origin-unreachable" });
  return passThrough(passing, fetcher, refuseToPage);
}
