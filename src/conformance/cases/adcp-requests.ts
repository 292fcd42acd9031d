// What the cases of AdCP send and what the suite's origin answers: a media buy whose key is among its arguments.

import type { CallBehaviour } from "../case.ts";
import { sendStep } from "./define.ts";
import { callText, type JsonMembers, rpcAnswer, rpcSending } from "./rpc-findings.ts";

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
