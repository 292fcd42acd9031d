import { describe, expect, it } from "vitest";
import { type JudgedAnswer, combineOutcomes, judgeAnswer } from "../../../src/client/judge.ts";
import { parseProblem, type ProblemCode } from "../../../src/client/problem-details.ts";
import { DEFAULT_AMBIGUOUS } from "../../../src/kernel/config/settings-attempt.ts";
import type { MonitorProblem } from "../../../src/kernel/record/monitor-problem.ts";
import type { ClientProblemCode, Problem } from "../../../src/kernel/record/problem.ts";
import { problemResponse } from "../../../src/kernel/request/problem-response.ts";

const ORIGINS: JudgedAnswer = {
  status: 200,
  problem: null,
  shouldRetry: null,
  isProtected: true,
  isKept: false,
  isUnprotected: false,
};

type GatewayCode = ClientProblemCode | MonitorProblem["code"];

/** The client knows exactly the gateway's codes: the two types are assignable both ways. */
const known: Record<GatewayCode, ProblemCode> & Record<ProblemCode, GatewayCode> = {
  "key-missing": "key-missing",
  "key-invalid": "key-invalid",
  "request-invalid": "request-invalid",
  "key-reused": "key-reused",
  "too-many-keys": "too-many-keys",
  "in-flight": "in-flight",
  "outcome-unknown": "outcome-unknown",
  "response-not-kept": "response-not-kept",
  "key-expired": "key-expired",
  "key-abandoned": "key-abandoned",
  "repeated-content": "repeated-content",
  "body-too-large": "body-too-large",
  "origin-unreachable": "origin-unreachable",
  "origin-dropped": "origin-dropped",
  "origin-timeout": "origin-timeout",
  "store-unavailable": "store-unavailable",
  "credential-invalid": "credential-invalid",
  "identity-unavailable": "identity-unavailable",
  "configuration-invalid": "configuration-invalid",
  "monitor-not-found": "monitor-not-found",
  "key-not-known": "key-not-known",
  "attempts-exhausted": "attempts-exhausted",
  "cancel-refused": "cancel-refused",
};

const PROBLEMS: readonly (readonly [Problem, again: boolean, outcome: string])[] = [
  [{ code: "key-missing", ways: "the Idempotency-Key header" }, false, "no-effect"],
  [{ code: "key-invalid", reason: "" }, false, "no-effect"],
  [{ code: "request-invalid", reason: "" }, false, "no-effect"],
  [{ code: "key-reused", status: 422 }, false, "unknown"],
  [{ code: "too-many-keys", retryAfterMs: 2000 }, true, "no-effect"],
  [{ code: "in-flight", retryAfterMs: 2000 }, true, "unknown"],
  [{ code: "outcome-unknown", retryAfterMs: null }, false, "unknown"],
  [{ code: "outcome-unknown", retryAfterMs: 1000 }, true, "unknown"],
  [{ code: "response-not-kept", originalStatus: 201 }, false, "happened"],
  [{ code: "key-expired", originalStatus: 201 }, false, "happened"],
  [{ code: "key-expired", originalStatus: null }, false, "unknown"],
  [{ code: "key-abandoned" }, false, "no-effect"],
  [{ code: "repeated-content" }, false, "unknown"],
  [{ code: "body-too-large", limitBytes: 1 }, false, "no-effect"],
  [{ code: "origin-unreachable", mayHaveActed: false }, true, "no-effect"],
  [{ code: "origin-unreachable", mayHaveActed: true }, true, "unknown"],
  [{ code: "origin-dropped", unknown: "retry", retryAfterMs: 1 }, true, "unknown"],
  [{ code: "origin-dropped", unknown: "verify", retryAfterMs: 1 }, true, "unknown"],
  [{ code: "origin-dropped", unknown: "hold", retryAfterMs: 1 }, false, "unknown"],
  [{ code: "origin-dropped", unknown: "unprotected", retryAfterMs: 1 }, false, "unknown"],
  [{ code: "origin-timeout", unknown: "retry", retryAfterMs: 1 }, true, "unknown"],
  [{ code: "origin-timeout", unknown: "hold", retryAfterMs: 1 }, false, "unknown"],
  [{ code: "store-unavailable" }, true, "unknown"],
  [{ code: "credential-invalid", why: "expired" }, false, "no-effect"],
  [{ code: "identity-unavailable", retryAfterMs: 1000 }, true, "no-effect"],
  [{ code: "configuration-invalid", problemCount: 1 }, false, "no-effect"],
  [{ code: "monitor-not-found" }, false, "unknown"],
  [{ code: "key-not-known" }, false, "unknown"],
  [{ code: "attempts-exhausted", lastStatus: 503, mayHaveActed: false }, true, "no-effect"],
  [{ code: "attempts-exhausted", lastStatus: 503, mayHaveActed: true }, true, "unknown"],
  [{ code: "cancel-refused", why: "in-flight", retryAfterMs: 1000 }, true, "unknown"],
  [{ code: "cancel-refused", why: "ended" }, false, "unknown"],
];

