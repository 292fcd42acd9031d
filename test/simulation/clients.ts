// The clients: they send requests, hear answers, read streams, and leave. An answer leaves the object when everything that
// was written before it is durable (output gate); then its client hears it at once.

import { attemptId, durationMs, fingerprint as fingerprintOf, recordId } from "../../src/kernel/record/units.ts";
import type { HeaderPairs } from "../../src/kernel/request/headers.ts";
import type { ExchangeHead } from "../../src/kernel/request/message.ts";
import type { OriginKey } from "../../src/kernel/request/origin-key.ts";
import type { Asked, AnswerRules } from "./answers.ts";
import type { Plan } from "./plan.ts";
import { LOCK_MS, REMEMBER_MS, RETENTION_MS, TIMEOUT_MS, UNKNOWN_RETENTION_MS, WAIT_MS } from "./times.ts";
import { PlainResponse } from "./platform.ts";
import { stateFor } from "./states.ts";

export interface ClientRequest extends Asked {
  readonly head: ExchangeHead;
  readonly credential: string;
  /** How many requests had been sent when it was sent. */
  readonly sentAfter: number;
  /** Whether its sender may deliver it again. */
  readonly isRepeatable: boolean;
  /** Tells the object that its client has gone. */
  readonly caller: AbortController;
  state: "waits" | "answered" | "reads" | "stalls" | "is done" | "has left";
  /** What it waits for before it reads on. */
  stalled: PromiseWithResolvers<void> | null;
  /** Breaks its body off on its way to the origin; `null` as long as nobody takes it. */
  cut: (() => void) | null;
  /** What it will hear, and the write that has to be durable before. */
  held: { readonly response: PlainResponse; readonly gate: number } | null;
  reader: ReadableStreamDefaultReader<Uint8Array> | null;
  text: string;
  /** Who gets what it hears, if that is not the end of it. */
  readonly taker: Taker | null;
}

/** Somebody behind a client. */
export interface Taker {
  /** `isWhole`: there is no more than this. */
  readonly hears: (response: PlainResponse, isWhole: boolean) => void;
  readonly reads: (bytes: Uint8Array) => void;
  /** Nothing more comes. `isWhole`: because that was all. */
  readonly ends: (isWhole: boolean) => void;
}

export type Duplicate = ExchangeHead["rules"]["duplicate"];

/** How the origin would get the key, by the settings that are in force when a request arrives: they change all the time. */
const KEY_FORMS = ["Idempotency-Key: {key}", "Idempotency-Key: {key}:charge", "X-Key: {key}", ""] as const;

/** Of the request that may begin this attempt. */
function keyOf(record: string, attempt: string): { readonly key: OriginKey; readonly headers: HeaderPairs } {
  const form = KEY_FORMS[Number(attempt.slice(1)) % KEY_FORMS.length] ?? "";
  const [name, value] = form.split(": ");
  const text = record;
  if (name === undefined || value === undefined) return { key: { text, form }, headers: [] };
  return { key: { text, form }, headers: [[name, value.replace("{key}", text)]] };
}

const LISTS = { refused: [503], ambiguous: [502] };

export function headFor(
  plan: Pick<Plan, "unknown" | "remembers" | "keptBytes" | "streams"> &
    Partial<Pick<Plan, "policy" | "readsState" | "takesOthers">>,
  record: string,
  fingerprint: string,
  attempt: string,
  duplicate: Duplicate,
  credential: string,
): ExchangeHead {
  const known = keyOf(record, attempt);
  const headers: HeaderPairs = [["authorization", credential], ...known.headers];
  return {
    record: { id: recordId(record), key: record, route: "/", lane: record.charCodeAt(1) % 3 },
    request: {
      echo: record,
      attemptId: attemptId(attempt),
      fingerprint: fingerprintOf(fingerprint),
      sameBytes: true,
      upload: null,
      isCached: false,
      lastEventId: null,
    },
    rules: {
      policy: {
        unknown: plan.unknown,
        lockMs: durationMs(LOCK_MS),
        retentionMs: durationMs(RETENTION_MS),
        unknownRetentionMs: durationMs(UNKNOWN_RETENTION_MS),
        ...(plan.takesOthers === true ? { afterRefusal: "any" } : {}),
        ...(plan.remembers ? { rememberMs: durationMs(REMEMBER_MS) } : {}),
        ...plan.policy,
      },
      lists: LISTS,
      duplicate,
      waitMs: WAIT_MS,
      timeoutMs: TIMEOUT_MS,
      idleTimeoutMs: TIMEOUT_MS,
      maxResponseBodyBytes: plan.keptBytes,
      keyReusedStatus: 422,
      omitHeaders: [],
    },
    call: {
      // Over a network: of a binding no length would be believed.
      origin: { kind: "url", url: attempt },
      method: "POST",
      url: "https://api.example/",
      headers,
      key: known.key,
      hasBody: plan.streams,
    },
    telemetry: { log: "none", serverTiming: false, trace: null },
    verification:
      plan.unknown === "verify"
        ? {
            origin: { kind: "binding", binding: record },
            url: "https://api.example/",
            keyed: "https://api.example/",
            headers,
            timeoutMs: TIMEOUT_MS,
            idleTimeoutMs: TIMEOUT_MS,
            maxBytes: 1000,
            ...(plan.readsState === undefined || plan.readsState === null
              ? null
              : { state: stateFor(record, plan.readsState) }),
          }
        : null,
  };
}

