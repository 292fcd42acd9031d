// The texts of all problems as clients and operators read them, in one file: a changed sentence is seen and approved.

import { describe, expect, it } from "vitest";
import { describeProblem, type Problem } from "../../../../src/kernel/record/problem.ts";
import { LATE_BODY } from "../../../../src/kernel/request/body.ts";
import { expectApproved } from "../../../support/words.ts";

/** Every form of each problem whose text differs from its other forms. The compiler names a code that is missing. */
const FORMS: { readonly [Code in Problem["code"]]: readonly Extract<Problem, { readonly code: Code }>[] } = {
  "key-missing": [{ code: "key-missing", ways: "the header Idempotency-Key" }],
  "key-invalid": [{ code: "key-invalid", reason: "REASON." }],
  "request-invalid": [
    { code: "request-invalid", reason: "REASON." },
    { code: "request-invalid", reason: "REASON.", allow: ["GET"] },
    LATE_BODY,
  ],
  "key-reused": [{ code: "key-reused", status: 422 }],
  "too-many-keys": [{ code: "too-many-keys", retryAfterMs: 10_000 }],
  "in-flight": [{ code: "in-flight", retryAfterMs: 1_000 }],
  "outcome-unknown": [
    { code: "outcome-unknown", retryAfterMs: null },
    { code: "outcome-unknown", retryAfterMs: 5_000 },
  ],
  "response-not-kept": [
    { code: "response-not-kept", originalStatus: 201 },
    { code: "response-not-kept", originalStatus: null },
  ],
  "key-expired": [
    { code: "key-expired", originalStatus: 201 },
    { code: "key-expired", originalStatus: null },
  ],
  "key-abandoned": [{ code: "key-abandoned" }],
  "repeated-content": [{ code: "repeated-content" }],
  "body-too-large": [
    { code: "body-too-large", limitBytes: 1_000 },
    { code: "body-too-large", limitBytes: 1_000, holds: "key" },
    { code: "body-too-large", limitBytes: 1_000, holds: "scope" },
    { code: "body-too-large", limitBytes: 1_000, holds: "signature" },
  ],
  "origin-unreachable": [
    { code: "origin-unreachable", mayHaveActed: false },
    { code: "origin-unreachable", mayHaveActed: true },
  ],
  "origin-dropped": [
    { code: "origin-dropped", unknown: "hold", retryAfterMs: 40_000 },
    { code: "origin-dropped", unknown: "retry", retryAfterMs: 40_000 },
    { code: "origin-dropped", unknown: "verify", retryAfterMs: 40_000 },
    { code: "origin-dropped", unknown: "unprotected", retryAfterMs: 40_000 },
  ],
  "origin-timeout": [
    { code: "origin-timeout", unknown: "hold", retryAfterMs: 40_000 },
    { code: "origin-timeout", unknown: "retry", retryAfterMs: 40_000 },
    { code: "origin-timeout", unknown: "verify", retryAfterMs: 40_000 },
  ],
  "store-unavailable": [{ code: "store-unavailable" }],
  "credential-invalid": [
    { code: "credential-invalid", why: "missing" },
    { code: "credential-invalid", why: "expired" },
    { code: "credential-invalid", why: "invalid" },
    {
      code: "credential-invalid",
      why: "invalid",
      signature: { fault: "digest-invalid", reason: "The body is another." },
    },
  ],
  "identity-unavailable": [
    { code: "identity-unavailable", retryAfterMs: 1_000 },
    { code: "identity-unavailable", retryAfterMs: 1_000, isProfile: true },
  ],
  "configuration-invalid": [{ code: "configuration-invalid", problemCount: 2 }],
  "monitor-not-found": [{ code: "monitor-not-found" }],
  "key-not-known": [{ code: "key-not-known" }],
  "attempts-exhausted": [
    { code: "attempts-exhausted", lastStatus: 503, mayHaveActed: false },
    { code: "attempts-exhausted", lastStatus: 503, mayHaveActed: true },
  ],
  "cancel-refused": [
    { code: "cancel-refused", why: "in-flight", retryAfterMs: 1_000 },
    { code: "cancel-refused", why: "ended" },
  ],
  "claim-invalid": [{ code: "claim-invalid", reason: "REASON." }],
  "consumer-unauthorized": [{ code: "consumer-unauthorized" }],
  "consumer-throttled": [{ code: "consumer-throttled", retryAfterMs: 1_000 }],
  "operator-unauthorized": [{ code: "operator-unauthorized" }],
  "operator-forbidden": [
    { code: "operator-forbidden", why: "reader" },
    { code: "operator-forbidden", why: "browser" },
  ],
  "operator-throttled": [{ code: "operator-throttled", retryAfterMs: 1_000 }],
  "operator-request-invalid": [{ code: "operator-request-invalid", reason: "REASON." }],
  "audit-unavailable": [{ code: "audit-unavailable" }],
  "operator-not-found": [{ code: "operator-not-found" }],
  "record-not-found": [{ code: "record-not-found" }],
  "change-refused": [
    { code: "change-refused", why: "completed" },
    { code: "change-refused", why: "remembered" },
    { code: "change-refused", why: "in-flight", retryAfterMs: 1_000 },
  ],
};

const ALL: readonly Problem[] = Object.values(FORMS).flat();

/** After which the operation may have taken effect, so that another key could make a second effect. */
const MAY_HAVE_TAKEN_EFFECT: ReadonlySet<Problem["code"]> = new Set([
  "key-reused",
  "in-flight",
  "outcome-unknown",
  "response-not-kept",
  "key-expired",
  "origin-dropped",
  "origin-timeout",
  "store-unavailable",
  "monitor-not-found",
  "key-not-known",
]);

describe("the texts of problems", () => {
  it("are those of the approved file", async () => {
    const said = ALL.map((problem) => {
      const { status, title, detail, retryable, safeNewKey, retryAfterSeconds } = describeProblem(problem);
      const again = `${retryable ? "retryable" : "not retryable"}${retryAfterSeconds === null ? "" : `, Retry-After: ${retryAfterSeconds}`}`;
      const newKey = safeNewKey === true ? "\nA new key is safe." : "";
      return { asked: JSON.stringify(problem), words: `${status} ${title} (${again})\n${detail}${newKey}` };
    });
    await expectApproved("problems", said);
  });

  it("never advise a new key for an operation that may have taken effect", () => {
    for (const problem of ALL.filter(({ code }) => MAY_HAVE_TAKEN_EFFECT.has(code))) {
      // Each sentence that speaks of a new key says what goes wrong with it, or that it is for another operation.
      const sentences = describeProblem(problem).detail.split(/(?<=\.) /);
      for (const [at, sentence] of sentences.entries()) {
        if (!/\b(a|with a|another) new key\b|\bnew one\b|\bone with a key\b/.test(sentence)) continue;
        const warned = `${sentence} ${sentences[at + 1] ?? ""}`;
        expect(warned).toMatch(/twice|Do not|Only a new operation|second operation/);
      }
    }
  });

  it("say what to do with the key after each problem whose retry helps", () => {
    const retried = ALL.filter((problem) => {
      const { retryable } = describeProblem(problem);
      return retryable && !/^(consumer|operator|audit|change|cancel)/.test(problem.code);
    });
    for (const problem of retried) expect(describeProblem(problem).detail).toMatch(/same key/);
  });

  it("speak of the API, as clients know it, and not of the origin", () => {
    for (const problem of ALL) {
      const { title, detail } = describeProblem(problem);
      expect(`${title} ${detail}`).not.toMatch(/\borigin\b/i);
    }
  });
});
