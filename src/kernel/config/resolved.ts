// The configuration as the rest of the code uses it: every default applied, every text parsed, nothing optional. It is made
// in one place (`resolve.ts`), so inner code never meets `undefined` or a duration as text.

import type { Alert } from "../record/alerts.ts";
import type { LogRule } from "../record/outcome.ts";
import type { DeadLetterRule } from "../record/parked-message.ts";
import type { Policy } from "../record/record.ts";
import type { DurationMs } from "../record/units.ts";
import type { BodyRule, VerdictLists } from "../record/verdict.ts";
import type {
  AsyncRule,
  BodyForm,
  DuplicateRule,
  KeyRule,
  NOTE_RULES,
  PreflightRule,
  QueryForm,
  EncryptionRule,
  StoreFailureRule,
} from "./words.ts";
import type { Identity } from "./identity.ts";
import type { ContentKey, KeyPart, KeySource } from "./key-source.ts";
import type { Layout, Layouts } from "./layout.ts";
import type { NamedOperator } from "./operators.ts";
import type { PageOrigin } from "./page-origin.ts";
import type { ProblemShape } from "./problem-shape.ts";
import type { ScopePart } from "./scope-part.ts";
import type { VerifyRule } from "../verify/verify-rule.ts";

/** Where a request goes. A URL may carry a path prefix; `zone` means the request's own URL (the zone's own origin). */
export type Origin =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "binding"; readonly binding: string }
  /** A class of this Worker's own that answers for the API. */
  | { readonly kind: "entrypoint"; readonly entrypoint: string }
  | { readonly kind: "zone" };

/** What the origin receives instead of the client's key: the same, nothing, or `<key>:<step>`. */
export type ForwardKey =
  | { readonly kind: "client" }
  | { readonly kind: "none" }
  | { readonly kind: "step"; readonly step: string };

/** Which pages of other origins may read a route's answers. */
export interface Cors {
  /** `null`: all pages. */
  readonly origins: readonly PageOrigin[] | null;
  readonly credentials: boolean;
  /** The request headers that pages may send; as written. */
  readonly allowHeaders: readonly string[];
  /** The origin's response headers that pages may read; as written. */
  readonly exposeHeaders: readonly string[];
  readonly preflight: PreflightRule;
  readonly maxAgeMs: number;
}

/** The part of a route that decides how an exchange runs in its shard. The message to the shard carries it. */
export interface RouteRules {
  readonly policy: Policy;
  readonly lists: VerdictLists;
  /** What the bodies of results say all the same. Absent: nothing. */
  readonly verdicts?: readonly BodyRule[];
  /** Whether an event stream is a result only once it has brought the response to a call. */
  readonly awaitsMessage?: true;
  /** Whether the origin is asked for bodies without a content coding, because something in them counts. */
  readonly uncompressed?: true;
  readonly duplicate: DuplicateRule;
  /** How long a duplicate waits for the answer of the attempt in flight, or for its beginning. */
  readonly waitMs: number;
  /** How long the origin may take until the headers of its response. */
  readonly timeoutMs: number;
  /** How long the origin may pause between two pieces of the response's body. */
  readonly idleTimeoutMs: number;
  readonly maxResponseBodyBytes: number;
  readonly keyReusedStatus: number;
  /** Names of response headers that a replay leaves out; lower case. */
  readonly omitHeaders: readonly string[];
  /** Only of queues. */
  readonly deadLetters?: DeadLetterRule;
  /** Only of a request whose key is made from its content. */
  readonly contentKey?: Omit<ContentKey, "members">;
}

/** Which calls a JSON-RPC route protects, by patterns in which `*` is any text. */
export interface JsonRpcRule {
  readonly methods: readonly string[];
  /** Of `tools/call`. */
  readonly tools: readonly string[];
  /** Tools that pass without a key. */
  readonly optional: readonly string[];
  /** What a replay has for its own caller. */
  readonly replaySet: readonly ReplaySet[];
}

/** A member of a response, as a JSON pointer, and its value: JSON text, or where the request has it. */
export type ReplaySet = { readonly at: string } & ({ readonly json: string } | { readonly from: string });

