// Asks the origin whether a lost attempt took effect (`unknown = "verify"`), with the credential of the attempt's own request.
// kernel/record/verification-answer.ts and judge-state.ts decide what an answer means; verifications.ts decides when to ask.

import type { Origin } from "../config/resolved.ts";
import type { LifeCycleEvent, LifeCycleStep } from "../record/events.ts";
import { secondOf } from "./state-request.ts";
import {
  findingOfStatus,
  hasSecondChance,
  type FindingEvidence,
  type VerificationCredential,
  type VerificationFinding,
} from "../record/verification-answer.ts";
import { isSuccessStatus, negativeCountsFrom } from "../record/verdict.ts";
import type { OpenFinding } from "../record/timeline.ts";
import type { Policy, Unknown } from "../record/record.ts";
import {
  type AttemptId,
  type DurationMs,
  durationMs,
  type EpochMs,
  epochMs,
  keyHashOf,
  type RecordId,
} from "../record/units.ts";
import { VERIFIED_HEADER } from "../request/headers.ts";
import { MAX_JSON_BYTES } from "../request/json.ts";
import { bodySlicer } from "../request/key-places.ts";
import type { Verification } from "../request/message.ts";
import type { Fetcher } from "../request/pass-through.ts";
import type { RecordAttachments } from "../store/attachments.ts";
import type { Entry, Ledger } from "../store/ledger.ts";
import { callOrigin, type OriginResponse, readSmallBody } from "../object/origin-call.ts";
import { type OriginReachability } from "../object/reachability.ts";
import type { StoredResponse } from "../store/response-rows.ts";
import { hasMembers, readStoredJson, readOrReport } from "../store/unreadable.ts";
import type { ObjectTimers } from "../object/timers.ts";
import { judgeState, type StateResponse, type StoredState } from "./judge-state.ts";

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
  /** Writes down a finding that leaves the outcome open, and counts any finding. */
  readonly noteFinding: (id: RecordId, attemptId: AttemptId, finding: OpenFinding) => void;
  readonly countFinding: (id: RecordId, finding: VerificationFinding) => void;
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
  const text = ledger.verification(id, ledger.find(id));
  const claims = parse(text);
  const settleMs = durationMs(claims?.state?.settleMs ?? 0);
  const { reply } = step(id, { type: "verify", settleMs }, policy);
  if (reply.type !== "verify") return;
  const { attempt } = reply.record;
  const answer = await verifyInTurn(id, claims, secondOf(claims, text, callers), ports);
  const finding = settle(id, reply.record, { answer, verifiedAt, settleMs, policy }, ports);
  ports.countFinding(id, finding);
  if (finding === "happened" || finding === "not-happened") return;
  const countsFrom = claims === null || !maySayNo(claims) ? null : negativeCountsFrom(attempt, settleMs);
  ports.noteFinding(id, attempt.id, { answer: finding, saw: answer.saw, countsFrom });
}

/** Whether any answer says that nothing happened. */
function maySayNo({ state }: Verification): boolean {
  return (
    state === undefined ||
    state.missing === "not_happened" ||
    state.test.kind === "list" ||
    state.test.notHappened !== null
  );
}

interface AnsweredVerification {
  readonly answer: Answer;
  readonly verifiedAt: EpochMs;
  readonly settleMs: DurationMs;
  readonly policy: Policy;
}

/** Settles the record if the answer says what happened, and returns what it says. */
function settle(
  id: RecordId,
  { attempt }: Unknown,
  { answer, verifiedAt, settleMs, policy }: AnsweredVerification,
  { step }: Pick<VerificationPorts, "step">,
): VerificationFinding {
  const { finding, saw, status, originEvents } = answer;
  if (finding === "happened") {
    const response = answer.response === null ? null : withDate(answer.response, verifiedAt);
    const kept = response !== null;
    const event = { type: "result", attemptId: attempt.id, status, kept, verified: true, saw } as const;
    step(id, event, policy, { response, originEvents });
  }
  if (finding !== "not-happened") return finding;
  const { record } = step(id, { type: "absent", attemptId: attempt.id, verifiedAt, settleMs, saw }, policy);
  const isOpen = record?.state === "unknown" && record.attempt.id === attempt.id;
  return isOpen ? "too-early" : finding;
}

/** The answer of the first attempt is lost. The date tells that this is what the origin said later. */
function withDate(response: StoredResponse, verifiedAt: EpochMs): StoredResponse {
  const date = [VERIFIED_HEADER, new Date(verifiedAt).toUTCString()] as const;
  return { ...response, headers: [...response.headers, date] };
}

interface Answer {
  readonly finding: VerificationFinding;
  readonly saw: FindingEvidence | null;
  /** Of the response that retries get. */
  readonly status: number;
  readonly response: StoredResponse | null;
  readonly originEvents: string | null;
}

