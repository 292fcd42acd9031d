// Hand-made histories of one key in a few lines. Times are milliseconds from the start of the history.

import type {
  Answer,
  Arrival,
  Decision,
  Effect,
  Ending,
  EventTry,
  Exchange,
  HistoryEvent,
  KeyQuestion,
  KeyWords,
  Look,
  NewKey,
  Outage,
  OutboxLook,
  Verification,
} from "../history.ts";
import { checkHistory } from "../check-history.ts";
import { expect } from "vitest";
import { GROUP_POLICIES } from "../../chaos/consumers.ts";
import { AMBIGUOUS, POLICIES, REFUSED, SAID } from "../../chaos/routes.ts";

export const KEY = "k";
export const ANN = "Bearer ann";
export const BOB = "Bearer bob";

/** The events, plus what every history has: a meta line, and a look at a disk on which nothing is overdue. */
export function story(...events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const byBody = Object.values(SAID);
  const settings = { policies: POLICIES, groups: GROUP_POLICIES, refused: REFUSED, ambiguous: AMBIGUOUS, byBody };
  const meta = { seed: "s", seconds: 1, startedAt: 0, ...settings };
  return [
    { type: "meta", ...meta },
    { type: "ledger", at: 0, records: 1, overdue: 0, orphans: 0, strays: [], unread: 0 },
    ...events,
  ];
}

export function asked(
  id: string,
  sentAt: number,
  endAt: number,
  ending: Ending,
  more: Partial<Exchange> = {},
): Exchange {
  const call = {
    key: KEY,
    scope: ANN,
    credential: ANN,
    path: "/hold",
    fingerprint: "first",
    prefer: null,
    bodySha256: "asked",
  };
  const way = { partial: false, bytes: 50, stalledMs: 0, calm: false };
  return { type: "exchange", id, ...call, ...way, sentAt, endAt, ending, ...more };
}

/** An arrival at the origin, which acted at once and sent its whole answer within 10 ms. */
export function came(seq: number, request: string, at: number, more: Partial<Arrival> = {}): Arrival {
  return {
    type: "arrival",
    seq,
    request,
    key: KEY,
    scope: ANN,
    credential: ANN,
    path: "/hold",
    attempt: seq,
    bodySha256: "asked",
    hasKey: true,
    step: "ok",
    at,
    status: 201,
    headAt: at + 5,
    maxGapMs: 5,
    lastAt: at + 10,
    headers: `headers ${seq}`,
    sha256: `body ${seq}`,
    bytes: 100,
    closedAt: at + 11,
    closedBy: "origin",
    ...more,
  };
}

/** The fields of an arrival whose connection was lost before any answer. */
export const LOST = {
  step: "act-reset",
  status: null,
  headAt: null,
  lastAt: null,
  headers: null,
  sha256: null,
  bytes: null,
};

export function acted(arrival: Arrival, at = arrival.at): Effect {
  const { seq, request, key, scope, credential, attempt } = arrival;
  return { type: "effect", id: `e${seq}-${at}`, arrival: seq, request, key, scope, credential, attempt, at };
}

/** The origin's answer to an arrival, as a client has to get it. */
export function reported(arrival: Arrival, more: Partial<Answer> = {}): Answer {
  const { seq, request, key, scope, bytes } = arrival;
  return {
    kind: "answer",
    status: arrival.status ?? 0,
    complete: true,
    left: false,
    echo: KEY,
    monitor: null,
    code: null,
    replayed: false,
    expiresAt: null,
    retryAfterMs: null,
    leaks: false,
    origin: { arrival: seq, request, key, scope, effect: `e${seq}`, bytes: bytes ?? 0 },
    headers: arrival.headers ?? "",
    hasCookie: true,
    gatewayHeaders: ["idempotency-key", "idempotency-status"],
    contentPolicy: null,
    typeOptions: null,
    sha256: arrival.sha256 ?? "",
    bytes: bytes ?? 0,
    body: "whole",
    ...more,
  };
}

export function replayed(arrival: Arrival, more: Partial<Answer> = {}): Answer {
  return reported(arrival, { replayed: true, hasCookie: false, ...more });
}

export function problem(code: string, status = 409, more: Partial<Answer> = {}): Answer {
  const none = { origin: null, headers: "", hasCookie: false, sha256: "", bytes: 0, body: "none" } as const;
  return reported(came(0, "", 0), {
    ...none,
    status,
    code,
    retryAfterMs: code === "in-flight" ? 1_000 : null,
    ...more,
  });
}

/** The origin was asked, and reported at once that there is no effect, or the given `effect`. */
export function verifiedAt(seq: number, at: number, more: Partial<Verification> = {}): Verification {
  const effect = more.effect ?? null;
  return {
    type: "verification",
    seq,
    key: KEY,
    scope: ANN,
    credential: ANN,
    mode: "truth",
    at,
    effect,
    status: effect === null ? 404 : 200,
    lastAt: at + 2,
    headers: `headers ${seq}`,
    sha256: `body ${seq}`,
    closedAt: at + 3,
    closedBy: "origin",
    ...more,
  };
}

