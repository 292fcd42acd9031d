// The Worker's Hono application: a request becomes an intent (kernel/request/intent.ts), and its one handler acts on it. Routes come from the
// configuration, in its order.

import { type Context, Hono } from "hono";
import type { Config, ConfigProblem, Route } from "../kernel/config/resolved.ts";
import type { Problem } from "../kernel/record/problem.ts";
import type { DivertRequest, FinishAnswer, RequestFeature } from "../kernel/request-feature.ts";
import { type HeadersView, PROCESS_HEADER } from "../kernel/request/headers.ts";
import { isHost } from "../kernel/request/host.ts";
import {
  type ExchangeIntent,
  hostOf,
  intentReader,
  type PassIntent,
  type SearchIntent,
} from "../kernel/request/intent.ts";
import { operatorPathMatcher } from "../kernel/request/operator-path.ts";
import { passThrough } from "../kernel/request/pass-through.ts";
import { newInstance, problemResponse } from "../kernel/request/problem-response.ts";
import { runExchange, type ProtectPorts, refuseExchange } from "../kernel/request/protect.ts";
import { ReplayCache } from "../kernel/request/replay-cache.ts";
import { RotatingTokens } from "../kernel/request/rotating-tokens.ts";
import { wellKnownResponse } from "../kernel/request/well-known.ts";

/** Nobody has looked at a record, so an earlier try may have taken effect. */
const UNREACHABLE: Problem = { code: "origin-unreachable", mayHaveActed: true };

type Handle = (request: Request) => Response | Promise<Response>;

/** Answers a request that no route protects, instead of the origin. */
export type AnswerUnprotected = (
  request: Request<unknown, IncomingRequestCfProperties>,
) => Response | Promise<Response>;

/** Answers requests. Those that no route protects are answered by `unprotected`, if it is given. */
export type PassingHandle = (request: Request, unprotected?: AnswerUnprotected) => Promise<Response>;

/** What the handler needs to know about operators. */
export interface OperatorHandler {
  /** Answers their requests, whose paths begin with `config.operatorPath`. */
  readonly operate: Handle;
  /** Whether a request carries an operator's token, whatever its path. */
  readonly isTheirs: (headers: Headers) => boolean;
}

/** What stands beside the kernel's own way of a request. */
export interface AppParts {
  readonly operators?: OperatorHandler;
  readonly features?: readonly RequestFeature[];
  /** Whether a request about a key is for this process (`processGate`). */
  readonly isForThisProcess?: (headers: Headers) => boolean;
}

const OPERATOR_NOT_FOUND: Problem = { code: "operator-not-found" };

const NO_OPERATORS: OperatorHandler = { operate: () => refuse(OPERATOR_NOT_FOUND), isTheirs: () => false };

export function createApp(
  config: Config,
  ports: ProtectPorts,
  { operators: { operate, isTheirs } = NO_OPERATORS, features = [], isForThisProcess = () => true }: AppParts = {},
): PassingHandle {
  const endpoints = features.flatMap(({ endpoint }) => (endpoint === undefined ? [] : [endpoint]));
  const steps = features.flatMap(({ finish }) => (finish === undefined ? [] : [finish]));
  const portsTo = (unprotected: AnswerUnprotected | undefined): PassingPorts =>
    unprotected === undefined ? ports : { ...ports, unprotected };
  const divert: DivertRequest = (request, url, route) => {
    for (const { divert: ofFeature } of features) {
      const diverted = ofFeature?.(request, url, route) ?? null;
      if (diverted !== null) return diverted;
    }
    return null;
  };
  const readIntent = intentReader(config, isTheirs, endpoints, divert);
  const replays = new ReplayCache();
  const rotating = new RotatingTokens((route) => ports.reporter.rotating(route));
  return application(steps, (request, url, answered) => {
    const intent = readIntent(request, url);
    switch (intent.kind) {
      case "operate":
        return operate(request);
      case "own": {
        answered.route = intent.route;
        const isHere = !intent.isAboutRecord || isForThisProcess(request.headers);
        return isHere ? intent.answer() : refuse({ code: "store-unavailable" });
      }
      case "policy":
        return wellKnownResponse(config);
      case "refuse":
        return refuse(intent.problem);
      case "loop":
        return refuseLoop();
      case "pass":
        if (intent.route !== null) ports.reporter.passed(intent.route.path);
        return pass(intent, portsTo(answered.unprotected), answered);
      case "refuse-exchange":
        answered.route = intent.route;
        answered.headers = intent.headers;
        return refuseExchange(intent, ports);
      case "exchange":
      case "search":
        answered.route = intent.route;
        answered.headers = intent.headers;
        if (!isForThisProcess(request.headers)) {
          const { route, headers } = intent;
          const problem = { code: "store-unavailable" } as const;
          return refuseExchange({ kind: "refuse-exchange", request, problem, headers, route }, ports);
        }
        rotating.look(intent.route, intent.headers);
        return run(intent, portsTo(answered.unprotected), replays, answered);
    }
  });
}

