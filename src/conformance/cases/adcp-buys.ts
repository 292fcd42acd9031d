// A media buy, as all cases of AdCP have it: what clients send, with the key among the arguments, what the suite's origin answers, and what judges look for in
// results, replays and errors (docs/building/operating/transport-errors.mdx).

import { isDeepStrictEqual } from "node:util";
import type { CallBehaviour, CaseObservation } from "../case.ts";
import { callCount, type CaseFinding, firstVerdict, isSuccess, replySummary, valueIn } from "../findings.ts";
import { FIRST_ID, type JsonMembers, type ToolCall } from "../tool-call.ts";
import { sendStep } from "./define.ts";
import { inputKeyCall, messageIn, respondsWith, resultIn, rpcAnswer } from "./rpc-findings.ts";

/** A task's answer: `structuredContent`, and the same as text. */
export function taskAnswer(content: JsonMembers, isError = false): CallBehaviour {
  const json = JSON.stringify(content);
  const text = JSON.stringify([{ type: "text", text: json }]);
  return rpcAnswer(`"result":{"content":${text},${isError ? '"isError":true,' : ""}"structuredContent":${json}}`);
}

export const FIRST_CONTEXT = { trace: "first" };
export const boughtAnswer = taskAnswer({ status: "completed", media_buy_id: "mb-1", context: FIRST_CONTEXT });
/** Whatever is processed a second time is seen in its result. */
export const boughtAgain = taskAnswer({ status: "completed", media_buy_id: "mb-2" });

export const countedBuys = { needs: ["origin"], origin: [boughtAnswer, boughtAgain] } as const;
export const twoBuys = { origin: [boughtAnswer, boughtAgain] } as const;
export const firstBuy = sendStep("first", inputKeyCall(FIRST_ID, { with: { context: FIRST_CONTEXT } }));

export const buyAgain = (more: Omit<ToolCall, "id"> = {}) => sendStep("again", inputKeyCall("next", more));

export const contentOf = (seen: CaseObservation, name: string): unknown =>
  valueIn(messageIn(seen, name), "result", "structuredContent");

export function contentMember(seen: CaseObservation, name: string, member: string): unknown {
  return valueIn(contentOf(seen, name), member);
}

/** What a seller answers, without what belongs to one request: `replayed` and `context` (Idempotency, rule 4). */
function payloadOf(seen: CaseObservation, name: string): unknown {
  const content = contentOf(seen, name);
  if (resultIn(seen, name) === null || typeof content !== "object" || content === null) return null;
  if ("adcp_error" in content || valueIn(content, "status") === "failed") return null;
  const own = new Set(["replayed", "context"]);
  return Object.fromEntries(Object.entries(content).filter(([member]) => !own.has(member)));
}

/** The call of this id was processed, or got what a processed one got. */
export const hasBought = (seen: CaseObservation, name: string, id: unknown) => (): CaseFinding => {
  const found = respondsWith(seen, name, id, "result")();
  if (found !== null) return found;
  return payloadOf(seen, name) === null ? `got ${replySummary(seen, name)}, and no payload` : null;
};

const hasPayloadOf = (seen: CaseObservation, name: string, first: string) => (): CaseFinding =>
  isDeepStrictEqual(payloadOf(seen, name), payloadOf(seen, first)) ? null : "it got another payload";

/** The first one's payload under the id of this call, and one operation. */
export const isAdcpReplay = (seen: CaseObservation) =>
  firstVerdict(
    callCount(seen, 1),
    hasBought(seen, "first", FIRST_ID),
    hasBought(seen, "again", "next"),
    hasPayloadOf(seen, "again", "first"),
  );

/** Each was processed. The suite's own origin answers under one id whatever it is asked. */
export const areTwoBuys = (seen: CaseObservation) =>
  firstVerdict(
    callCount(seen, 2),
    hasBought(seen, "first", FIRST_ID),
    hasBought(seen, "again", seen.calls === null ? "next" : FIRST_ID),
    () => (hasPayloadOf(seen, "again", "first")() === null ? "both got one payload" : null),
  );

/** The payload of a first call that succeeded; `null`: there is none. */
export const boughtIn = (seen: CaseObservation, name: string): unknown =>
  hasBought(seen, name, FIRST_ID)() === null ? payloadOf(seen, name) : null;

/** A tool error with this code, which names nothing of another request. */
export const isAdcpError =
  (seen: CaseObservation, name: string, id: unknown, codes: readonly string[]) => (): CaseFinding => {
    const found = respondsWith(seen, name, id, "result")();
    if (found !== null) return found;
    if (!isSuccess(seen, name))
      return `got ${replySummary(seen, name)}: clients read a tool's error with HTTP 200 alone`;
    const message = messageIn(seen, name);
    if (valueIn(message, "result", "isError") !== true) return "the result has not isError";
    const error = valueIn(contentOf(seen, name), "adcp_error");
    const code = valueIn(error, "code");
    if (typeof code !== "string" || !codes.includes(code))
      return `the error has the code ${String(code)}, not ${codes.join(" or ")}`;
    return null;
  };

export const isAdcpConflict = (seen: CaseObservation) =>
  firstVerdict(callCount(seen, 1), isAdcpError(seen, "again", "next", ["IDEMPOTENCY_CONFLICT"]));