function open(finding: VerificationFinding, saw: FindingEvidence | null = null): Answer {
  return { finding, saw, status: 0, response: null, originEvents: null };
}

/** Asks with the claim's credential and, if the origin rejects that, with the caller's. */
async function verifyInTurn(
  id: RecordId,
  claims: Verification | null,
  callers: Verification | null,
  ports: VerificationPorts,
): Promise<Answer> {
  const endsAt = performance.now() + VERIFICATION_MS;
  const first = claims === null ? null : await verifyOnce(id, claims, "claim", VERIFICATION_MS, ports);
  if (callers === null || !hasSecondChance(first?.finding ?? null)) return first ?? open("unanswered");
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
  const { state, ...asked } = verification;
  const request = { ...asked, names: { keyHash: keyHashOf(id) }, method: "GET", body: null, totalMs };
  const answer = await callOrigin(request, ports.target(verification.origin), ports);
  if (!("next" in answer)) return open("unanswered");
  const maxBytes = Math.min(verification.maxBytes, MAX_BYTES);
  return state === undefined ? byStatus(answer, credential, maxBytes) : byState(answer, state, credential, maxBytes);
}

/** A look-up by key: any 2xx is the operation's result, and 404 says that there is none. */
async function byStatus(answer: OriginResponse, credential: VerificationCredential, maxBytes: number): Promise<Answer> {
  const { status, statusText, headers, events: originEvents } = answer;
  if (!isSuccessStatus(status)) {
    answer.cancel();
    return open(findingOfStatus(status, credential, headerIn(answer, "age"), "not_happened"), ofStatus(answer));
  }
  const done = { finding: "happened", saw: ofStatus(answer), status, originEvents } as const;
  const body = await readSmallBody(answer, maxBytes);
  switch (body.kind) {
    case "whole": {
      const response = { status, statusText, headers, body: { kind: "inline", bytes: body.bytes } } as const;
      return { ...done, response };
    }
    case "more":
      answer.cancel();
      return { ...done, response: null };
    case "dropped":
    case "timed-out":
      return open("unanswered");
  }
}

/** The state of a resource, or a list, says what happened. */
async function byState(
  answer: OriginResponse,
  state: StoredState,
  credential: VerificationCredential,
  maxBytes: number,
): Promise<Answer> {
  const { status } = answer;
  const header = (name: string): string | null => headerIn(answer, name);
  let bytes: Uint8Array | null = null;
  if (status === 200) {
    const body = await readSmallBody(answer, MAX_JSON_BYTES);
    if (body.kind === "dropped" || body.kind === "timed-out") return open("unanswered");
    if (body.kind === "whole") ({ bytes } = body);
  }
  if (bytes === null) answer.cancel();
  let judged;
  try {
    judged = await bodySlicer.run(judgeState(state, credential, { status, header, body: bytes }));
  } catch (error) {
    // Rows of another release may have another form. One of them must not stop the verifications of all others.
    console.error({ message: "an answer of the origin could not be judged", reason: String(error) });
    return open("unreadable");
  }
  if (judged.response === null) return open(judged.finding, judged.saw);
  const { finding, saw, response } = judged;
  return {
    finding,
    saw,
    status: response.status,
    response: storedResponse(response, header("content-type"), maxBytes),
    originEvents: null,
  };
}

function storedResponse(
  { status, bytes, location }: StateResponse,
  type: string | null,
  maxBytes: number,
): StoredResponse | null {
  if (bytes === null || bytes.byteLength > maxBytes) return null;
  const headers = [
    ...(type === null ? [] : [["Content-Type", type] as const]),
    ...(location === null ? [] : [["Location", location] as const]),
  ];
  return { status, statusText: "", headers, body: { kind: "inline", bytes } };
}

function headerIn({ headers }: OriginResponse, wanted: string): string | null {
  const values = headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
  return values.length === 0 ? null : values.join(", ");
}

function ofStatus({ status }: OriginResponse): FindingEvidence {
  return { at: "status", value: String(status) };
}

/** Reads what the claim wrote, in this deployment or an earlier one. `null` if it cannot be read: an error would quote a credential. */
function parse(text: string | null): Verification | null {
  if (text === null) return null;
  return readOrReport(() => {
    const stored = readStoredJson(text, "a verification at the origin", isStored);
    return "byState" in stored ? stored.byState : stored;
  }, {});
}

function isStored(value: unknown): value is Verification | { readonly byState: Verification } {
  if (hasMembers(value, "byState")) return isVerification(value.byState) && hasMembers(value.byState, "state");
  return isVerification(value);
}

function isVerification(value: unknown): value is Verification {
  return hasMembers(value, "url", "headers", "origin", "timeoutMs", "maxBytes");
}
