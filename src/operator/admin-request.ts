// What the operations of the operator API share: who may do what, the body of a change, and refusals.

import type { MiddlewareHandler } from "hono";
import type { Problem } from "../kernel/record/problem.ts";
import { ByteReader } from "../kernel/request/body-reader.ts";
import { ByteBudget } from "../kernel/request/byte-budget.ts";
import { answerUnread, type OwnBodyRules, readOwnBody } from "../kernel/request/own-body.ts";
import { problemResponse } from "../kernel/request/problem-response.ts";
import type { Actor, OperatorAuth } from "./access/auth.ts";
import type { ParsedRequest } from "./request-schema.ts";

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

/** Refuses whoever is no administrator, or does not mean the request. */
export function adminOnly(auth: OperatorAuth): MiddlewareHandler<RequestVariables> {
  return async (context, next) => {
    const request = context.req.raw;
    const forbidden = auth.forbids(context.get("actor"), request);
    if (forbidden === null) return next();
    return answerUnread(refuseRequest(forbidden), request.body === null ? null : new ByteReader(request.body));
  };
}

export interface ParsedVariables<T> {
  readonly Variables: { parsed: T };
}

/** Reads the request's JSON and hands on what `parse` makes of it; a refusal, if it cannot be read or is not valid. */
export function parseBody<T>(
  parse: (json: unknown) => ParsedRequest<T> | Promise<ParsedRequest<T>>,
): MiddlewareHandler<ParsedVariables<T>> {
  return async (context, next) => {
    const read = await readOwnBody(context.req.raw, BODY_RULES);
    if (read.kind === "refuse") return answerUnread(refuseRequest(read.problem), read.rest);
    const parsed = await parse(parseJsonBody(read.body.bytes));
    read.body.free();
    if (!parsed.ok) return invalidRequest(parsed.reason);
    context.set("parsed", parsed.value);
    return next();
  };
}

/** `null` if it is not JSON. */
export function parseJsonBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    return null;
  }
}

export function invalidRequest(reason: string): Response {
  return refuseRequest({ code: "operator-request-invalid", reason });
}

export function refuseRequest(problem: Problem): Response {
  const response = problemResponse(problem, null);
  if (response.status === 401) response.headers.set("WWW-Authenticate", "Bearer");
  return response;
}
