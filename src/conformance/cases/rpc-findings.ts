// What cases of protocols over JSON-RPC send, and what their judges look for.

import { isDeepStrictEqual } from "node:util";
import type { CallBehaviour, CaseObservation, OriginBehaviour } from "../case.ts";
import { type CaseFinding, isMembers, jsonOf, problemOf, replySummary, valueIn, wholeAnswerOf } from "../findings.ts";
import { headerValue } from "../http-response.ts";
import { FIRST_ID, type JsonMembers, type ToolCall } from "../tool-call.ts";

/** A call of the target's tool, with the key in the header. */
export const headerKeyCall = (id: number | string, more: Omit<ToolCall, "id"> = {}): OriginBehaviour => ({
  body: { call: { id, ...more } },
});

/** One whose key, if any, is among its arguments. */
export const inputKeyCall = (id: number | string, more: Omit<ToolCall, "id"> = {}): OriginBehaviour => ({
  ...headerKeyCall(id, more),
  key: null,
});

/** How the origin answers the first call: with this member of a response. */
export function rpcAnswer(member: string, more: CallBehaviour = {}): CallBehaviour {
  const text = `{"jsonrpc":"2.0","id":${FIRST_ID},${member}}`;
  return { status: 200, headers: [["Content-Type", "application/json"]], pieces: [text], ...more };
}

/** The JSON-RPC message of an answer, as JSON or as the one event of a stream. */
export function messageIn(seen: CaseObservation, name: string): JsonMembers | null {
  const messages = messagesIn(seen, name);
  return messages.length === 1 ? (messages[0] ?? null) : null;
}

/** The response among the messages of an answer. */
function responseIn(seen: CaseObservation, name: string): JsonMembers | null {
  return messagesIn(seen, name).find((message) => message !== null && !("method" in message)) ?? null;
}

function messagesIn(seen: CaseObservation, name: string): readonly (JsonMembers | null)[] {
  const answer = wholeAnswerOf(seen, name);
  if (answer === null || !answer.complete) return [];
  if (!/^text\/event-stream\b/i.test(headerValue(answer, "content-type") ?? "")) {
    return [jsonOf(answer)].flat().map((message) => (isMembers(message) ? message : null));
  }
  const events = answer.body
    .toString()
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .replaceAll(/^(?!data:).*$/gm, "")
        .replaceAll(/^data: ?/gm, "")
        .trim(),
    )
    .filter((data) => data !== "");
  return events.map((data) => problemOf({ body: Buffer.from(data) }));
}

/** The result of a call; `null`: there is none, or the tool says that it failed. */
export function resultIn(seen: CaseObservation, name: string): unknown {
  const result = responseIn(seen, name)?.["result"] ?? null;
  return valueIn(result, "isError") === true ? null : result;
}

/** A second call got the first one's result. */
export const hasResultOf = (seen: CaseObservation, name: string, first: string) => (): CaseFinding => {
  const result = resultIn(seen, first);
  if (result === null) return `the first call got ${replySummary(seen, first)}, and no result`;
  return isDeepStrictEqual(resultIn(seen, name), result) ? null : "the response has not the first result";
};

/** All calls that have a result have one and the same. Without an origin nobody knows what became of one that has no answer. */
export const haveOneResult =
  (seen: CaseObservation, names: readonly string[], of = resultIn) =>
  (): CaseFinding => {
    const unanswered = names.find((name) => wholeAnswerOf(seen, name) === null);
    if (seen.calls === null && unanswered !== undefined) return `one of them got ${replySummary(seen, unanswered)}`;
    const results = names.map((name) => of(seen, name)).filter((result) => result !== null);
    if (results.length === 0) return "none succeeded";
    return results.every((result) => isDeepStrictEqual(result, results[0])) ? null : "they got different results";
  };

export const hasNoResult = (seen: CaseObservation, name: string) => (): CaseFinding =>
  resultIn(seen, name) === null ? null : "the call has a result, so it was processed";

/** The response to the call of that id, with that member. */
export const respondsWith =
  (seen: CaseObservation, name: string, id: unknown, member: "result" | "error") => (): CaseFinding => {
    const message = messageIn(seen, name);
    if (message === null) return `the call got ${replySummary(seen, name)}, which is no single JSON-RPC message`;
    if (message["id"] !== id)
      return `the response has the id ${JSON.stringify(message["id"])}, not ${JSON.stringify(id)}`;
    return member in message ? null : `the response has no ${member}`;
  };
