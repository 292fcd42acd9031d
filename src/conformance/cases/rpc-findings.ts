// What judges of protocols over JSON-RPC look for, and the tool calls that they send.

import type { CallBehaviour, CaseObservation, OriginBehaviour } from "../case.ts";
import { type CaseFinding, problemOf, replySummary, wholeAnswerOf } from "../findings.ts";
import { headerValue } from "../http-response.ts";

/** The id of the first call, as the suite's origin repeats it. */
export const FIRST_ID = 7;

export type JsonMembers = Readonly<Record<string, unknown>>;

/** A call of a tool, as JSON. `id`: of the call; `more`: members of `params` beside name and arguments, as text. */
export function callText(id: number | string, tool: string, input: JsonMembers, more = ""): string {
  const params = `{"name":${JSON.stringify(tool)},"arguments":${JSON.stringify(input)}${more}}`;
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":${params}}`;
}

const ACCEPT = [["Accept", "application/json, text/event-stream"]] as const;

/** What a client of MCP sends: a text, under its own session if it has one. */
export function rpcSending(text: string, session: string | null = null): OriginBehaviour {
  const own = session === null ? [] : [["Mcp-Session-Id", session] as const];
  return { body: { text }, headers: [...ACCEPT, ...own] };
}

/** How the origin answers the first call: with this member of a response. */
export function rpcAnswer(member: string, more: CallBehaviour = {}): CallBehaviour {
  const text = `{"jsonrpc":"2.0","id":${FIRST_ID},${member}}`;
  return { status: 200, headers: [["Content-Type", "application/json"]], pieces: [text], ...more };
}

/** The JSON-RPC message of an answer, as JSON or as the one event of a stream. */
export function messageIn(seen: CaseObservation, name: string): JsonMembers | null {
  const answer = wholeAnswerOf(seen, name);
  if (answer === null || !answer.complete) return null;
  if (!/^text\/event-stream\b/i.test(headerValue(answer, "content-type") ?? "")) return problemOf(answer);
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
  const messages = events.map((data) => problemOf({ body: Buffer.from(data) }));
  return messages.length === 1 ? (messages[0] ?? null) : null;
}

/** The response to the call of that id, with that member. */
export const respondsWith =
  (seen: CaseObservation, name: string, id: unknown, member: "result" | "error") => (): CaseFinding => {
    const message = messageIn(seen, name);
    if (message === null) return `the call got ${replySummary(seen, name)}, which is no single JSON-RPC message`;
    if (message["id"] !== id)
      return `the response has the id ${JSON.stringify(message["id"])}, not ${JSON.stringify(id)}`;
    return member in message ? null : `the response has no ${member}`;
  };

/** What is at these names; `undefined`: nothing. */
export function valueIn(message: unknown, ...names: readonly string[]): unknown {
  let value: unknown = message;
  for (const name of names) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    value = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
  }
  return value;
}
