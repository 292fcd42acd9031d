// What became of a key, for a client that has lost an answer and cannot, or will not, send the same request again: it looks, or it gives the key up, and then knows
// for certain whether a new one is safe.

import { type AskResult, askUntil } from "./ask-until.ts";
import { type ClientOptions, resolveOptions } from "./client-settings.ts";
import { type JudgedAnswer, judgeAnswer, LOST, type Outcome } from "./judge.ts";
import { readAnswerJson } from "./read-answer.ts";
import type { RequestSnapshot, TryResponse } from "./send.ts";

/** What became of the request, as the gateway says it. A later gateway may say others. */
export type LookedUpState =
  | "in-flight"
  | "not-done"
  | "unknown"
  | "completed"
  | "abandoned"
  | "expired"
  /** No record of it, for this caller and route: it may be on its way. */
  | "not-known"
  | (string & {});

/** What helps: wait, send the same request with the same key, read the outcome from the API, begin with a new key, or ask the API's operator. */
export type LookedUpNext = "wait" | "send-same" | "read-api" | "new-key" | "ask-operator" | (string & {});

export interface LookedUpKey {
  readonly state: LookedUpState;
  readonly next: LookedUpNext;
  /**
   * Whether no attempt of this key has taken effect, may have, or is in flight: if nothing more is sent with it, and no earlier try is still on its way,
   * a new key is safe. {@link createGiveUp} makes it certain.
   */
  readonly safeNewKey: boolean;
  /** Of the first answer; `null`: there is none, or the gateway cannot say. */
  readonly status: number | null;
}

/** How a key ended that its client wanted to give up. */
export interface SettledKey {
  /** `no-effect`: nothing has happened, and nothing that was sent with the key will. */
  readonly outcome: Outcome;
  readonly next: LookedUpNext;
  /** As in {@link LookedUpKey}. */
  readonly status: number | null;
}

/** `request`: the URL of the request that the key was sent with. `init`: its method, if it was not POST, the headers that say who asks, and a signal. */
export type AskKey<T> = (request: string | URL, key: string, init?: Parameters<typeof fetch>[1]) => Promise<T>;

/**
 * Makes a function that asks what became of a key, and changes nothing. It repeats lost questions, and waits for nothing else.
 *
 * @throws {RangeError} if an option is out of its bounds.
 * @returns a function that rejects with
 * - an {@link IdempotencyError} if there is no answer to be had: its `problem` says why;
 * - the signal's reason if the caller aborts;
 * - a TypeError if the URL is not absolute.
 */
export function createLookUp(options: ClientOptions = {}): AskKey<LookedUpKey> {
  const settings = resolveOptions(options);
  return async function lookUpKey(request, key, init = {}) {
    return askUntil(questionOf("GET", request, key, init), settings, reportIn);
  };
}

/**
 * Makes a function that gives a key up, and so finds out for certain: either the operation has happened, or it never will with this key, and a new one is safe. While
 * an attempt is in flight, or the gateway asks the API about a lost one, it waits.
 *
 * @example
 * ```ts
 * const giveUp = createGiveUp({ totalMs: 60_000 });
 * const { outcome, next } = await giveUp(url, key, { headers: { Authorization } });
 * if (outcome === "no-effect") await send(url, { ...request, headers: { ...headers, "Idempotency-Key": crypto.randomUUID() } });
 * ```
 *
 * @throws {RangeError} if an option is out of its bounds.
 * @returns a function that resolves with `unknown` if only the API or its operator can say what happened (`next` says which), and rejects as that of
 * {@link createLookUp}, also if there was no end in time.
 */
export function createGiveUp(options: ClientOptions = {}): AskKey<SettledKey> {
  const settings = resolveOptions(options);
  return async function giveUpKey(request, key, init = {}) {
    return askUntil(questionOf("DELETE", request, key, init), settings, async (sent) => {
      if (sent.kind === "lost") return FAILED;
      const { answer, response } = sent;
      if (response.status === 204 && response.headers.get("Idempotency-Status") === "abandoned") {
        return { kind: "answered", value: { outcome: "no-effect", next: "new-key", status: null } };
      }
      if (answer.problem?.code !== "cancel-refused") return unanswered(answer);
      // An attempt is in flight.
      if (response.headers.has("Retry-After")) return WAITING;
      return settledBy(await askUntil(questionOf("GET", request, key, init), settings, reportIn));
    });
  };
}

const FAILED = { kind: "failed", outcome: LOST.outcome } as const;
const WAITING = { kind: "waiting", outcome: "unknown" } as const;

/** The address of what is known of a key: behind the prefix the request's own path. */
const KEYS = "/.well-known/idempotency/requests";

function questionOf(
  method: "GET" | "DELETE",
  request: string | URL,
  key: string,
  init: Parameters<typeof fetch>[1] = {},
): RequestSnapshot {
  const url = new URL(request);
  const asked = new URL(KEYS + url.pathname, url);
  asked.searchParams.set("key", key);
  if (init.method !== undefined) asked.searchParams.set("method", init.method);
  const template = new Request(asked, { ...init, method, body: null });
  return { template, body: null, key, signal: template.signal, sources: [init, template] };
}

/** A question that was refused says nothing about the operation. */
function unanswered(answer: JudgedAnswer): AskResult<never> {
  const judgement = judgeAnswer(answer);
  const again = judgement.kind === "unanswered" && judgement.again;
  return { kind: again ? "failed" : "ended", outcome: "unknown" };
}

async function reportIn(sent: TryResponse): Promise<AskResult<LookedUpKey>> {
  if (sent.kind === "lost") return FAILED;
  const { answer, response } = sent;
  if (answer.problem?.code === "key-not-known") {
    return { kind: "answered", value: { state: "not-known", next: "send-same", safeNewKey: false, status: null } };
  }
  const report = response.status === 200 ? await readAnswerJson(response.clone()).catch(() => null) : null;
  return isReport(report)
    ? { kind: "answered", value: { ...report, status: report.status ?? null } }
    : unanswered(answer);
}

interface SentReport extends Omit<LookedUpKey, "status"> {
  readonly status?: number;
}

function isReport(value: unknown): value is SentReport {
  return (
    typeof value === "object" &&
    value !== null &&
    "state" in value &&
    typeof value.state === "string" &&
    "next" in value &&
    typeof value.next === "string" &&
    "safeNewKey" in value &&
    typeof value.safeNewKey === "boolean"
  );
}

/** Of a key that could not be given up. */
function settledBy({ state, next, status }: LookedUpKey): AskResult<SettledKey> {
  if (state === "completed") return { kind: "answered", value: { outcome: "happened", next, status } };
  // It has changed since it was refused, or the gateway asks the API about it: the next refusal says more.
  if (next === "wait" || (state !== "unknown" && state !== "expired")) return WAITING;
  return { kind: "answered", value: { outcome: "unknown", next, status } };
}
