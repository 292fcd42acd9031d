// The small sentences of which judges are made. A finding is `null` when all is well, a text that says what is wrong, or a reason
// why the case does not apply.

import type { CaseObservation, RequestReply, CaseVerdict } from "./case.ts";
import { headerValue, type HeaderPair, type RawResponse } from "./http-response.ts";

export type CaseFinding = string | null | { readonly skip: string };

/** The verdict of the first finding that is not `null`. Each is a function: a later one may rely on those before it. */
export function firstVerdict(...findings: readonly (() => CaseFinding)[]): CaseVerdict {
  for (const find of findings) {
    const found = find();
    if (typeof found === "string") return { is: "failed", why: found };
    if (found !== null) return { is: "skipped", why: found.skip };
  }
  return { is: "passed" };
}

export function replyOf({ replies }: CaseObservation, name: string): RequestReply {
  return replies[name] ?? { lost: "it was not sent" };
}

/** `null` without a whole answer. */
export function wholeAnswerOf(seen: CaseObservation, name: string): RawResponse | null {
  const reply = replyOf(seen, name);
  return "lost" in reply ? null : reply;
}

export function statusOf(seen: CaseObservation, name: string): number | null {
  return wholeAnswerOf(seen, name)?.status ?? null;
}

/** What a reader of the report needs of a reply. */
export function replySummary(seen: CaseObservation, name: string): string {
  const reply = replyOf(seen, name);
  if ("lost" in reply) return `no answer (${reply.lost})`;
  return `${reply.status}${reply.complete ? "" : ", cut short"}${markOf(reply) === null ? "" : ", marked as a replay"}`;
}

export function isSuccess(seen: CaseObservation, name: string): boolean {
  const answer = wholeAnswerOf(seen, name);
  return answer !== null && answer.complete && answer.status >= 200 && answer.status < 300;
}

/** 400 to 499. */
export function isRefused(seen: CaseObservation, name: string): boolean {
  const status = statusOf(seen, name);
  return status !== null && status >= 400 && status < 500;
}

export const replySucceeds = (seen: CaseObservation, name: string, what: string) => (): CaseFinding =>
  isSuccess(seen, name) ? null : `${what} got ${replySummary(seen, name)}, not a success`;

/** The same status and bytes. */
export const isSame = (seen: CaseObservation, name: string, first: string, what: string) => (): CaseFinding => {
  const [one, other] = [wholeAnswerOf(seen, first), wholeAnswerOf(seen, name)];
  if (one === null) return `the first request got ${replySummary(seen, first)}`;
  if (other === null) return `${what} got ${replySummary(seen, name)}`;
  if (one.status !== other.status) return `${what} got ${replySummary(seen, name)}, the first request ${one.status}`;
  if (!other.complete) return `${what} got an answer that was cut short`;
  if (!one.body.equals(other.body)) {
    const sizes = one.body.length === other.body.length ? "" : `: ${other.body.length} bytes, not ${one.body.length}`;
    return `${what} got another body than the first request${sizes}`;
  }
  return null;
};

/** Whether a later request was given the first one's answer. Answers without a body prove nothing. */
export function hasAnswerOf(seen: CaseObservation, name: string, first: string): boolean {
  const [one, other] = [wholeAnswerOf(seen, first), wholeAnswerOf(seen, name)];
  if (one === null || other === null || one.body.length === 0) return false;
  return one.status === other.status && one.body.equals(other.body);
}

/** The number of calls of the origin; not judged without one. */
export const callCount =
  (seen: CaseObservation, times: number, what = "the operation") =>
  (): CaseFinding =>
    seen.calls === null || seen.calls.length === times
      ? null
      : `${what} was processed ${timesText(seen.calls.length)}, not ${timesText(times)}`;

function timesText(count: number): string {
  return count === 1 ? "once" : count === 2 ? "twice" : `${count} times`;
}

/** Two requests were two operations: two calls or, without an origin, two different answers. */
export const notAlike = (seen: CaseObservation, one: string, other: string) => (): CaseFinding => {
  if (seen.calls !== null) return callCount(seen, 2)();
  if (hasAnswerOf(seen, other, one)) return "both requests got one answer";
  return null;
};

