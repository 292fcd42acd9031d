// What a client makes of the answer to its request: everything that the checker compares.

import * as v from "valibot";
import { headerValue, NoAnswerError, type RawResponse } from "../../support/http.ts";
import { withoutInstance } from "../../support/instance.ts";
import type { Answer, Ending, OriginMarks } from "../history.ts";
import { bodyOf, callStart, digestHead, MARKS_HEADER, marksIn, SECRET, sha256 } from "./marks.ts";

const progress = v.object({ status: v.string(), attempt: v.number() });

/** `hasLeft`: whether the client itself has cut it short. `callId`: of the JSON-RPC call that was made; `null`: it was none. */
export function readEnding(
  response: Promise<RawResponse>,
  hasLeft = (): boolean => false,
  callId: string | null = null,
): Promise<Ending> {
  return response.then(
    (whole): Ending => readAnswer(callId === null ? whole : responseTo(callId, whole), hasLeft()),
    (error: unknown): Ending => ({ kind: "none", why: hasLeft() ? "left" : whyNone(error), error: String(error) }),
  );
}

function whyNone(error: unknown): "broken" | "patience" {
  return error instanceof NoAnswerError ? "patience" : "broken";
}

/** How the names of the gateway's headers begin, also of those that it says to itself. */
const OF_GATEWAY = /^(?:onceway|idempot)/;

function readAnswer(response: RawResponse, hasLeft: boolean): Answer {
  const { status, statusText, headers, body, complete } = response;
  const marks = headerValue(response, MARKS_HEADER);
  // What the origin said about a state has them in its body.
  const isJson = headerValue(response, "content-type") === "application/json";
  const inBody = isJson && complete ? marksIn(body) : null;
  const origin: OriginMarks | null = marks === null ? inBody : JSON.parse(marks);
  const isAccepted = headerValue(response, "idempotency-status") === "accepted";
  const isProblem = headerValue(response, "content-type") === "application/problem+json";
  // The answer to HEAD has none.
  const hasBody = complete && body.length > 0;
  return {
    kind: "answer",
    status,
    complete,
    left: hasLeft && !complete,
    echo: headerValue(response, "idempotency-key"),
    monitor: isAccepted ? headerValue(response, "location") : null,
    ...(isAccepted && hasBody && isUnbegun(body) ? { isUnbegun: true } : {}),
    code: null,
    ...(isProblem && hasBody ? wordsOf(body) : null),
    replayed: headerValue(response, "idempotent-replayed") === "true",
    expiresAt: dateOf(headerValue(response, "idempotency-expires")),
    retryAfterMs: secondsOf(headerValue(response, "retry-after")),
    leaks:
      origin === null &&
      !(isJson && !complete) &&
      (body.includes(SECRET) || headers.some(([, value]) => value.includes(SECRET))),
    origin,
    headers: digestHead(status, statusText, headers),
    hasCookie: headerValue(response, "set-cookie") !== null,
    gatewayHeaders: headers.map(([name]) => name.toLowerCase()).filter((name) => OF_GATEWAY.test(name)),
    contentPolicy: headerValue(response, "content-security-policy"),
    typeOptions: headerValue(response, "x-content-type-options"),
    sha256: sha256(isProblem ? withoutInstance(body.toString()) : body),
    bytes: body.length,
    body: origin === null ? "none" : inBody === null ? compare(body, bodyOf(origin)) : "whole",
  };
}

const rpcError = v.object({
  id: v.string(),
  error: v.object({ data: v.looseObject({ code: v.string(), status: v.number() }) }),
});

/**
 * The answer to a call, as its client takes it: a response under another id is none of its own, and differs from what the origin sent. One of the origin's has the id that the origin gave it, and a problem of the gateway is as RFC 9457 has it.
 */
function responseTo(callId: string, answer: RawResponse): RawResponse {
  const { body, headers, complete } = answer;
  const marks = headerValue(answer, MARKS_HEADER);
  if (marks !== null) {
    const { callId: first }: OriginMarks = JSON.parse(marks);
    // What an operator has decided is no response to a call.
    if (first === undefined) return answer;
    const [own, start] = [Buffer.from(callStart(callId)), Buffer.from(callStart(first))];
    const isOwn = body.subarray(0, own.length).equals(own.subarray(0, body.length));
    const read = isOwn
      ? Buffer.concat([start, body.subarray(own.length)])
      : JSON.stringify({ ofAnother: body.toString() });
    return { ...answer, body: Buffer.from(read) };
  }
  if (!complete || headerValue(answer, "content-type") !== "application/json") return answer;
  const { output, success } = v.safeParse(rpcError, JSON.parse(body.toString()));
  if (!success || output.id !== callId) return answer;
  const { data } = output.error;
  const others = headers.filter(([name]) => name.toLowerCase() !== "content-type");
  return {
    ...answer,
    status: data.status,
    headers: [...others, ["Content-Type", "application/problem+json"]],
    body: Buffer.from(JSON.stringify(data)),
  };
}

function compare(got: Buffer, whole: Buffer): "whole" | "prefix" | "other" {
  if (got.equals(whole)) return "whole";
  return got.length < whole.length && got.equals(whole.subarray(0, got.length)) ? "prefix" : "other";
}

function isUnbegun(body: Buffer): boolean {
  const { status, attempt } = v.parse(progress, JSON.parse(body.toString()));
  return status === "waiting" && attempt === 0;
}

const problem = v.object({ code: v.string(), safeNewKey: v.optional(v.boolean()) });

function wordsOf(body: Buffer): Pick<Answer, "code" | "safeNewKey"> {
  const { output, success } = v.safeParse(problem, JSON.parse(body.toString()));
  if (!success) return { code: null };
  const { code, safeNewKey } = output;
  return { code, ...(safeNewKey === undefined ? {} : { safeNewKey }) };
}

function dateOf(value: string | null): number | null {
  return value === null ? null : Date.parse(value);
}

function secondsOf(value: string | null): number | null {
  return value === null ? null : Number(value) * 1_000;
}
