// What a feature does with requests in the Worker, beside the exchanges of the kernel. Where two features do the same it is a seam: a request
// that a feature answers itself, and the last step of an answer. What one feature alone does is a function with a name, which
// features/worker.ts hands over.

import type { Origin, Route } from "./config/resolved.ts";
import type { ProblemShape } from "./config/problem-shape.ts";
import type { ClientProblem, Problem } from "./record/problem.ts";
import type { Fingerprint } from "./record/units.ts";
import type { BodyReader } from "./request/body-reader.ts";
import type { ExchangeIntent, FindRoute, SearchIntent } from "./request/intent.ts";
import type { HeadersView } from "./request/headers.ts";
import type { PartValue } from "./request/key-places.ts";
import type { Fetcher, PassOn, PassTap } from "./request/pass-through.ts";
import type { HeldBody, HeldOrFlowing } from "./request/body.ts";
import type { ReadPorts } from "./request/exchange-request.ts";
import { type CallerProofs, NO_PROOFS } from "./request/scope.ts";
import type { WaitUntil } from "./request/shared-work.ts";
import type { WaitingCaller } from "./request/time-slicer.ts";

export interface RequestFeature {
  readonly endpoint?: Endpoint;
  readonly finish?: FinishAnswer;
  /** Of routes on trial. */
  readonly divert?: DivertRequest;
}

/**
 * Whether a request of a route on trial passes on instead of being protected; `null`: the route protects it. From its line and headers alone, at once: the
 * request waits for it.
 */
export type DivertRequest = (request: Request, url: URL, route: Route) => { readonly tap: PassTap | null } | null;

/** Requests that a feature answers itself. */
export interface Endpoint {
  /** With what the paths of its requests begin; absent: any path may be its own. */
  readonly under?: string;
  /** What becomes of a request: the feature answers it, or refuses it; `null`: it is another's. */
  readonly find: (request: Request, url: URL, findRoute: FindRoute) => OwnRequest | RefusalIntent | null;
  /** Only for tokens of its own. Such an endpoint finds its requests first, whoever's token they carry. */
  readonly tokens?: OwnTokens;
}

/** A request that a feature answers. */
export interface OwnRequest {
  readonly kind: "own";
  /** Whether the answer depends on a record, which another process may have. */
  readonly isAboutRecord: boolean;
  /** Whose answer it is, for the last steps; `null`: no route's. */
  readonly route: Route | null;
  readonly answer: () => Response | Promise<Response>;
}

export interface RefusalIntent {
  readonly kind: "refuse";
  readonly problem: Problem;
}

export interface OwnTokens {
  /** Whether a request carries one of them, wherever it goes: no origin may get it. */
  readonly isTheirs: SpotToken;
  /** The answer to such a request elsewhere. */
  readonly refusal: RefusalIntent;
}

/** Whether a request carries somebody's token, wherever it goes. */
export type SpotToken = (headers: Headers) => boolean;

/**
 * Changes an answer before it leaves the Worker: neither records nor objects know of it. `route` is the one for which the gateway
 * answers; `null`: for none, because the origin answers, or the gateway refuses before it has looked for a route. `headers` are the request's,
 * read once.
 */
export type FinishAnswer = (answer: Response, request: Request, route: Route | null, headers: HeadersView) => Response;

/** A request, for whoever proves who its caller is. */
export interface CallerRequest extends Pick<ExchangeIntent, "headers" | "url" | "route"> {
  readonly request: Pick<Request, "method">;
}

/** Who the caller is, by each identity that the route uses. */
export type ProveCaller = (request: CallerRequest) => Promise<CallerProofs>;

export interface ProverPorts {
  readonly network: Fetcher;
  readonly target: (origin: Origin) => Fetcher | null;
  readonly waitUntil: WaitUntil;
}

/**
 * Values of a request's body that its problems repeat, as JSON texts by the pointers of the route's `problemShape`: `/id` is `7`, or `"7"`. A value that
 * is not there, or that nobody has read, has no entry.
 *
 * The kernel reads them from the body of a request that becomes an exchange. A feature that reads a body before that, and refuses the request,
 * hands them over with its refusal (`SearchedKey`): `await repeatedValues(route.problemShape, held, caller)`. So a JSON-RPC client gets a
 * problem under its own `id`. Nothing else is needed for JSON-RPC: a shape with `isRpc` answers with HTTP 200 by itself, and with the problem's own
 * status and `"id": null` where there is no `/id` here.
 */
export type RepeatedValues = ReadonlyMap<string, string>;

/** Gives a problem of the gateway the shape that a route's clients expect. */
export type ShapeProblem = (problem: Response, shape: ProblemShape, repeated: RepeatedValues) => Promise<Response>;

/** Finds the key of a request that may have it elsewhere than in a header. */
export type SearchKey = (intent: SearchIntent) => Promise<SearchedKey>;

