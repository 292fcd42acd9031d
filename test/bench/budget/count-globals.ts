// Counts what the gateway makes and calls of the runtime. It must be imported before the gateway's own code, which takes some
// of it when it starts. Only the counts are kept: each wrapper passes on to what it wraps.

import { BUDGET_COUNTS, type BudgetCount } from "../budget-counts.ts";

const counts = new Map<BudgetCount, number>();

export function count(what: BudgetCount): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

/** The counts since the last call, in the order of `BUDGET_COUNTS`. */
export function takeCounts(): readonly number[] {
  const taken = BUDGET_COUNTS.map((what) => counts.get(what) ?? 0);
  counts.clear();
  return taken;
}

/** Counts each object that a constructor makes. */
function countMade(name: BudgetCount): void {
  const made: unknown = Reflect.get(globalThis, name);
  if (typeof made !== "function") throw new TypeError(`${name} is not a class`);
  const counting: object = new Proxy(made, {
    construct: (target, values, newTarget: unknown) => {
      count(name);
      return Reflect.construct(target, values, newTarget === counting ? target : Object(newTarget));
    },
  });
  Reflect.set(globalThis, name, counting);
}

/** Counts each object that a getter makes when it is read first. */
export function countRead(prototype: object, property: string, what: BudgetCount): void {
  const descriptor = descriptorOf(prototype, property);
  const seen = new WeakSet<object>();
  Object.defineProperty(prototype, property, {
    configurable: true,
    get(this: object): unknown {
      const value: unknown = descriptor.get?.call(this);
      if (value !== null && !seen.has(this)) count(what);
      seen.add(this);
      return value;
    },
  });
}

/** The property may belong to a parent's prototype. */
function descriptorOf(prototype: object, property: string): PropertyDescriptor {
  for (let at: unknown = prototype; typeof at === "object" && at !== null; at = Object.getPrototypeOf(at)) {
    const descriptor = Object.getOwnPropertyDescriptor(at, property);
    if (descriptor?.get !== undefined) return descriptor;
  }
  throw new TypeError(`${property} has no getter`);
}

/** Counts each call of a method, and each value after its first as `more`. */
export function countCalls(target: object, method: PropertyKey, what: BudgetCount, more?: BudgetCount): void {
  const called: unknown = Reflect.get(target, method);
  if (typeof called !== "function") throw new TypeError(`${String(method)} is not a method`);
  Object.defineProperty(target, method, {
    configurable: true,
    value(this: unknown, ...values: unknown[]): unknown {
      count(what);
      if (more !== undefined) for (const _ of values.slice(1)) count(more);
      return Reflect.apply(called, this === globalThis ? undefined : this, values);
    },
  });
}

for (const name of [
  "Headers",
  "Request",
  "Response",
  "URL",
  "TextEncoder",
  "TextDecoder",
  "AbortController",
] as const) {
  countMade(name);
}
countCalls(URL, "parse", "URL");
for (const { prototype } of [Request, Response]) {
  countRead(prototype, "headers", "Headers");
  countRead(prototype, "body", "ReadableStream");
  for (const method of ["arrayBuffer", "bytes", "text", "json"]) countCalls(prototype, method, "awaited I/O");
}
countRead(Request.prototype, "signal", "AbortSignal");
countRead(AbortController.prototype, "signal", "AbortSignal");
for (const method of [Symbol.iterator, "entries", "forEach", "keys"])
  countCalls(Headers.prototype, method, "header iteration");
for (const method of ["append", "delete", "get", "has", "set"]) countCalls(Headers.prototype, method, "header access");
countCalls(ReadableStream.prototype, "getReader", "stream reader");
for (const { prototype } of [ReadableStreamDefaultReader, ReadableStreamBYOBReader]) {
  countCalls(prototype, "read", "awaited I/O");
}
for (const [method, what] of [
  ["digest", "digest"],
  ["deriveBits", "key derivation"],
  ["importKey", "key import"],
  ["encrypt", "encryption"],
  ["decrypt", "decryption"],
] as const) {
  countCalls(Object.getPrototypeOf(crypto.subtle), method, what);
}
countCalls(TextEncoder.prototype, "encode", "text coding");
countCalls(TextEncoder.prototype, "encodeInto", "text coding");
countCalls(TextDecoder.prototype, "decode", "text coding");
/** Timers that are set, and have neither run nor been cleared. */
const pending = new Set<unknown>();

export function pendingTimers(): number {
  return pending.size;
}

function countTimers(): void {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  Reflect.set(globalThis, "setTimeout", (run: () => void, ms: number) => {
    count("timer");
    const timer = set(() => {
      pending.delete(timer);
      run();
    }, ms);
    pending.add(timer);
    return timer;
  });
  Reflect.set(globalThis, "clearTimeout", (timer: number | null) => {
    pending.delete(timer);
    clear(timer);
  });
}
countTimers();
countCalls(globalThis, "fetch", "awaited I/O");

/**
 * Counts the promises that are made, each async function's among them, and the reactions to promises, each `await` among them: `withoutAsync`
 * (budget-bundle.ts) has written the functions as calls of `Promise`. A promise of the runtime, such as that of a digest, is not among them.
 */
function countPromises(): void {
  const { Promise: made } = globalThis;
  countCalls(made.prototype, "then", "await");
  const resolve = (value: unknown): Promise<unknown> => {
    if (!(value instanceof made)) count("promise");
    return made.resolve(value);
  };
  const counting = new Proxy(made, {
    construct: (target, values) => {
      count("promise");
      return Reflect.construct(target, values);
    },
    get: (target, name) => (name === "resolve" ? resolve : Reflect.get(target, name)),
  });
  Reflect.set(globalThis, "Promise", counting);
}
countPromises();
