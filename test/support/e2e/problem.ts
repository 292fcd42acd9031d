// What every error of the gateway's own looks like on the wire (docs/contract.md), and the two kinds of success.

import * as v from "valibot";
import { expect } from "vitest";
import { headerValue, type RawResponse } from "../http.ts";

const instance = v.pipe(v.string(), v.regex(/^urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/));

const problemBody = v.looseObject({
  type: v.string(),
  title: v.string(),
  status: v.number(),
  detail: v.string(),
  instance: v.optional(instance),
  code: v.string(),
  retryable: v.boolean(),
  error: v.strictObject({ type: v.literal("idempotency_error"), code: v.string(), message: v.string() }),
});

export type ProblemBody = v.InferOutput<typeof problemBody>;

export interface ExpectedProblem {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  /** The key as the client sent it; `null` where there is no valid one to repeat. */
  readonly echo: string | null;
  /** Whether the code is older than the name of the occurrence. */
  readonly isOld?: boolean;
}

/** Checks a response against everything that a problem promises. Returns its body for further checks. */
export function expectProblem(response: RawResponse, expected: ExpectedProblem): ProblemBody {
  const { code, status, retryable, echo, isOld = false } = expected;
  const text = response.body.toString();
  expect({ status: response.status, text }).toEqual({ status, text: expect.stringContaining(`"${code}"`) });
  expect(headerValue(response, "content-type")).toBe("application/problem+json");
  expect(headerValue(response, "link")).toBe('</.well-known/idempotency>; rel="describedby"');
  expect(headerValue(response, "x-should-retry")).toBe(String(retryable));
  expect(headerValue(response, "idempotency-key")).toBe(echo);
  const isAboutKey = echo !== null || code === "key-invalid";
  if (isAboutKey) expect(headerValue(response, "idempotency-status")).toBe(code);
  expect(headerValue(response, "idempotency-expires")).toBeNull();
  expect(headerValue(response, "idempotent-replayed")).toBeNull();
  if (!retryable) expect(headerValue(response, "retry-after")).toBeNull();
  const body = v.parse(problemBody, JSON.parse(text));
  expect(body).toMatchObject({ status, code, retryable, error: { code, message: body.detail } });
  expect(body.type).toBe(`/.well-known/idempotency#${code}`);
  expect(body.instance === undefined).toBe(isOld);
  expect(body.title).not.toBe("");
  expect(body.detail).not.toBe("");
  return body;
}

/** Whole seconds from now, within a bound. */
export function expectRetryAfter(response: RawResponse, mostSeconds: number): void {
  const text = headerValue(response, "retry-after") ?? "";
  expect(text).toMatch(/^[1-9][0-9]*$/);
  expect(Number(text)).toBeLessThanOrEqual(mostSeconds);
}

/** The origin's own answer, not one from the record. */
export function expectFirstAnswer(response: RawResponse, status: number, became: string | null = "first"): void {
  expect({ status: response.status, text: textOf(response) }).toEqual({ status, text: expect.any(String) });
  expect(headerValue(response, "idempotent-replayed")).toBeNull();
  expect(headerValue(response, "idempotency-status")).toBe(became);
  expect(headerValue(response, "content-type")).not.toBe("application/problem+json");
}

/** Exactly the same answer from the record: status and its text, headers and bytes, marked as a replay. */
export function expectReplay(response: RawResponse, first: RawResponse, omitted: readonly string[] = []): void {
  expect({ status: response.status, text: textOf(response) }).toEqual({ status: first.status, text: textOf(first) });
  expect(response.statusText).toBe(first.statusText);
  expect(response.body.equals(first.body)).toBe(true);
  expect(response.complete).toBe(true);
  expect(headerValue(response, "idempotent-replayed")).toBe("true");
  // A first answer that was told as it came could not say how long it would be, nor when it would expire.
  const streamed = headerValue(first, "idempotency-expires") === null;
  expect(["replayed", "attached"]).toContain(headerValue(response, "idempotency-status"));
  const apart = ["idempotent-replayed", "idempotency-status", ...omitted, ...(streamed ? STREAM_HEADERS : [])];
  expect(without(response, apart)).toEqual(without(first, apart));
}

const STREAM_HEADERS = ["idempotency-expires", "content-length", "transfer-encoding"];

function without({ headers }: RawResponse, names: readonly string[]): RawResponse["headers"] {
  return headers.filter(([name]) => !names.includes(name.toLowerCase()));
}

function textOf({ body }: RawResponse): string {
  return body.subarray(0, 300).toString("latin1");
}