/** Some requests have a body that is too large for their record's row. */
const LARGE_BYTES = 5000;

/** The body of a request. Its record and its content can be told from it. */
export function contentOf(record: string, fingerprint: string): string {
  const text = `${record} ${fingerprint}`;
  return fingerprint === "other" ? text.padEnd(LARGE_BYTES, ".") : text;
}

export class Clients {
  requests: ClientRequest[] = [];
  readonly #rules: AnswerRules;
  readonly #keptBytes: number;
  readonly #trace: (what: string) => void;

  constructor(rules: AnswerRules, keptBytes: number, trace: (what: string) => void) {
    this.#rules = rules;
    this.#keptBytes = keptBytes;
    this.#trace = trace;
  }

  /** Takes what an exchange comes to. `gate` tells which write was the last at that moment. */
  expect(request: ClientRequest, exchange: Promise<unknown>, gate: () => number, isOver: () => boolean): void {
    this.requests.push(request);
    const answered = (response: unknown): null => {
      if (isOver() || !(response instanceof PlainResponse)) return null;
      if (request.state === "has left") cancel(response);
      else {
        request.state = "answered";
        request.held = { response, gate: gate() };
      }
      return null;
    };
    exchange.then(answered, (error: unknown) => {
      if (request.state === "waits") request.state = "is done";
      request.taker?.ends(false);
      this.#trace(`        ${request.name} fails: ${String(error)}`);
    });
  }

  /** Lets out the answers whose gate has opened, and tells whether there were any. */
  release(durable: number): boolean {
    let some = false;
    for (const request of this.requests) {
      const { held } = request;
      if (held === null || held.gate > durable) continue;
      request.held = null;
      some = true;
      const { response } = held;
      if (response.body instanceof ReadableStream) {
        request.state = request.stalled === null ? "reads" : "stalls";
        this.#trace(`        ${request.name} hears the beginning of a ${response.status}`);
        request.taker?.hears(response, false);
        void this.#read(request, response.status, response.body);
      } else {
        request.state = "is done";
        this.#trace(`        ${request.name} hears ${this.#rules.hears(request, response)}`);
        request.taker?.hears(response, true);
      }
    }
    return some;
  }

  async #read(request: ClientRequest, status: number, body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader();
    request.reader = reader;
    try {
      for (;;) {
        await request.stalled?.promise;
        const { done, value } = await reader.read();
        if (request.state !== "reads" && request.state !== "stalls") return;
        if (done) break;
        request.text += new TextDecoder().decode(value);
        this.#trace(`        ${request.name} reads ${request.text}`);
        if (status < 502) this.#rules.hearsBytes(request, status, request.text, this.#keptBytes);
        request.taker?.reads(value);
      }
      if (status < 502) this.#rules.hearsResult(request, status, request.text);
      request.taker?.ends(true);
    } catch {
      // A broken transfer: nothing whole has been told.
      request.taker?.ends(false);
    }
    request.state = "is done";
    this.#trace(`        ${request.name} has read to the end`);
  }

  /** Reads no more, until it does or for ever. */
  stall(request: ClientRequest): void {
    if (request.state === "reads") request.state = "stalls";
    request.stalled = Promise.withResolvers();
  }

  readOn(request: ClientRequest): void {
    request.state = "reads";
    request.stalled?.resolve();
    request.stalled = null;
  }

  leave(request: ClientRequest): void {
    request.state = "has left";
    request.stalled?.resolve();
    request.caller.abort();
    if (request.held !== null) cancel(request.held.response);
    request.held = null;
    void request.reader?.cancel().catch(() => undefined);
  }

  /** The object is gone: who still waits or reads hears that something broke. */
  crash(): void {
    for (const request of this.requests) {
      request.held = null;
      if (request.state !== "is done") request.taker?.ends(false);
      request.state = "is done";
    }
  }

  /** Those who are at this. */
  with(wanted: ClientRequest["state"]): readonly ClientRequest[] {
    return this.requests.filter(({ state }) => state === wanted);
  }

  /** Those who have not been answered to the end. */
  unanswered(): readonly ClientRequest[] {
    return this.requests.filter(({ state }) => state === "waits" || state === "answered" || state === "reads");
  }
}

function cancel({ body }: PlainResponse): void {
  if (body instanceof ReadableStream) void body.cancel().catch(() => undefined);
}
