// Everything that this project knows of itty-durable: it carries the operator's calls (small, JSON, ids and enums only)
// to a KeyShard. Its limits stay in this file. It is untyped; it takes any request to `/do/…` for one of its calls, so
// only what comes from its own stub may reach its `fetch`; it wraps every binding that it is given, so it gets none; and
// its own persistence stays off.

import { createDurable, proxyDurable } from "itty-durable";

/** What the base class gives to a KeyShard. Its constructor returns a proxy, so private members belong to that. */
export interface IttyDurable {
  fetch(request: Request): Promise<Response>;
}

type IttyDurableClass = new (state: DurableObjectState, env: Readonly<Record<string, never>>) => IttyDurable;

/** The base class of KeyShard. Give it the object's state, and an empty environment. */
export function ittyDurable(): IttyDurableClass {
  return createDurable({ autoPersist: false, autoReturn: false });
}

/** The host of the requests that itty-durable's stub makes. They are made here and nowhere else. */
const CALL_PREFIX = "https://itty-durable/do/call/";

/** Whether a request calls one of `methods`. The base class has others (`destroy` …) that nobody may call from afar. */
export function isOperatorCall(request: Request, methods: readonly string[]): boolean {
  return methods.some((method) => request.url === CALL_PREFIX + method);
}

/** The methods of `T` that can be called from afar, each with a promise of what it returns. */
export type Remote<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;
};

/** The operator's calls to one object. */
export function operatorCalls<T>(stub: DurableObjectStub): Remote<T> {
  // The library wants a namespace, of which it asks for one name.
  const namespace = { idFromName: (name: string) => name, get: () => stub };
  return proxyDurable(namespace, { parse: true }).get("shard") as Remote<T>;
}