/** Which parts of a body count in the fingerprint: all but those at the pointers, or only those. */
export interface BodySelection {
  readonly kind: "except" | "only";
  /** JSON pointers (RFC 6901), sorted. None is above another. */
  readonly pointers: readonly string[];
}

/** What tells a retry from a reuse of the key, besides method and path. */
export interface FingerprintRule {
  readonly body: BodyForm;
  /** `null`: all of the body counts. */
  readonly selection: BodySelection | null;
  readonly query: QueryForm;
  /** Names of query parameters that do not count, decoded; sorted. */
  readonly queryExcept: readonly string[];
  /** Lower case. */
  readonly headers: readonly string[];
}

/** What a route's records tell operators of their requests. */
export interface NoteRule {
  readonly what: (typeof NOTE_RULES)[number];
  /** Where the value is by which operators know a request; `null`: nowhere. */
  readonly label: KeyPart | null;
  /** How much of a body is kept, and for how long; `null`: nothing. */
  readonly excerpt: { readonly bytes: number; readonly keepMs: number } | null;
}

/** A route whose settings are on trial: its requests pass on as if it were not there, and a feature may look at them (`DivertRequest`). */
export interface RouteTrial {
  /** The share of keys that the route protects all the same, 0 to below 1. */
  readonly protectedShare: number;
  /** Where responses say what took effect: a JSON pointer; `null`: nowhere. */
  readonly effect: string | null;
  /** The share of keys that are looked at. */
  readonly sample: number;
  /** For how long equal requests without a key count as repeats; 0: never. */
  readonly keylessMs: number;
}

/** One protected route, with every setting that applies to it. */
export interface Route {
  /** The route's place in the configuration, for messages: `ROUTES[0]`. */
  readonly name: string;
  /** Hono's pattern syntax. */
  readonly path: string;
  /** Upper case. */
  readonly methods: readonly string[];
  readonly origin: Origin;
  readonly layouts: Layouts;
  /** Empty: the key alone names the record (`scope = ["none"]`). Has `host` wherever the host reaches the origin. */
  readonly scope: readonly ScopePart[];
  /** The scopes under which older records, or those of older deployments, may be found; oldest first. */
  readonly previousScopes: readonly (readonly ScopePart[])[];
  /** The identities that these scopes name. */
  readonly identities: readonly Identity[];
  readonly key: KeyRule;
  /** Where the key may be, in the order in which it is looked for. */
  readonly keyFrom: readonly KeySource[];
  /** How a request in which there is none gets a key from its content; `null`: it gets none. */
  readonly contentKey: ContentKey | null;
  /** Whether only GraphQL mutations are protected. */
  readonly graphql: boolean;
  /** Which JSON-RPC calls are protected, if only some are; `null`: whatever a body says. Routes of one path are alternatives then. */
  readonly jsonrpc: JsonRpcRule | null;
  readonly keyFormat: { readonly pattern: string | null; readonly min: number; readonly max: number };
  /** The binding that limits new keys. `null`: they are not limited. */
  readonly newKeys: string | null;
  readonly fingerprint: FingerprintRule;
  readonly rules: RouteRules;
  /** Which requests are answered before their result is there. */
  readonly async: AsyncRule;
  /** Whether clients may ask what became of their keys. */
  readonly lookUp: boolean;
  /** The preset that it follows; `null`: none. */
  readonly preset: string | null;
  /** The form of the gateway's own problems; `null`: RFC 9457. */
  readonly problemShape: ProblemShape | null;
  /** How to learn whether an operation took effect; `null` if the origin is not asked. */
  readonly verify: VerifyRule | null;
  readonly onStoreFailure: StoreFailureRule;
  readonly maxRequestBodyBytes: number;
  readonly forwardKey: ForwardKey;
  readonly encryptResponses: EncryptionRule;
  readonly note: NoteRule;
  readonly log: LogRule;
  /** Whether responses carry `Server-Timing`. */
  readonly serverTiming: boolean;
  /** `null`: the gateway leaves this to the origin. */
  readonly cors: Cors | null;
  /** `null`: the route protects all of its requests. */
  readonly trial: RouteTrial | null;
  /** The gateway's setting, which decides what the origin gets. */
  readonly trustForwarded: boolean;
}