export function decided(
  seq: number,
  action: Decision["action"],
  sentAt: number,
  more: Partial<Decision> = {},
): Decision {
  const response =
    action === "resolve"
      ? { status: 201, headers: `headers ${seq}`, sha256: `body ${seq}` }
      : { status: null, headers: null, sha256: null };
  const when = { sentAt, endAt: sentAt + 10, outcome: "changed", retryAfterMs: null } as const;
  return { type: "decision", seq, key: KEY, scope: ANN, action, ...when, ...response, ...more };
}

/** A question to the key's monitor, by its own caller unless `more` says otherwise. */
export function looked(id: string, sentAt: number, ending: Ending, more: Partial<Look> = {}): Look {
  const call = { key: KEY, scope: ANN, path: "/accepted-hold", method: "GET", isStranger: false } as const;
  return { type: "look", id, ...call, monitor: MONITOR, sentAt, endAt: sentAt + 10, ending: inert(ending), ...more };
}

/** What a client was told of its key. `report: null`: `more` has the problem. */
export function lookedUp(
  id: string,
  sentAt: number,
  report: Partial<KeyWords> | null,
  more: Partial<KeyQuestion> = {},
): KeyQuestion {
  const call = { key: KEY, scope: ANN, path: "/hold", method: "GET", isStranger: false } as const;
  const ending = problem("", 200, { code: null });
  const words = { state: "in-flight", next: "wait", safeNewKey: false, status: null };
  const told = report === null ? null : { ...words, ...report };
  return { type: "key-question", id, ...call, sentAt, endAt: sentAt + 10, ending, report: told, ...more };
}

/** A client gives its key up; `ending`: what it was told, a 204 unless it says otherwise. */
export function gaveUp(id: string, sentAt: number, ending: Ending = problem("", 204, { code: null })): KeyQuestion {
  return lookedUp(id, sentAt, null, { method: "DELETE", ending });
}

export function beganAfresh(at: number, why: NewKey["why"]): NewKey {
  return { type: "new-key", key: KEY, scope: ANN, to: "k2", why, at };
}

const INERT = { contentPolicy: "sandbox; default-src 'none'", typeOptions: "nosniff" };

function inert(ending: Ending): Ending {
  return ending.kind === "none" ? ending : { ...ending, ...INERT };
}

/** The event of an answer, as `every` gets it. */
export function published(of: Arrival | Verification | Decision, more: Partial<EventTry> = {}): EventTry {
  const { seq, key, scope, status } = of;
  const id = `event-${seq}-0`;
  return {
    type: "event-try",
    destination: "every",
    webhookId: id,
    id,
    isSigned: true,
    eventType: "chaos.ended",
    subject: `record of ${scope}`,
    key,
    attempt: of.type === "arrival" ? (of.attempt ?? 0) : 1,
    status,
    arrival: seq,
    sha256: `event ${seq}`,
    at: 5_000,
    answer: "taken",
    ...more,
  };
}

/** What the origin has made of its answer, as `origins` gets it. */
export function publishedByOrigin(of: Arrival, more: Partial<EventTry> = {}): EventTry {
  const id = `event-${of.seq}-1.0`;
  return published(of, { destination: "origins", webhookId: id, id, status: null, sha256: `own ${of.seq}`, ...more });
}

/** At the end of a run, no event is left but these. */
export function outboxWith(...left: readonly string[]): OutboxLook {
  return { type: "outbox", at: 20_000, left };
}

const MONITOR = "/monitor?print=1";

/** The 202 of an accepted request, or of its monitor. */
export function accepted(): Answer {
  return problem("", 202, { code: null, monitor: MONITOR, retryAfterMs: 1_000 });
}

/** A replay of the answer that a question or a decision provided. */
export function given(
  { type, seq, scope, status, headers, sha256 }: Verification | Decision,
  more: Partial<Answer> = {},
): Answer {
  const like = came(seq, "", 0, { scope, status, headers, sha256 });
  const gatewayHeaders = ["idempotency-key", "idempotency-status", "idempotent-replayed"];
  if (type === "verification") gatewayHeaders.push("idempotency-verified");
  return replayed(like, { gatewayHeaders, ...more });
}

export const LEFT: Ending = { kind: "none", why: "left" };
export const BROKEN: Ending = { kind: "none", why: "broken" };

export function outage(kind: Outage["kind"], from: number, to: number): Outage {
  return { type: "outage", kind, from, to };
}

type History = readonly HistoryEvent[];

export function rulesBroken(history: History): readonly string[] {
  return [...new Set(checkHistory(history).map(({ rule }) => rule))];
}

export function expectGood(history: History): void {
  expect(checkHistory(history)).toEqual([]);
}

export function expectBad(history: History, rule: string): void {
  expect(rulesBroken(history)).toContain(rule);
}
