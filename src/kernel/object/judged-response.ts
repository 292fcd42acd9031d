// What an answer of the origin means: by its status and, where its status says that it is a result, by its body, if a feature reads that. Such a body is
// held whole until it has been read. One that cannot be read is the result that its status says: what nobody has read never lets a second
// attempt start.

import { holdAnswer } from "../body/held-answer.ts";
import type { RouteRules } from "../config/resolved.ts";
import type { BodyQuestion, JudgeBody } from "../judge-body.ts";
import { type BrokenOff, type EndReason, judgeAttempt, type NoResult } from "../record/verdict.ts";
import type { OriginResponse } from "./origin-call.ts";

export interface JudgingPorts {
  /** `null`: a status alone decides. */
  readonly judgeBody: JudgeBody | null;
  /** A body that would have counted could not be read. */
  readonly unreadable: () => void;
}

/** The response has all of its body, also what has been read of it. */
export type JudgedResponse =
  | { readonly kind: "result"; readonly response: OriginResponse }
  | { readonly kind: NoResult; readonly reason: EndReason; readonly response: OriginResponse }
  /** It broke off before it was known. */
  | { readonly kind: "broken"; readonly end: BrokenOff };

export function judgeResponse(
  response: OriginResponse,
  rules: RouteRules,
  { judgeBody, unreadable }: JudgingPorts,
): JudgedResponse | Promise<JudgedResponse> {
  const { status } = response;
  const kind = judgeAttempt({ kind: "answered", status }, rules.lists);
  if (kind !== "result") return { kind, reason: { kind: "status", status }, response };
  const question = judgeBody === null ? null : judgeBody(response, rules);
  if (question === null) return { kind, response };
  if (question === "unreadable") {
    unreadable();
    return { kind, response };
  }
  return judgeHeld(response, question, unreadable);
}

/** By its body, of which something counts. */
async function judgeHeld(
  response: OriginResponse,
  question: BodyQuestion,
  unreadable: () => void,
): Promise<JudgedResponse> {
  const { status } = response;
  const kind = "result";
  const held = await holdAnswer(response);
  if (held.kind === "broken") return held;
  const said = held.bytes === null ? "unreadable" : await question(held.bytes);
  if (said === "unreadable") unreadable();
  if (said === "unreadable" || said.is === "result") return { kind, response: held.response };
  return { kind: said.is, reason: { kind: "body", at: said.at, status }, response: held.response };
}
