// The only use of itty-durable: it carries operator calls (small, JSON, only ids and enums) to a KeyShard. Its limits stay in this
// file. It is untyped. It treats every request to `/do/…` as one of its calls, so only requests from its own stub may reach its
// `fetch`. It wraps every binding that it is given, so it gets none. Its own persistence stays off.

import { createDurable, proxyDurable } from "itty-durable";

/** What a KeyShard gets from the base class, whose constructor returns a proxy; private members belong to that proxy. */
export interface IttyDurable {
  fetch(request: Request): Promise<Response>;
}

type IttyDurableClass = new (state: DurableObjectState, env: Readonly<Record<string, never>>) => IttyDurable;

/** The base class of KeyShard. Give it the object's state, and an empty environment. */
export function ittyDurable(): IttyDurableClass {
  return createDurable({ autoPersist: false, autoReturn: false });
}

/** The prefix of the URLs that itty-durable's stub calls. Only this file makes such requests. */
const CALL_PREFIX = "https://itty-durable/do/call/";

/** The URLs that call `methods`. The base class has others (`destroy` …) that must not be called remotely. */
export function operatorCallUrls(methods: readonly string[]): ReadonlySet<string> {
  return new Set(methods.map((method) => CALL_PREFIX + method));
}

/** The methods of `T` as they are called remotely: each returns a promise of its result. */
export type Remote<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;
};

/** The operator's calls to one object. */
export function operatorCalls<T>(stub: DurableObjectStub): Remote<T> {
  // The library requires a namespace, and asks it for one name.
  const namespace = { idFromName: (name: string) => name, get: () => stub };
  return proxyDurable(namespace, { parse: true }).get("shard") as Remote<T>;
}
