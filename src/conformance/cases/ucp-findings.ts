// What judges of UCP's rules look for in errors (docs/specification/signatures.md, error responses).

import type { CaseObservation } from "../case.ts";
import { type CaseFinding, problemOf, replySummary, wholeAnswerOf } from "../findings.ts";
import type { JsonMembers } from "./rpc-findings.ts";

export const UCP_REPLAYS = "Replay Protection";

/** An error of the protocol: a text of its own beside its code. */
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