/** A queue whose messages are processed. */
export interface Queue {
  /** The queue's place in the configuration, for messages: `QUEUES[0]`. */
  readonly name: string;
  readonly queue: string;
  /** The rules that its messages follow. Its path is what the queue is called in records, lists and metrics: `queue:orders`. */
  readonly route: Route;
  /** Where its messages are sent. */
  readonly url: string;
  /** The path and query of `to` as it is written: a part of each message's fingerprint. */
  readonly target: { readonly path: string; readonly query: string };
  /** Whether a message in which none of the route's sources finds a key has its id as one. */
  readonly hasIdAsKey: boolean;
  /** The values of a message that are part of its scope, besides the queue. */
  readonly scopeParts: readonly KeyPart[];
  /** What the origin gets with each message. */
  readonly callHeaders: readonly MessageHeader[];
  /** The statuses of results that settle a message. */
  readonly done: readonly number[];
  readonly giveUpAfterMs: number;
  /** The name of the binding that takes dead letters. */
  readonly deadLetter: string;
}

/** A group of consumers, which claim records and make the attempts themselves. */
export interface ConsumerGroup {
  /** The group's place in the configuration, for messages: `CONSUMERS[0]`. */
  readonly name: string;
  readonly group: string;
  /** The rules of its records. Its path is what the group is called in records, lists and metrics: `claims:billing`. */
  readonly route: Route;
  readonly maxLockMs: number;
  /** The names of the secrets that open it. */
  readonly tokens: readonly string[];
}

/** A place where events go. */
export interface Destination {
  /** What routes call it. */
  readonly name: string;
  readonly target: EventTarget;
  /** How old an event may become before it is dead. */
  readonly giveUpAfterMs: DurationMs;
  /** How long a dead event is kept. */
  readonly keepDeadMs: DurationMs;
  /** The alerts about the gateway itself that it gets. */
  readonly alerts: readonly Alert[];
  /** The address of the console, for links in alerts, without a slash at its end; `null`: no links. */
  readonly console: string | null;
}

/** Where events go: a queue by its producer binding, or a webhook, whose secrets are named, newest first. */
export type EventTarget =
  | { readonly kind: "queue"; readonly binding: string }
  | { readonly kind: "webhook"; readonly url: string; readonly secrets: readonly string[] };

export interface Config {
  /** Where requests go that no route protects. */
  readonly origin: Origin;
  readonly routes: readonly Route[];
  /** All of `[vars.IDENTITIES]`, also those that no route uses. */
  readonly identities: readonly Identity[];
  readonly queues: readonly Queue[];
  /** Where the objects are that belong to no route, with the audit log and the totals. No route's own setting moves them. */
  readonly gateway: Pick<Layout, "jurisdiction" | "locationHint">;
  /** Where events go. */
  readonly destinations: readonly Destination[];
  readonly consumers: readonly ConsumerGroup[];
  /** Those who have a token and a name of their own. */
  readonly operators: readonly NamedOperator[];
  /** The path of the claims API; `null`: there are no groups, and nothing is there. */
  readonly consumerPath: string | null;
  /** The path of the operator API and the console: `/_onceway`. */
  readonly operatorPath: string;
  /** The only host that serves that path, and it serves nothing else; `null`: every host does. */
  readonly operatorHostname: string | null;
  /** Whether operators have a port of their own (`serve --operator-port`); no other serves them then. */
  readonly hasOperatorPort: boolean;
  /** What the console calls this deployment; `null`: by its host alone. */
  readonly environment: string | null;
  /** Whether the headers that name the client's host and scheme come from a proxy in front, and are passed on. */
  readonly trustForwarded: boolean;
}

/** Whether the route protects any of its requests. */
export function protectsKeys({ trial }: Pick<Route, "trial">): boolean {
  return trial === null || trial.protectedShare > 0;
}

/** The rules of all records: those of routes, and those that no request matches. */
export function allRoutes({ routes, queues, consumers }: Config): readonly Route[] {
  return [...routes, ...[...queues, ...consumers].map(({ route }) => route)];
}

export type { ConfigProblem } from "./config-problem.ts";

/** A header that the origin gets with each message; its name is in lower case. */
export interface MessageHeader {
  readonly name: string;
  readonly value: HeaderValue;
}

/** The value of a header: written here, or a secret's. */
export type HeaderValue =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "secret"; readonly secret: string };
