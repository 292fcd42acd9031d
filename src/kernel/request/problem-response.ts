// Turns a problem into a response (RFC 9457), with members by which a client can distinguish it from the origin's own 409 or 422.

import type { ContentKey } from "../config/key-source.ts";
import { type ClientProblem, describeProblem, KEY_FROM_CONTENT, type Problem } from "../record/problem.ts";
import { instanceOf } from "../record/units.ts";
import { ECHO_HEADER, KEY_SOURCE_HEADER, STATUS_HEADER } from "./headers.ts";

/** The path of the published policy. Every problem links to it (draft, section 2.7). */
export const WELL_KNOWN_PATH = "/.well-known/idempotency";

/** For a request that has none of its own. */
export function newInstance(): string {
  return instanceOf(crypto.randomUUID());
}

/** Of a key that is made from content: for how long equal requests are one operation. */
export type MadeKey = Pick<ContentKey, "windowMs">;

/** `echo` is the key as the client sent it, or as it was made (`source`); `null` if the request has no valid key. */
export function problemResponse(
  problem: Problem,
  echo: string | null,
  instance = newInstance(),
  source: MadeKey | null = null,
): Response {
  const { status, title, detail: what, retryable, safeNewKey, retryAfterSeconds, members } = describeProblem(problem);
  const detail = source === null || problem.code === "repeated-content" ? what : `${what} ${KEY_FROM_CONTENT}`;
  const headers = new Headers({
    "Content-Type": "application/problem+json",
    "Cache-Control": "no-store",
    Link: `<${WELL_KNOWN_PATH}>; rel="describedby"`,
    "X-Should-Retry": String(retryable),
  });
  if (retryAfterSeconds !== null) headers.set("Retry-After", String(retryAfterSeconds));
  if (echo !== null) headers.set(ECHO_HEADER, echo);
  if (echo !== null || problem.code === "key-invalid") headers.set(STATUS_HEADER, problem.code);
  if (problem.code === "credential-invalid") headers.set("WWW-Authenticate", challenge(problem));
  if (problem.code === "consumer-unauthorized") headers.set("WWW-Authenticate", "Bearer");
  if (problem.code === "request-invalid" && problem.allow !== undefined) headers.set("Allow", problem.allow.join(", "));
  if (source !== null) headers.set(KEY_SOURCE_HEADER, keySourceText(source));
  const body = {
    type: problemType(problem.code),
    title,
    status,
    detail,
    instance,
    code: problem.code,
    retryable,
    ...(safeNewKey === null ? null : { safeNewKey }),
    ...members,
    ...(source === null ? null : { keySource: "content", windowSeconds: source.windowMs / 1000 }),
    // A widely used SDK treats every JSON body without an `error` member as a success, whatever the status.
    error: { type: "idempotency_error", code: problem.code, message: detail },
  };
  return new Response(JSON.stringify(body), { status, headers });
}

/** What answers say of a key that is made from content. */
export function keySourceText({ windowMs }: MadeKey): string {
  return `content;window=${windowMs / 1000}`;
}

type RefusedCredential = Extract<ClientProblem, { code: "credential-invalid" }>;

/**
 * A 401 needs a challenge (RFC 9110, section 15.5.2); one without a credential names no error (RFC 6750, section 3.1). Message signatures
 * (RFC 9421) have no registered scheme.
 */
function challenge({ why, signature, realm }: RefusedCredential): string {
  if (signature !== undefined) return "Signature";
  const params = [
    ...(realm === undefined ? [] : [`realm="${realm}"`]),
    ...(why === "missing" ? [] : ['error="invalid_token"']),
  ];
  return ["Bearer", params.join(", ")].join(" ").trim();
}

/** The `type` of a problem: a relative URL into the published policy. */
export function problemType(code: string): string {
  return `${WELL_KNOWN_PATH}#${code}`;
}