/** What one request brings into the application, and what is known of it while its answer is made. */
interface Answered {
  readonly unprotected: AnswerUnprotected | undefined;
  /** For which the gateway answers; `null`: for no route. */
  route: Route | null;
  /** The request's, if they have been read as a whole. */
  headers: HeadersView | null;
  /** The answer to a HEAD (`application`). */
  head: Response | null;
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
export function createOperatorApp(config: Config, { operate }: OperatorHandler): PassingHandle {
  const matchOperators = operatorPathMatcher(config.operatorPath);
  const { operatorHostname } = config;
  return application([], (request, url) => {
    const isTheirHost = operatorHostname === null || hostOf(request, url) === operatorHostname;
    const isPlain = matchOperators(request.url, url.pathname) === "plain";
    return isTheirHost && isPlain ? operate(request) : refuse(OPERATOR_NOT_FOUND);
  });
}

/** Refuses every request while the configuration has problems, which the log names. Nothing is forwarded, protected or not. */
export function createRefusingApp(problems: readonly ConfigProblem[], finish?: FinishAnswer): PassingHandle {
  return async (request) => {
    const refusal = refuse({ code: "configuration-invalid", problemCount: problems.length });
    return finish === undefined ? refusal : finish(refusal, request, null, request.headers);
  };
}

interface AppEnv {
  readonly Bindings: Answered;
}

/**
 * A Hono application that answers every request, even when `act` fails. Hono neither decodes nor routes the paths of clients, so its path is
 * always the same. A request without a valid host is refused before anything else.
 *
 * To a HEAD, Hono answers with a copy without a body. A copy throws for a status from 600 on, and has not the length of the body that it lacks. So
 * the answer itself is kept beside it, and the runtime leaves out the body.
 */
function application(
  steps: readonly FinishAnswer[],
  act: (request: Request, url: URL, answered: Answered) => Response | Promise<Response>,
): PassingHandle {
  const app = new Hono<AppEnv>({ getPath: () => "/" });
  const finish = ({ env, req: { raw } }: Context<AppEnv>, given: Response): Response => {
    const finished = steps.reduce((one, step) => step(one, raw, env.route, env.headers ?? raw.headers), given);
    if (raw.method !== "HEAD") return finished;
    env.head = finished;
    return new Response();
  };
  app.onError((error, c) => finish(c, refuseAfterBug(error)));
  app.all("*", async (c) => {
    const request = c.req.raw;
    const url = isHost(request.headers.get("host")) ? URL.parse(request.url) : null;
    try {
      return finish(c, url === null ? refuse(NO_URL) : await act(request, url, c.env));
    } catch (thrown) {
      // Hono leaves to its caller what is no error.
      throw thrown instanceof Error ? thrown : new Error(String(thrown));
    }
  });
  return async (request, unprotected) => {
    const answered: Answered = { unprotected, route: null, headers: null, head: null };
    const answer = await app.fetch(request, answered);
    return answered.head ?? answer;
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

interface PassingPorts extends ProtectPorts {
  readonly unprotected?: AnswerUnprotected;
}

/** As an entrypoint, whoever answers instead of the origin gets the request as it is. */
const OWN = { kind: "entrypoint", entrypoint: "" } as const;

/** Answers a request that a route protects, or passes it on if the route asks for no key and it has none. */
async function run(
  intent: ExchangeIntent | SearchIntent,
  ports: PassingPorts,
  replays: ReplayCache,
  answered: Answered,
): Promise<Response> {
  const done = await runExchange(intent, ports, replays);
  if (done instanceof Response) return done;
  const { passing, body } = done;
  try {
    const whole = body === null ? passing : { ...passing, bytes: body.bytes };
    return await pass({ passing: whole, route: intent.route }, ports, answered);
  } finally {
    body?.free();
  }
}

/** The origin answers, so that its answer is changed for no route. Only where the gateway has to refuse does it answer for the route. */
function pass(
  { passing, route }: Pick<PassIntent, "passing" | "route">,
  { target, unprotected }: PassingPorts,
  answered: Answered,
): Response | Promise<Response> {
  answered.route = null;
  const refusePassing = (problem: Problem): Response => {
    answered.route = route;
    return refuse(problem);
  };
  if (unprotected !== undefined) {
    const own = {
      fetch: async (copy: Request | string, init?: RequestInit<IncomingRequestCfProperties>) => {
        const response: unknown = await unprotected(new Request<unknown, IncomingRequestCfProperties>(copy, init));
        if (response instanceof Response) return response;
        throw new TypeError("what answers unprotected requests has returned no Response");
      },
    };
    return passThrough({ ...passing, origin: OWN }, own, refusePassing);
  }
  const fetcher = target(passing.origin);
  if (fetcher === null) return refusePassing(UNREACHABLE);
  return passThrough(passing, fetcher, refusePassing);
}
