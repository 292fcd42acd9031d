// The gateway's own problems in the form that a route's clients expect: another status, media type and body, and the same headers otherwise.

import * as v from "valibot";

import { isShapedCode, type ShapedCode } from "../../kernel/config/problem-shape.ts";
import type { ShapeProblem } from "../../kernel/request-feature.ts";
import { applyShape } from "./apply-shape.ts";

const problemSchema = v.looseObject({
  code: v.custom<ShapedCode>((code) => typeof code === "string" && isShapedCode(code)),
  status: v.number(),
  title: v.string(),
  detail: v.string(),
  retryable: v.boolean(),
  instance: v.optional(v.string()),
  fault: v.optional(v.string()),
});

/** Whether a challenge is for a request without a token: it names no error (RFC 6750, section 3.1). */
function isMissing(challenge: string | null): boolean {
  return challenge?.startsWith("Bearer") === true && !/(?:^Bearer|,) error="/.test(challenge);
}

/** Leaves the headers as they are, `Retry-After` and `WWW-Authenticate` among them, but what describes the body. */
export const shapeProblem: ShapeProblem = async (answer, shape, repeated) => {
  const { error: _, ...problem } = v.parse(problemSchema, await answer.json());
  const retryAfter = answer.headers.get("Retry-After");
  const seconds = retryAfter === null ? null : Number(retryAfter);
  const { status, body } = applyShape(
    {
      ...problem,
      instance: problem.instance ?? null,
      retryAfter: seconds,
      fault: problem.fault ?? (isMissing(answer.headers.get("WWW-Authenticate")) ? "missing" : null),
      text: JSON.stringify({ ...problem, ...(seconds === null ? null : { retryAfter: seconds }) }),
    },
    shape,
    repeated,
  );
  const headers = new Headers(answer.headers);
  headers.delete("Content-Length");
  headers.set("Content-Type", shape.contentType);
  return new Response(body, { status, headers });
};
