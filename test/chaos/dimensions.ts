// What a run can have beyond the plain one. Each can be left out (`--without verify,stalls`), so that a violation can be
// traced to its cause.

export const DIMENSIONS = [
  /** Many duplicates at once that wait; most leave before they get an answer. */
  "herds",
  /** Clients that stop reading for a time in the middle of large answers. */
  "stalls",
  /** Routes with `unknown = "verify"`, and an origin that answers questions in every way. */
  "verify",
  /** A `verify` route whose callers share a scope but may not see each other's effects. */
  "foreign",
  /** Verification requests that are answered one byte at a time. */
  "trickles",
  /** Routes whose origin is asked about the state of its resources, which lag, are undone, and are changed by others. */
  "states",
  /** Refusals that are too large to be forwarded in one piece. */
  "large-refusals",
  /** Answers above `max_response_body` are stored in a bucket that fails at times. */
  "bucket",
  /** A route that streams request bodies through without comparing them. */
  "none",
  /** Operators who release, resolve and forget records in any state. */
  "operators",
  /** A route whose callers are known by an identity, and come with another credential at almost every try. */
  "identities",
  /** Routes that answer 202 and try by themselves; clients read their monitors and cancel. */
  "accepted",
  /** A route that knows its callers by signed tokens; each request has another one. */
  "tokens",
  /** Routes that publish events, and a receiver that takes, refuses and loses them. */
  "events",
  /** Consumers that claim messages of a partition, sleep past their locks, and are lost. */
  "claims",
  /** Messages of queues, some of them poison, from a broker that loses acknowledgements and delivers some of them twice at a time. */
  "deliveries",
  /** A route that is only observed, with duplicates, and a report of what took effect twice. */
  "observe",
  /** Clients that ask what became of their keys, give them up, and begin afresh with others. */
  "look-ups",
  /** A caller that floods an accepted route with slow requests, and others that want their turn. */
  "lanes",
  // feature: verdicts begins
  /** A route whose answers say in their JSON what they mean, and that takes another request after a refusal. */
  "verdicts",
  // feature: verdicts ends
  // feature: json-rpc begins
  /** A route of JSON-RPC: each try has an id of its own, by which its client finds the response. */
  "calls",
  // feature: json-rpc ends
  /** A route that knows its callers by their signatures, each made with one of two keys. */
  "signatures",
] as const;

/** Known defects: with these dimensions the gateway breaks a rule. */
export const BROKEN_DIMENSIONS: readonly Dimension[] = [];

export type Dimension = (typeof DIMENSIONS)[number];

export type Dimensions = ReadonlySet<Dimension>;

export const ALL: Dimensions = new Set(DIMENSIONS);

/** `names` lists the dimensions to leave out, as given on the command line. */
export function dimensionsWithout(names: readonly string[]): Dimensions {
  for (const name of names) {
    if (!DIMENSIONS.some((known) => known === name)) {
      throw new Error(`--without: unknown dimension "${name}". Known: ${DIMENSIONS.join(", ")}`);
    }
  }
  return new Set(DIMENSIONS.filter((name) => !names.includes(name)));
}