describe("the gateway's own problems, as the gateway writes them", () => {
  it("are all in the table", () => {
    expect(new Set(PROBLEMS.map(([{ code }]) => code))).toEqual(new Set(Object.keys(known)));
  });

  it.each(PROBLEMS)("%j: again %s, %s", async (problem, again, outcome) => {
    const response = problemResponse(problem, "k");
    const read = parseProblem(await response.text());
    expect(read).toMatchObject({ code: problem.code, status: response.status, retryable: again });
    // With `X-Should-Retry`, and where a browser may not read it.
    for (const shouldRetry of [again, null]) {
      const judgement = judgeAnswer({ ...ORIGINS, status: response.status, problem: read, shouldRetry });
      expect(judgement).toEqual({ kind: "unanswered", again, outcome });
    }
  });

  it("carry the status that was not kept", async () => {
    const text = await problemResponse({ code: "response-not-kept", originalStatus: 402 }, "k").text();
    expect(parseProblem(text)?.originalStatus).toBe(402);
  });

  it("with an unknown code are retried as X-Should-Retry says, and leave the outcome open", () => {
    const problem = {
      code: "new",
      status: 409,
      title: "",
      detail: "",
      retryable: false,
      safeNewKey: false,
      instance: null,
      originalStatus: null,
    };
    expect(judgeAnswer({ ...ORIGINS, status: 409, problem, shouldRetry: true })).toEqual({
      kind: "unanswered",
      again: true,
      outcome: "unknown",
    });
  });

  it.each([
    "",
    "null",
    "7",
    "[]",
    "{",
    '{"type":"about:blank","code":"in-flight","status":409}',
    '{"type":"/.well-known/idempotency#in-flight","code":"key-reused","status":409}',
    '{"type":"/.well-known/idempotency#in-flight","code":"in-flight","status":"409"}',
  ])("are distinguished from the origin's: %s", (text) => {
    expect(parseProblem(text)).toBeNull();
  });
});

describe("the origin's answers", () => {
  it.each([200, 201, 204, 302, 400, 404, 409, 422, 500, 501])("%i is the operation's answer", (status) => {
    expect(judgeAnswer({ ...ORIGINS, status })).toEqual({ kind: "answered" });
  });

  it.each([425, 429, 503, 521, 523, 525, 526, 530])("%i means that nothing happened, and may be retried", (status) => {
    expect(judgeAnswer({ ...ORIGINS, status })).toEqual({ kind: "unanswered", again: true, outcome: "no-effect" });
  });

  it.each(DEFAULT_AMBIGUOUS)("%i leaves the outcome open, and may be retried", (status) => {
    expect(judgeAnswer({ ...ORIGINS, status })).toEqual({ kind: "unanswered", again: true, outcome: "unknown" });
  });

  it("leave the outcome open if the route has other statuses for refusals", () => {
    expect(judgeAnswer({ ...ORIGINS, status: 503 }, [429])).toMatchObject({ again: true, outcome: "unknown" });
    expect(judgeAnswer({ ...ORIGINS, status: 418 }, [418])).toMatchObject({ again: true, outcome: "no-effect" });
  });

  it("prove nothing if the gateway does not echo the key", () => {
    expect(judgeAnswer({ ...ORIGINS, status: 503, isProtected: false })).toMatchObject({
      again: true,
      outcome: "unknown",
    });
  });

  it("are final when the gateway keeps them, whatever their status", () => {
    expect(judgeAnswer({ ...ORIGINS, status: 503, isKept: true })).toEqual({ kind: "answered" });
  });

  it("are never retried if the gateway failed open", () => {
    expect(judgeAnswer({ ...ORIGINS, status: 502, isUnprotected: true })).toEqual({ kind: "answered" });
  });

  it("are retried or not as X-Should-Retry says", () => {
    expect(judgeAnswer({ ...ORIGINS, status: 503, shouldRetry: false })).toEqual({ kind: "answered" });
    expect(judgeAnswer({ ...ORIGINS, status: 500, shouldRetry: true })).toMatchObject({
      again: true,
      outcome: "unknown",
    });
  });
});

describe("what is known after several tries", () => {
  it("stays open until an answer settles it", () => {
    expect(combineOutcomes("unknown", "no-effect")).toBe("unknown");
    expect(combineOutcomes("unknown", "happened")).toBe("happened");
    expect(combineOutcomes("no-effect", "no-effect")).toBe("no-effect");
    expect(combineOutcomes("no-effect", "unknown")).toBe("unknown");
  });
});
