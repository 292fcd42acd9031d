// What the operations of the operator API share: reading the body of a change, which only administrators may send, and refusals.

import type { Context } from "hono";
import type { Problem } from "../kernel/record/problem.ts";
import { ByteReader } from "../kernel/request/body-reader.ts";
import { ByteBudget } from "../kernel/request/byte-budget.ts";
import { answerUnread, type OwnBodyRules, readOwnBody } from "../kernel/request/own-body.ts";
import { problemResponse } from "../kernel/request/problem-response.ts";
import type { Actor, OperatorAuth } from "./access/auth.ts";

export interface RequestVariables {
  readonly Variables: { actor: Actor };
}

/** The limit for a change request: a body of 1 MiB in base64, its headers, and room for escapes. */
const MAX_REQUEST_BYTES = 4 << 20;

const BODY_RULES: OwnBodyRules = {
  limitBytes: MAX_REQUEST_BYTES,
  budget: new ByteBudget(4 * MAX_REQUEST_BYTES, 60_000),
  tooLarge: { code: "body-too-large", limitBytes: MAX_REQUEST_BYTES },
};

/** Reads the body of an administrator's request; a refusal, if it is no administrator's or cannot be read. */
export async function readAdminRequest<T>(
  context: Context<RequestVariables>,
  auth: OperatorAuth,
  parse: (bytes: Uint8Array) => T,
): Promise<T | Response> {
  const stream = context.req.raw.body;
  const forbidden = auth.forbids(context.get("actor"), context.req.raw);
  if (forbidden !== null) {
    const refusal = refuseRequest(forbidden);
    return answerUnread(refusal, stream === null ? null : new ByteReader(stream));
  }
  const read = await readOwnBody(context.req.raw, BODY_RULES);
  if (read.kind === "refuse") return answerUnread(refuseRequest(read.problem), read.rest);
  const parsed = parse(read.body.bytes);
  read.body.free();
  return parsed;
}

export function invalidRequest(reason: string): Response {
  return refuseRequest({ code: "operator-request-invalid", reason });
}

export function refuseRequest(problem: Problem): Response {
  const response = problemResponse(problem, null);
  if (response.status === 401) response.headers.set("WWW-Authenticate", "Bearer");
  return response;
}