export type SearchedKey =
  /** `body` is `null` as long as nobody has read it. */
  | { readonly kind: "keyed"; readonly intent: ExchangeIntent; readonly body: HeldOrFlowing | null }
  | {
      readonly kind: "refuse";
      readonly problem: ClientProblem;
      readonly unread: BodyReader | null;
      readonly repeated?: RepeatedValues;
      /** Whose problem it is, if not the intent's own: another JSON-RPC route of its path. */
      readonly route?: Route;
    }
  /** There is none, so the route decides. `body` is `null` as long as nobody has read it. */
  | { readonly kind: "absent"; readonly body: HeldBody | null }
  | PassOn
  | AnsweredAtOnce;

/**
 * Makes a key from the content of a request in which there is none; `body`: what has been read of it. `fingerprint`: that of the request with this
 * body. Asked only on a route with a `contentKey`, for a caller who shares a scope with nobody.
 */
export type MakeContentKey = (
  intent: SearchIntent,
  body: HeldBody | null,
  fingerprint: (body: Uint8Array) => Promise<Fingerprint>,
) => Promise<SearchedKey>;

/** A request that is answered in the Worker, without an exchange. */
export interface AnsweredAtOnce {
  readonly kind: "answered";
  readonly response: Response;
}

/** Writes an answer that was another request's first for the one that gets it now: what names the other names this one. */
export type EditReplay = (answer: Response, to: ReplayRecipient) => Promise<Response>;

/** What a replay has for the JSON-RPC call that gets it. */
export interface ReplayEdits {
  /** As its client has written it; `null`: it has none. */
  readonly callId: string | null;
  readonly members: readonly SetMember[];
}

/** A member of a response, by the names on its way, and its JSON text; `null`: it is left out. */
export interface SetMember {
  readonly tokens: readonly string[];
  readonly json: string | null;
}

export interface ReplayRecipient extends ReplayEdits {
  readonly echo: string;
  readonly instance: string;
  readonly caller: WaitingCaller;
}

/** Reads the requests of a GraphQL endpoint: only the body says what they do. */
export interface GraphqlReader {
  readonly read: (
    body: Uint8Array,
    headers: HeadersView,
    search: string,
    caller: WaitingCaller | null,
  ) => Promise<GraphqlReading>;
  /** What the directive gives in a mutation from which no key was read. */
  readonly unreadDirective: (body: Uint8Array, search: string) => PartValue;
}

export type GraphqlReading =
  /** Queries and subscriptions alone. */
  { readonly kind: "other" } | { readonly kind: "mutation"; readonly key: PartValue } | AnsweredAtOnce;

/** The canonical form of a multipart body; `null`: it has none. Pauses after each slice of its work. */
export type CanonicalMultipart = (body: Uint8Array, boundary: string) => Generator<undefined, Uint8Array | null>;

/** What one feature alone does when a request is read, by name. */
export interface ReadingFunctions {
  /** Proves who callers are. Without it nobody is proved, and a route whose scope has an identity refuses everybody. */
  readonly callerProver?: (ports: ProverPorts) => ProveCaller;
  /** Without it all keys are in `Idempotency-Key`. */
  readonly keySearch?: (graphql: GraphqlReader | null) => SearchKey;
  readonly graphqlReader?: GraphqlReader;
  /** Without it no key is made from content. */
  readonly makeContentKey?: MakeContentKey;
  /** Without it problems are as RFC 9457 has them. */
  readonly shapeProblem?: ShapeProblem;
  /** Finds which call of a JSON-RPC route a request is, and its key. */
  readonly callSearch?: SearchKey;
  /** Without it everyone gets the same bytes. */
  readonly editReplay?: EditReplay;
  /** Without it multipart bodies are compared byte by byte. */
  readonly canonicalMultipart?: CanonicalMultipart;
}

/** The ports that features fill, as far as they are there. */
export function readingFeatures(functions: ReadingFunctions, ports: ProverPorts): Omit<ReadPorts, "encryptions"> {
  const { callerProver, keySearch, graphqlReader, callSearch } = functions;
  const { editReplay, makeContentKey, canonicalMultipart, shapeProblem } = functions;
  return {
    proveCaller: callerProver?.(ports) ?? (() => Promise.resolve(NO_PROOFS)),
    ...(keySearch === undefined ? null : { searchKey: keySearch(graphqlReader ?? null) }),
    ...(makeContentKey === undefined ? null : { makeContentKey }),
    ...(callSearch === undefined ? null : { searchCall: callSearch }),
    ...(editReplay === undefined ? null : { editReplay }),
    ...(canonicalMultipart === undefined ? null : { canonicalMultipart }),
    ...(shapeProblem === undefined ? null : { shapeProblem }),
  };
}
