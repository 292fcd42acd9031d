// The verification of a request that is described and not sent, and what an answer to it means, for the command line: the same rules as in the Worker and
// in the object.

import type { Config, Route } from "../config/resolved.ts";
import { isSuccessStatus } from "../record/verdict.ts";
import { findingOfStatus, type FindingEvidence, type VerificationFinding } from "../record/verification-answer.ts";
import { HeaderSnapshot, headersOf, type HeaderPairs } from "../request/headers.ts";
import { routeFinder } from "../request/intent.ts";
import type { Verification } from "../request/message.ts";
import { verificationOf } from "../request/origin-parts.ts";
import { judgeState } from "./judge-state.ts";

export interface DescribedRequest {
  readonly method: string;
  /** Its host says nothing. */
  readonly url: URL;
  readonly key: string;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

/** The route that protects it; `null`: none. */
export function routeOfRequest({ routes }: Config, { method, url }: DescribedRequest): Route | null {
  const found = routeFinder(routes)(method, url.pathname);
  return found === "too-long" ? null : found;
}

/** What the gateway would send; `null`: it would not ask about this request. */
export async function triedVerification(route: Route, described: DescribedRequest): Promise<Verification | null> {
  const { method, url, key, body } = described;
  const headers = new HeaderSnapshot(headersOf([...described.headers, ["Idempotency-Key", key]]));
  const request = new Request(url, { method, headers: headersOf([...headers]) });
  const own = { kind: "key", key, raw: key, header: "Idempotency-Key" } as const;
  return verificationOf({ kind: "exchange", request, headers, url, route, key: own }, body);
}

export interface TriedAnswer {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly body: Uint8Array;
}

export interface TriedFinding {
  readonly finding: VerificationFinding;
  readonly saw: FindingEvidence | null;
  /** What retries would get; `bytes`: how many, or `null` for none. */
  readonly response: {
    readonly status: number;
    readonly bytes: number | null;
    readonly location: string | null;
  } | null;
}

/** What an answer means to the request's own caller. */
export function judgeTried({ state }: Verification, { status, header, body }: TriedAnswer): TriedFinding {
  if (state === undefined) {
    const saw = { at: "status", value: String(status) };
    return isSuccessStatus(status)
      ? { finding: "happened", saw, response: { status, bytes: body.byteLength, location: header("location") } }
      : { finding: findingOfStatus(status, "claim", header("age"), "not_happened"), saw, response: null };
  }
  const judging = judgeState(state, "claim", { status, header, body });
  let step = judging.next();
  while (step.done !== true) step = judging.next();
  const { response, ...found } = step.value;
  return { ...found, response: response === null ? null : { ...response, bytes: response.bytes?.byteLength ?? null } };
}
