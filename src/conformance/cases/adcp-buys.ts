// A media buy, as all cases of AdCP have it: what clients send, with the key among the arguments, what the suite's origin answers, and what judges look for in
// results, replays and errors (docs/building/operating/transport-errors.mdx).

import type { CallBehaviour, CaseObservation } from "../case.ts";
import { callCount, type CaseFinding, firstVerdict, isSuccess, replySummary } from "../findings.ts";
import { sendStep } from "./define.ts";
import { callText, type JsonMembers, messageIn, respondsWith, rpcAnswer, rpcSending, valueIn } from "./rpc-findings.ts";

export const BUY_TOOL = "create_media_buy";
export const KEY_INPUT = { idempotency_key: "{key}" };

/** A secret of the first request: no error may repeat it. */
export const BUY_BUDGET = 918_273;

export const buySending = (id: number | string, more: JsonMembers = {}, tool = BUY_TOOL) => ({
  ...rpcSending(callText(id, tool, { ...KEY_INPUT, account: { account_id: "one" }, budget: BUY_BUDGET, ...more })),
  key: null,
});

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

export const twoBuys = { needs: ["origin"], origin: [boughtAnswer, boughtAgain] } as const;
export const firstBuy = sendStep("first", buySending(7, { context: FIRST_CONTEXT }));

export const buyAgain = (more: JsonMembers = {}, tool = BUY_TOOL) => sendStep("again", buySending("next", more, tool));

export const contentOf = (seen: CaseObservation, name: string): unknown =>
  valueIn(messageIn(seen, name), "result", "structuredContent");

export function contentMember(seen: CaseObservation, name: string, member: string): unknown {
  return valueIn(messageIn(seen, name), "result", "structuredContent", member);
}

export const hasMediaBuy = (seen: CaseObservation, name: string, id: unknown, what: string) => (): CaseFinding => {
  const found = respondsWith(seen, name, id, "result")();
  if (found !== null) return found;
  return contentMember(seen, name, "media_buy_id") === what ? null : `the result is not that of ${what}`;
};

/** The first one's payload under the id of this call, and one operation. */
export const isAdcpReplay = (seen: CaseObservation) =>
  firstVerdict(callCount(seen, 1), hasMediaBuy(seen, "first", 7, "mb-1"), hasMediaBuy(seen, "again", "next", "mb-1"));

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
    if (typeof valueIn(error, "recovery") !== "string") return "the error says nothing of recovery";
    return null;
  };

export const isAdcpConflict = (seen: CaseObservation) =>
  firstVerdict(callCount(seen, 1), isAdcpError(seen, "again", "next", ["IDEMPOTENCY_CONFLICT"]));
