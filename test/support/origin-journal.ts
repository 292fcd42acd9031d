// The test origin's journal: every request that arrived, in order, and every effect. Tests count effects here and never guess
// them from responses. Tests wait for arrivals instead of sleeping.

import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import * as v from "valibot";

/** Bodies up to this size are kept; of larger ones only size and digest. */
const KEPT_BODY_BYTES = 64 * 1024;

const recordedRequest = v.object({
  /** 1, 2, 3 … over all requests since the start, or since the journal last forgot them. */
  seq: v.number(),
  /** The `Idempotency-Key`, without the quotes of a structured-field string. */
  key: v.nullable(v.string()),
  /** The unparsed `Idempotency-Attempt` header. */
  attempt: v.nullable(v.string()),
  method: v.string(),
  /** The unparsed request target, with its query. */
  url: v.string(),
  path: v.string(),
  /** Wire order and case. */
  headers: v.array(v.tuple([v.string(), v.string()])),
  arrivedAtMs: v.number(),
  /** When the body was read to its end; null if it never was. */
  readAtMs: v.nullable(v.number()),
  body: v.nullable(v.object({ bytes: v.number(), sha256: v.string(), base64: v.nullable(v.string()) })),
  /** Number of its effect, counted per path and key: 1, 2 …; null if it had none. */
  effect: v.nullable(v.number()),
  /** When the answer was written to its end; null if it was not. */
  answeredAtMs: v.nullable(v.number()),
  /** The connection ended, from either side, before the whole answer was written. */
  cutOff: v.boolean(),
});

const recordedEffect = v.object({
  seq: v.number(),
  path: v.string(),
  key: v.nullable(v.string()),
  atMs: v.number(),
});

export const requestsAnswer = v.object({ requests: v.array(recordedRequest) });
export const effectsAnswer = v.object({ count: v.number(), effects: v.array(recordedEffect) });

export type RecordedRequest = v.InferOutput<typeof recordedRequest>;
export type RecordedEffect = v.InferOutput<typeof recordedEffect>;

/** Both given: both must match. None: everything matches. */
export interface Filter {
  readonly key: string | null;
  readonly path: string | null;
}

export interface Journal {
  arrive(request: IncomingMessage): RecordedRequest;
  /** Marks a request as arrived and wakes the waiters: its body is read, or it never will be (`null`). */
  settle(entry: RecordedRequest, body: Buffer | null): void;
  /** Counts an effect and returns its number for this path and key. */
  countEffect(entry: RecordedRequest): number;
  requests(filter: Filter): RecordedRequest[];
  /** The requests since the last time. It forgets them. */
  take(): RecordedRequest[];
  effects(filter: Filter): RecordedEffect[];
  /** Resolves with the number that arrived: at least `n`, or fewer once `timeoutMs` has passed. */
  arrived(filter: Filter, n: number, timeoutMs: number): Promise<number>;
  clear(): void;
}

export function createJournal(): Journal {
  let requests: RecordedRequest[] = [];
  let effects: RecordedEffect[] = [];
  let settled = new Set<RecordedRequest>();
  const waiting = new Set<() => void>();

  const countSettled = (filter: Filter): number => [...settled].filter((entry) => matches(entry, filter)).length;

  return {
    arrive(request) {
      const entry = describe(request, requests.length + 1);
      requests.push(entry);
      return entry;
    },
    settle(entry, body) {
      if (body !== null) {
        entry.readAtMs = Date.now();
        entry.body = describeBody(body);
      }
      settled.add(entry);
      for (const check of waiting) check();
    },
    countEffect(entry) {
      const { seq, path, key } = entry;
      effects.push({ seq, path, key, atMs: Date.now() });
      entry.effect = effects.filter((effect) => effect.path === path && effect.key === key).length;
      return entry.effect;
    },
    requests: (filter) => requests.filter((entry) => matches(entry, filter)),
    take() {
      const taken = requests;
      requests = [];
      return taken;
    },
    effects: (filter) => effects.filter((effect) => matches(effect, filter)),
    arrived(filter, n, timeoutMs) {
      return new Promise((resolve) => {
        const finish = (): void => {
          clearTimeout(timer);
          waiting.delete(check);
          resolve(countSettled(filter));
        };
        const check = (): void => {
          if (countSettled(filter) >= n) finish();
        };
        const timer = setTimeout(finish, timeoutMs);
        waiting.add(check);
        check();
      });
    },
    clear() {
      requests = [];
      effects = [];
      settled = new Set();
    },
  };
}

function matches(entry: { readonly key: string | null; readonly path: string }, filter: Filter): boolean {
  return (filter.key === null || entry.key === filter.key) && (filter.path === null || entry.path === filter.path);
}

function describe(request: IncomingMessage, seq: number): RecordedRequest {
  const url = request.url ?? "";
  const headers = headerPairs(request.rawHeaders);
  return {
    seq,
    key: unquote(findHeader(headers, "idempotency-key")),
    attempt: findHeader(headers, "idempotency-attempt"),
    method: request.method ?? "",
    url,
    path: url.split("?", 1)[0] ?? "",
    headers,
    arrivedAtMs: Date.now(),
    readAtMs: null,
    body: null,
    effect: null,
    answeredAtMs: null,
    cutOff: false,
  };
}

function describeBody(body: Buffer): NonNullable<RecordedRequest["body"]> {
  return {
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
    base64: body.length <= KEPT_BODY_BYTES ? body.toString("base64") : null,
  };
}

function headerPairs(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return pairs;
}

function findHeader(headers: readonly (readonly [string, string])[], name: string): string | null {
  return headers.find(([candidate]) => candidate.toLowerCase() === name)?.[1] ?? null;
}

function unquote(value: string | null): string | null {
  const quoted = value === null ? null : /^"(.*)"$/.exec(value);
  return quoted?.[1]?.replaceAll(/\\(["\\])/g, "$1") ?? value;
}
