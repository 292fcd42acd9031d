// Observations made by hand, for judges: what a server answered, and how often the application was called.

import type { CaseObservation, ObservedCall, RequestReply } from "../../../src/conformance/case.ts";
import type { HeaderPair } from "../../../src/conformance/http-response.ts";

export const SENT = '{"amount":100}';

export function reply(status: number, body = "", headers: readonly HeaderPair[] = [], complete = true): RequestReply {
  return { status, statusText: "", headers, body: Buffer.from(body, "latin1"), complete, interim: [] };
}

export function call(body = SENT, target = "/pay?currency=EUR&to=a%20b"): ObservedCall {
  return { method: "POST", target, headers: [], body: Buffer.from(body, "latin1") };
}

export type Replies = CaseObservation["replies"];

/** `calls`: how many, or which; `null` without an origin. */
export function seen(
  replies: Replies,
  calls: number | readonly ObservedCall[] | null = 1,
  more: Partial<CaseObservation> = {},
): CaseObservation {
  const made = typeof calls === "number" ? Array.from({ length: calls }, () => call()) : calls;
  return { replies, calls: made, early: [], policy: null, sent: Buffer.from(SENT), ...more };
}
