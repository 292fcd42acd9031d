import { expect, it } from "vitest";
import { type CandidateRecord, chooseCandidate } from "../../../../src/kernel/record/candidate.ts";
import { ABANDONED_KEY } from "../../../../src/kernel/record/record.ts";
import {
  attemptId,
  durationMs,
  epochMs,
  fingerprint as fingerprintOf,
  recordId,
} from "../../../../src/kernel/record/units.ts";

const NOW = epochMs(1000);
const MINE = fingerprintOf("mine");

function base(id: string, fingerprint: string): Pick<CandidateRecord["record"], "fingerprint" | "attempt" | "policy"> {
  return {
    fingerprint: fingerprintOf(fingerprint),
    attempt: { id: attemptId(id), number: 1, startedAt: NOW, lockedUntil: NOW, mayHaveActed: false },
    policy: { unknown: "retry", lockMs: durationMs(1), retentionMs: durationMs(1), unknownRetentionMs: durationMs(1) },
  };
}

const failed = (id: string, retryFrom = 1000, fingerprint = "mine"): CandidateRecord => ({
  id: recordId(id),
  record: { state: "failed", ...base(id, fingerprint), retryFrom: epochMs(retryFrom), expiresAt: epochMs(9999) },
});
const unknown = (id: string, fingerprint = "mine"): CandidateRecord => ({
  id: recordId(id),
  record: { state: "unknown", ...base(id, fingerprint), verifyAt: null, verifications: 0, expiresAt: epochMs(9999) },
});
const started = (id: string, fingerprint = "mine"): CandidateRecord => ({
  id: recordId(id),
  record: { state: "started", ...base(id, fingerprint) },
});

const givenUp = (id: string): CandidateRecord => ({
  id: recordId(id),
  record: { state: "remembered", ...base(id, ABANDONED_KEY), status: null, expiresAt: epochMs(9999) },
});

it.each<[string, readonly CandidateRecord[], string | null]>([
  ["none", [], null],
  ["the only one", [failed("a")], "a"],
  ["one in flight before one that may be tried again", [failed("a"), started("b")], "b"],
  ["one unknown before one that may be tried again", [failed("a"), unknown("b")], "b"],
  ["one whose attempt may still run before one that may be tried again", [failed("a"), failed("b", 1001)], "b"],
  ["its own name first among equals", [failed("a"), failed("b")], "a"],
  ["one of the same request before one of another", [started("a", "other"), failed("b")], "b"],
  ["a key that was given up before one that may be tried again", [failed("a"), givenUp("b")], "b"],
  ["one unknown before a key that was given up", [givenUp("a"), unknown("b")], "b"],
  ["one of another request if there is no other", [started("a", "other")], "a"],
])("chooses %s", (_name, candidates, id) => {
  expect(chooseCandidate(candidates, MINE, NOW)?.id ?? null).toBe(id);
});
