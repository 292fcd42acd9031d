// Asks the origin whether a lost attempt took effect (`unknown = "verify"`), with the credential of the attempt's own request.
// kernel/record/verification-answer.ts decides what an answer means; verifications.ts decides when to ask.

import type { Origin } from "../config/resolved.ts";
import type { LifeCycleEvent, LifeCycleStep } from "../record/events.ts";
import { type VerificationCredential, verificationFindingOf, hasSecondChance } from "../record/verification-answer.ts";
import type { Policy } from "../record/record.ts";
import { epochMs, keyHashOf, type RecordId } from "../record/units.ts";
import type { Verification } from "../request/message.ts";
import type { Fetcher } from "../request/pass-through.ts";
import type { RecordAttachments } from "../store/attachments.ts";
import type { Entry, Ledger } from "../store/ledger.ts";
import { callOrigin, readSmallBody } from "../object/origin-call.ts";
import { type OriginReachability } from "../object/reachability.ts";
import type { StoredResponse } from "../store/response-rows.ts";
import { hasMembers, readStoredJson, readOrReport } from "../store/unreadable.ts";
import type { ObjectTimers } from "../object/timers.ts";

export interface VerificationPorts {
  readonly ledger: Ledger;
  readonly reachability: OriginReachability;
  readonly timers: ObjectTimers;
  readonly target: (origin: Origin) => Fetcher | null;
  readonly step: (
    id: RecordId,
    event: LifeCycleEvent,
    policy: Policy,
    attachments?: RecordAttachments,
  ) => LifeCycleStep & { readonly entry: Entry | null };
}

/** The largest answer that is kept; a larger one settles the record without its response. */
const MAX_BYTES = 1 << 20;

/** How long a verification may take in total, including its second chance and the whole answer; a route may allow less. */
export const VERIFICATION_MS = 30_000;

/**
 * Asks what became of the record's last attempt, and settles the record if the origin knows. `callers` is the verification of
 * another caller, with that caller's credential: a second chance when the origin no longer accepts the claim's credential.
 * Rejects when the store fails.
 */
export async function verifyAttempt(
  id: RecordId,
  policy: Policy,
  callers: Verification | null,
  ports: VerificationPorts,
): Promise<void> {
  const { ledger, step } = ports;
  const verifiedAt = epochMs(Date.now());
  const { reply } = step(id, { type: "verify" }, policy);
  if (reply.type !== "verify") return;
  const attemptId = reply.record.attempt.id;
  // Read again, because a step that ends the lock moves the record to another bucket.
  const text = ledger.verification(id, ledger.find(id));
  // A verification equal to the claim's carries no other credential.
  const second = JSON.stringify(callers) === text ? null : callers;
  const answer = await verifyInTurn(id, parse(text), second, ports);
  switch (answer.kind) {
    case "done": {
      const { status, response, originEvents } = answer;
      const event = { type: "result", attemptId, status, kept: response !== null, verified: true } as const;
      step(id, event, policy, { response, originEvents });
      return;
    }
    case "absent":
      step(id, { type: "absent", attemptId, verifiedAt }, policy);
      return;
    case "rejected":
    case "open":
  }
}

type Answer =
  | {
      readonly kind: "done";
      readonly status: number;
      readonly response: StoredResponse | null;
      readonly originEvents: string | null;
    }
  | { readonly kind: "absent" | "rejected" | "open" };

/** Asks with the claim's credential and, if the origin rejects that, with the caller's. */
async function verifyInTurn(
  id: RecordId,
  claims: Verification | null,
  callers: Verification | null,
  ports: VerificationPorts,
): Promise<Answer> {
  const endsAt = performance.now() + VERIFICATION_MS;
  const first = claims === null ? null : await verifyOnce(id, claims, "claim", VERIFICATION_MS, ports);
  if (callers === null || !hasSecondChance(first?.kind ?? null)) return first ?? OPEN;
  return verifyOnce(id, callers, "another", endsAt - performance.now(), ports);
}

async function verifyOnce(
  id: RecordId,
  verification: Verification,
  credential: VerificationCredential,
  leftMs: number,
  ports: VerificationPorts,
): Promise<Answer> {
  // The route's `timeout` covers the whole verification: an answer that is not complete by then does not count.
  const totalMs = Math.min(verification.timeoutMs, leftMs);
  const request = { ...verification, names: { keyHash: keyHashOf(id) }, method: "GET", body: null, totalMs };
  const answer = await callOrigin(request, ports.target(verification.origin), ports);
  if (!("next" in answer)) return OPEN;
  const { status, statusText, headers, events: originEvents } = answer;
  const kind = verificationFindingOf(status, credential);
  if (kind !== "done") {
    answer.cancel();
    return { kind };
  }
  const body = await readSmallBody(answer, Math.min(verification.maxBytes, MAX_BYTES));
  switch (body.kind) {
    case "whole": {
      const response = { status, statusText, headers, body: { kind: "inline", bytes: body.bytes } } as const;
      return { kind, status, response, originEvents };
    }
    case "more":
      answer.cancel();
      return { kind, status, response: null, originEvents };
    case "dropped":
    case "timed-out":
      return OPEN;
  }
}

const OPEN: Answer = { kind: "open" };

/** Reads what the claim wrote, in this deployment or an earlier one. `null` if it cannot be read: an error would quote a credential. */
function parse(text: string | null): Verification | null {
  return text === null
    ? null
    : readOrReport(() => readStoredJson(text, "a verification at the origin", isVerification), {});
}

function isVerification(value: unknown): value is Verification {
  return hasMembers(value, "url", "headers", "origin", "timeoutMs", "maxBytes");
}