const MARKS = [
  ["idempotent-replayed", /^\??(true|1)$/i],
  ["idempotency-replayed", /^\??(true|1)$/i],
  ["x-idempotent-replayed", /^\??(true|1)$/i],
  ["x-idempotency-replayed", /^\??(true|1)$/i],
  ["idempotency-status", /^(replayed|attached)$/],
] as const;

/** The header that marks an answer as a replay; `null` for none. */
export function markOf(answer: { readonly headers: readonly HeaderPair[] }): string | null {
  for (const [name, value] of MARKS) if (value.test(headerValue(answer, name) ?? "")) return name;
  return null;
}

/** The form of an error (RFC 9457, and the draft's section 2.7). */
export const isExplained = (seen: CaseObservation, name: string) => (): CaseFinding => {
  const answer = wholeAnswerOf(seen, name);
  if (answer === null) return `got ${replySummary(seen, name)}`;
  const type = headerValue(answer, "content-type") ?? "none";
  const isProblem = /^application\/problem\+json\b/i.test(type);
  const isLinked = /rel="?describedby"?/i.test(headerValue(answer, "link") ?? "");
  if (isProblem || isLinked) return null;
  return `the ${answer.status} is no application/problem+json (its type: ${type}) and has no Link with rel="describedby"`;
};

/** Where a response of JSON-RPC, whose status is 200, says how long to wait: an error, or a tool's error of AdCP. */
const WAITS = [
  ["error", "data", "retry_after"],
  ["error", "data", "retryAfter"],
  ["result", "structuredContent", "adcp_error", "retry_after"],
] as const;

/** Whether a 409 or the like asks for another try of the same request. */
export function asksForLater(answer: RawResponse): boolean {
  const { status } = answer;
  if (status === 200) return WAITS.some((names) => typeof valueIn(problemOf(answer), ...names) === "number");
  if (headerValue(answer, "retry-after") !== null) return status >= 400;
  if (status !== 409 && status !== 425 && status !== 429 && status !== 503) return false;
  return problemOf(answer)?.["retryable"] !== false;
}

/** The members of a JSON body; `null` if it is none. */
export function problemOf(answer: Pick<RawResponse, "body">): Readonly<Record<string, unknown>> | null {
  const read = jsonOf(answer);
  return isMembers(read) ? read : null;
}

/** A JSON body; `undefined` if it is none. */
export function jsonOf({ body }: Pick<RawResponse, "body">): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

export function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The operation ran once, unless the server publishes that it repeats what may have taken effect. */
export const notRepeated = (seen: CaseObservation) => (): CaseFinding => {
  const rule = seen.policy?.unknownOutcome ?? null;
  if (rule === "retry" || rule === "verify") return null;
  const calls = seen.calls?.length ?? 1;
  return calls <= 1 ? null : `the operation was processed ${timesText(calls)}, and no published policy says so`;
};

/** The repeated request got the first one's answer, and nothing was processed for it. */
export const isOneOperation = (seen: CaseObservation): CaseVerdict =>
  firstVerdict(
    replySucceeds(seen, "first", "the first request"),
    isSame(seen, "again", "first", "the repeated request"),
    callCount(seen, 1),
  );

export const areTwoOperations = (seen: CaseObservation): CaseVerdict =>
  firstVerdict(
    replySucceeds(seen, "first", "the first request"),
    replySucceeds(seen, "again", "the other one"),
    notAlike(seen, "first", "again"),
  );

/** For how long the server says that it keeps answers. */
export const keptFor = (seen: CaseObservation, leastS: number): CaseVerdict =>
  firstVerdict(replySucceeds(seen, "first", "the request"), () => {
    const seconds = seen.policy?.retentionSeconds ?? null;
    if (seconds === null) return { skip: "the server does not say how long it keeps answers" };
    return seconds + ROUNDING_S < leastS ? `answers are kept for ${seconds} s` : null;
  });

/** An HTTP date has whole seconds. */
const ROUNDING_S = 2;

/** One of these requests, at least, passes. */
export const oneOf = (names: readonly string[], finding: (name: string) => () => CaseFinding) => (): CaseFinding =>
  names.some((name) => finding(name)() === null) ? null : "none succeeded";

/** What is at these names; `undefined`: nothing. */
export function valueIn(message: unknown, ...names: readonly string[]): unknown {
  let value: unknown = message;
  for (const name of names) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    value = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
  }
  return value;
}
