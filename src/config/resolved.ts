// What the rest of the code knows of the configuration: every default applied, every text parsed, nothing optional that
// has a default. Made in one place (`resolve.ts`); inner code never meets `undefined` or a duration as text.

/** Where a request goes. A URL may carry a path prefix; `zone` means the request's own URL (the zone's own origin). */
export type Origin =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "binding"; readonly binding: string }
  | { readonly kind: "zone" };

/**
 * One part of a scope: the part of a request that says whose key it is. Header names are in lower case. `host` is the host
 * name (with its port) that the request was sent to.
 */
export type ScopePart =
  | { readonly kind: "header"; readonly name: string }
  | { readonly kind: "cookie"; readonly name: string }
  | { readonly kind: "ip" }
  | { readonly kind: "host" };

/** What the origin receives in place of the client's key: the same, nothing, or `<key>:<step>`. */
export type ForwardKey =
  | { readonly kind: "client" }
  | { readonly kind: "none" }
  | { readonly kind: "step"; readonly step: string };

export type Shards = number | "per-key";

/** Cloudflare's location hints (Durable Objects documentation, "Data location"); only an object's first use counts. */
export type LocationHint =
  | "wnam"
  | "enam"
  | "sam"
  | "weur"
  | "eeur"
  | "apac"
  | "apac-ne"
  | "apac-se"
  | "oc"
  | "afr"
  | "me";

/** Cloudflare's jurisdictions for objects (likewise): where they run and store, guaranteed; part of an object's id. */
export type Jurisdiction = "eu" | "us" | "fedramp" | "fedramp-high";

/** One protected route, with every setting that applies to it. */
export interface Route {
  /** Where the route stands in the configuration, for messages: `ROUTES[0]`. */
  readonly name: string;
  /** Hono's pattern syntax. */
  readonly path: string;
  /** Upper case. */
  readonly methods: readonly string[];
  readonly origin: Origin;
  readonly shards: Shards;
  readonly locationHint: LocationHint | null;
  /** `null`: anywhere. */
  readonly jurisdiction: Jurisdiction | null;
  /** Empty: the key alone names the record (`scope = ["none"]`). Has `host` wherever the host reaches the origin. */
  readonly scope: readonly ScopePart[];
  /** `required`: a request without a key is refused. `optional`: it passes through unprotected. */
  readonly key: "required" | "optional";
  /** Names of the headers that may carry the key, in the order in which they are looked for; as written. */
  readonly headers: readonly string[];
  readonly keyFormat: { readonly pattern: string | null; readonly min: number; readonly max: number };
  readonly fingerprint: { readonly body: "bytes" | "json" | "none"; readonly headers: readonly string[] };
  /** What follows an attempt whose outcome is not known: another one once its lock has ended, none, or `verify`. */
  readonly unknown: "retry" | "hold" | "verify";
  /** What to GET to learn whether an operation took effect: a path or a URL with `{key}`; `null` where nobody asks. */
  readonly verify: string | null;
  /** When the record cannot be reached: `closed` refuses, `open` forwards unprotected. */
  readonly onStoreFailure: "closed" | "open";
  /**
   * What a duplicate gets while an attempt is in flight: 409 at once, the whole first answer within `waitMs`, or the first
   * answer as it comes, if it begins within `waitMs`.
   */
  readonly duplicate: "reject" | "wait" | "attach";
  readonly waitMs: number;
  /** Until the response's headers. */
  readonly timeoutMs: number;
  /** Between two pieces of the response's body. */
  readonly idleTimeoutMs: number;
  readonly lockMs: number;
  readonly retentionMs: number;
  /** Statuses that say that the origin did not act. */
  readonly refused: readonly number[];
  /** Statuses that leave open whether the origin acted. */
  readonly ambiguous: readonly number[];
  readonly mismatchStatus: number;
  readonly maxRequestBodyBytes: number;
  readonly maxResponseBodyBytes: number;
  /** Names of response headers that a replay leaves out; lower case. */
  readonly omitHeaders: readonly string[];
  readonly forwardKey: ForwardKey;
  /** Which exchanges are logged: all, those with trouble, or none. */
  readonly log: "all" | "errors" | "none";
  /** Whether answers say where their time went. */
  readonly serverTiming: boolean;
}

export interface Config {
  /** Where requests go that no route protects. */
  readonly origin: Origin;
  readonly routes: readonly Route[];
  /** Where operators come in: `/_onceway`. */
  readonly operatorPath: string;
}

/** One thing that is wrong with a configuration. */
export interface ConfigProblem {
  /** `ROUTES[2].lock`; in a file with environments `env.staging.ROUTES[2].lock`. */
  readonly path: string;
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

/** A part of a scope as the configuration writes it: `header:authorization`. */
export function scopePartName(part: ScopePart): string {
  return "name" in part ? `${part.kind}:${part.name}` : part.kind;
}
