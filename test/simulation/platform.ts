// Replaces the runtime's globals while the simulation runs: virtual time instead of real time, and plain responses, requests
// and headers. The runtime's own are twenty times slower, and nothing here goes over a network.

import { createHash } from "node:crypto";
import type { Clock, Timer } from "./clock.ts";

type Pairs = Iterable<readonly string[]>;

export class PlainHeaders {
  readonly #pairs: [string, string][];

  constructor(init: Pairs | Readonly<Record<string, string>> = []) {
    const pairs = isIterable(init) ? init : Object.entries(init);
    this.#pairs = Array.from(pairs, ([name = "", value = ""]) => [name.toLowerCase(), value]);
  }

  get(name: string): string | null {
    return this.#pairs.find(([known]) => known === name.toLowerCase())?.[1] ?? null;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  append(name: string, value: string): void {
    this.set(name, value);
  }

  set(name: string, value: string): void {
    this.#pairs.push([name.toLowerCase(), value]);
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#pairs[Symbol.iterator]();
  }
}

function isIterable(value: Pairs | Readonly<Record<string, string>>): value is Pairs {
  return Symbol.iterator in value;
}

export type PlainRequestParts = Pick<Init, "headers" | "signal"> & { readonly body?: PlainBody };

interface Init {
  readonly status?: number;
  readonly headers?: PlainHeaders | Pairs | Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export type PlainBody = string | Uint8Array | ReadableStream<Uint8Array> | null;

/** All of a body. */
export async function textOf(body: PlainBody): Promise<string> {
  if (body === null || typeof body === "string") return body ?? "";
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) return decoder.decode(body);
  const reader = body.getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
}

export class PlainResponse {
  readonly status: number;
  readonly headers: PlainHeaders;
  readonly body: PlainBody;

  static json(value: unknown, init: Init = {}): PlainResponse {
    const response = new PlainResponse(JSON.stringify(value), init);
    response.headers.set("content-type", "application/json");
    return response;
  }

  constructor(body: PlainBody, { status = 200, headers = [] }: Init = {}) {
    this.status = status;
    this.headers = new PlainHeaders(headers);
    this.body = body;
  }

  text(): Promise<string> {
    return textOf(this.body);
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

export class PlainRequest {
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly signal: AbortSignal | undefined;
  readonly body: PlainBody;

  constructor(url: string, { headers = [], signal, body = null }: PlainRequestParts = {}) {
    this.url = url;
    this.headers = new PlainHeaders(headers);
    this.signal = signal;
    this.body = body;
  }
}

/** Passes on copies, because the writer may reuse or free the memory once a write is done. */
class PlainIdentityStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(length: number | null = null) {
    let bytesWritten = 0;
    super({
      transform: (bytes, controller) => {
        bytesWritten += bytes.byteLength;
        if (length !== null && bytesWritten > length) throw new TypeError("more bytes than promised");
        controller.enqueue(bytes.slice());
      },
      flush: () => {
        if (length !== null && bytesWritten < length) throw new TypeError("fewer bytes than promised");
      },
    });
  }
}

/** The clock that the globals follow; there is one interleaving at a time. */
let clock: Clock | null = null;

export function follow(next: Clock): void {
  clock = next;
}

function current(): Clock {
  if (clock === null) throw new Error("no clock is followed");
  return clock;
}

const setTimer =
  (repeats: boolean) =>
  (callback: (...values: unknown[]) => void, delayMs = 0, ...values: unknown[]): Timer =>
    current().set(() => callback(...values), delayMs, repeats);
const clearTimer = (timer: Timer | undefined): void => {
  if (timer !== undefined) current().clear(timer);
};
const silent = (): void => undefined;

/** Installs the simulated globals. Returns a function that restores the real ones. */
export function install(): () => void {
  const undo = [
    replace(globalThis, "Response", PlainResponse),
    replace(globalThis, "Request", PlainRequest),
    replace(globalThis, "Headers", PlainHeaders),
    replace(globalThis, "FixedLengthStream", PlainIdentityStream),
    replace(globalThis, "IdentityTransformStream", PlainIdentityStream),
    replace(globalThis, "setTimeout", setTimer(false)),
    replace(globalThis, "setInterval", setTimer(true)),
    replace(globalThis, "clearTimeout", clearTimer),
    replace(globalThis, "clearInterval", clearTimer),
    replace(Date, "now", () => current().nowMs),
    replace(Math, "random", () => 0.5),
    // The monotonic clock never goes back.
    replace(performance, "now", () => current().latestRightMs),
    // Repeatable from the seed.
    replace(crypto, "randomUUID", () => current().nextId()),
    // The runtime's own comes back at a time that no seed decides.
    replace(crypto.subtle, "digest", (_name: string, bytes: Uint8Array) => Promise.resolve(sha256(bytes))),
    // The gateway logs every broken call; here that is noise.
    replace(console, "warn", silent),
    replace(console, "error", silent),
  ];
  return () => {
    for (const one of undo.toReversed()) one();
  };
}

function sha256(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(createHash("sha256").update(bytes).digest()).buffer;
}

function replace(target: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(target, name);
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(target, name);
    else Object.defineProperty(target, name, before);
  };
}

const immediately = globalThis.setImmediate;

/** Resolves when all microtasks are done, in the next turn of the event loop. */
export function quiet(): Promise<void> {
  return new Promise((resolve) => immediately(resolve));
}
