// Recognises a gateway by its marks on an answer, by its problems (as opposed to the origin's), and by the policy that it
// publishes. Reading these changes nothing.

import * as v from "valibot";

import { isStatusRule } from "../kernel/config/setting-kinds.ts";
import type { StatusRule } from "../kernel/record/verdict.ts";
import { parseJsonText } from "./arguments.ts";
import { textOf } from "./read-answer.ts";
import { headerOf, type HttpAnswer } from "./send.ts";

/** A problem that the gateway itself made (docs/contract.md). */
export interface GatewayProblem {
  readonly code: string;
  readonly detail: string;
  readonly retryAfter: string | null;
}

export interface GatewayMarks {
  /** The answer repeats the key: a gateway on the way read it, or the origin did. */
  readonly echoed: boolean;
  readonly replayed: boolean;
  /** Forwarded although its record could not be reached. */
  readonly unprotected: boolean;
  /** Until when the answer is kept; null where it does not say. */
  readonly expires: string | null;
  readonly problem: GatewayProblem | null;
}

const problemSchema = v.object({ type: v.string(), code: v.string(), detail: v.string() });

export function readGatewayMarks(answer: HttpAnswer): GatewayMarks {
  return {
    echoed: headerOf(answer, "idempotency-key") !== null,
    replayed: headerOf(answer, "idempotent-replayed") === "true",
    unprotected: headerOf(answer, "idempotency-status") === "unprotected",
    expires: headerOf(answer, "idempotency-expires"),
    problem: problemOf(answer),
  };
}

/** An origin's problem has no link to the gateway's policy. */
function problemOf(answer: HttpAnswer): GatewayProblem | null {
  if (headerOf(answer, "content-type")?.startsWith("application/problem+json") !== true) return null;
  if (headerOf(answer, "link")?.includes("/.well-known/idempotency") !== true) return null;
  const parsed = v.safeParse(problemSchema, parseJsonText(answer.body.toString()));
  if (!parsed.success) return null;
  const { code, detail } = parsed.output;
  return { code, detail, retryAfter: headerOf(answer, "retry-after") };
}

const statusRules = v.array(v.custom<StatusRule>(isStatusRule));

const policySchema = v.object({
  routes: v.array(
    v.object({
      path: v.string(),
      methods: v.array(v.string()),
      notReplayed: v.object({ refused: statusRules, ambiguous: statusRules }),
    }),
  ),
});

export type PublishedPolicy = v.InferOutput<typeof policySchema>;

/** Null without a published policy, whatever the reason: a gateway may still be there. */
export async function fetchPolicy(target: URL, timeoutMs: number): Promise<PublishedPolicy | null> {
  try {
    const url = new URL("/.well-known/idempotency", target);
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(timeoutMs) });
    const parsed = v.safeParse(policySchema, parseJsonText(await textOf(response)));
    return response.ok && parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}
