// What one answer shows of a gateway: its marks, and its own problems, told from the origin's. Pure.

import * as v from "valibot";

import { parseJson } from "./json.ts";
import { headerOf, type Answer } from "./send.ts";

/** A problem that the gateway itself made (README.md, "The contract"). */
export interface GatewayProblem {
  readonly code: string;
  readonly detail: string;
  readonly retryAfter: string | null;
}

export interface Sighting {
  /** The key was repeated: somebody between here and the origin read it, or the origin itself did. */
  readonly echoed: boolean;
  readonly replayed: boolean;
  /** Forwarded although its record could not be reached. */
  readonly unprotected: boolean;
  /** Until when the answer is kept; null where it does not say. */
  readonly expires: string | null;
  readonly problem: GatewayProblem | null;
}

const problemSchema = v.object({ type: v.string(), code: v.string(), detail: v.string() });

export function sight(answer: Answer): Sighting {
  return {
    echoed: headerOf(answer, "idempotency-key") !== null,
    replayed: headerOf(answer, "idempotent-replayed") === "true",
    unprotected: headerOf(answer, "idempotency-unprotected") === "true",
    expires: headerOf(answer, "idempotency-expires"),
    problem: problemOf(answer),
  };
}

/** An origin's problem has no link to the gateway's policy. */
function problemOf(answer: Answer): GatewayProblem | null {
  if (headerOf(answer, "content-type")?.startsWith("application/problem+json") !== true) return null;
  if (headerOf(answer, "link")?.includes("/.well-known/idempotency") !== true) return null;
  const parsed = v.safeParse(problemSchema, parseJson(answer.body.toString()));
  if (!parsed.success) return null;
  const { code, detail } = parsed.output;
  return { code, detail, retryAfter: headerOf(answer, "retry-after") };
}
