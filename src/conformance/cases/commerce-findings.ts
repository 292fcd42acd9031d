// What judges of the commerce protocols look for: errors in the form of ACP and of UCP, and keys that belong to another request.

import type { CaseObservation, ConformanceCase, OriginBehaviour } from "../case.ts";
import {
  callCount,
  type CaseFinding,
  firstVerdict,
  problemOf,
  replySucceeds,
  replySummary,
  wholeAnswerOf,
} from "../findings.ts";
import { sendStep } from "./define.ts";
import type { JsonMembers } from "../tool-call.ts";

export const acpBody = (text: string): OriginBehaviour => ({ body: { text } });

/** An error of ACP: its status, its code, and no other members than it has. */
export const isAcpError = (seen: CaseObservation, name: string, status: number, code: string) => (): CaseFinding => {
  const answer = wholeAnswerOf(seen, name);
  if (answer === null || answer.status !== status) return `got ${replySummary(seen, name)}, not ${status}`;
  const members = problemOf(answer);
  if (members === null) return `the ${status} is no JSON object`;
  if (members["code"] !== code) return `the ${status} has not the code ${code}`;
  return isFlat(members) ? null : "the error has not just the members type, code, message and, if need be, param";
};

const FLAT: readonly string[] = ["type", "code", "message", "param"];

function isFlat(members: Readonly<Record<string, unknown>>): boolean {
  const hasNeeded = FLAT.slice(0, 3).every((name) => typeof members[name] === "string");
  return hasNeeded && Object.keys(members).every((name) => FLAT.includes(name));
}

export const isAcpConflict = (seen: CaseObservation, name: string) =>
  isAcpError(seen, name, 422, "idempotency_conflict");

export const isAcpReuse = (seen: CaseObservation) =>
  firstVerdict(replySucceeds(seen, "first", "the first request"), callCount(seen, 1), isAcpConflict(seen, "again"));

/** Two bodies under one key. */
export const bodyPair = (one: string, other: string): ConformanceCase["script"] => [
  sendStep("first", acpBody(one)),
  sendStep("again", acpBody(other)),
];

export const UCP_REPLAYS = "Replay Protection";

/** An error of UCP: a text of its own beside its code. */
export const isUcpError = (seen: CaseObservation, name: string, status: number, code?: string) => (): CaseFinding => {
  const answer = wholeAnswerOf(seen, name);
  if (answer === null || answer.status !== status) return `got ${replySummary(seen, name)}, not ${status}`;
  return ucpErrorFinding(problemOf(answer), code);
};

export function ucpErrorFinding(error: JsonMembers | null, code: string | undefined): CaseFinding {
  if (error === null) return "the error is no JSON object";
  if (typeof error["code"] !== "string" || typeof error["content"] !== "string")
    return "the error has not the members code and content";
  return code === undefined || error["code"] === code ? null : `the error has not the code ${code}`;
}
