// What judges of AdCP's rules look for: results, replays, and errors as a tool has them (docs/building/operating/transport-errors.mdx).

import type { CaseObservation } from "../case.ts";
import { callCount, type CaseFinding, firstVerdict, isSuccess, replySummary } from "../findings.ts";
import { messageIn, respondsWith, valueIn } from "./rpc-findings.ts";

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
