// One request of one client: sends it, perhaps disconnects in the middle of it, and records what came back.

import * as v from "valibot";
import { headerValue, openRequest } from "../support/http.ts";
import type { HeaderPair, OpenRequest, RawResponse } from "../support/http.ts";
import { bodyOf, digestHead, sha256 } from "./body.ts";
import { addressHeaders } from "./callers.ts";
import type { Answer, Ending, Exchange, OriginMarks } from "../guarantees/history.ts";
import { isKeyInBody } from "./routes.ts";
import { MARKS_HEADER, PLAN_HEADER, QUESTIONS_HEADER, REQUEST_HEADER, SECRET, TENANT_HEADER } from "./steps.ts";

const progress = v.object({ status: v.string(), attempt: v.number() });

/** Longer than any answer may take: waits, timeouts and the longest planned body together. */
export const PATIENCE_MS = 15_000;

export interface Call {
  readonly port: number;
  readonly id: string;
  readonly key: string;
  readonly scope: string;
  readonly credential: string;
  readonly path: string;
  readonly print: string;
  readonly plan: string;
  readonly questions: string;
  readonly body: Buffer;
  readonly calm: boolean;
  readonly prefer: string | null;
}

/** When the client resets its connection. */
export type Leaving =
  | { readonly when: "never" }
  /** In the middle of its own request. */
  | { readonly when: "sending" }
  | { readonly when: "after"; readonly ms: number }
  /** In the middle of the answer. */
  | { readonly when: "head" }
  /** Stops reading for `ms` within the answer, then disconnects or reads on. */
  | { readonly when: "stalled"; readonly ms: number; readonly leaves: boolean };

export async function exchange(call: Call, leaving: Leaving): Promise<Exchange> {
  const partial = leaving.when === "sending";
  const sentAt = Date.now();
  const request = openRequest({
    host: "127.0.0.1",
    port: call.port,
    method: "POST",
    target: call.path,
    headers: headersOf(call),
    body: partial ? call.body.subarray(0, Math.floor(call.body.length / 2)) : call.body,
    timeoutMs: PATIENCE_MS,
  });
  let hasLeft = false;
  let stalledMs = 0;
  const leave = (): void => {
    hasLeft = true;
    request.reset();
  };
  const stalls = (ms: number): void => void (stalledMs = ms);
  const stop = arrange(request, leaving, leave, stalls);
  const ending = await request.response.then(
    (response) => readAnswer(response, hasLeft),
    (error: unknown): Ending => ({ kind: "none", why: hasLeft ? "left" : whyNone(error), error: String(error) }),
  );
  stop();
  const { id, key, scope, credential, path, print, prefer, calm, body } = call;
  const bytes = body.length;
  const sent = { key, scope, credential, path, print, prefer, partial, bytes, bodySha256: sha256(body) };
  return { type: "exchange", id, ...sent, calm, sentAt, stalledMs, endAt: Date.now(), ending };
}

function headersOf({ key, scope, credential, path, plan, questions, id, body, prefer }: Call): HeaderPair[] {
  return [
    ...(isKeyInBody(path) ? [] : [["Idempotency-Key", key] as const]),
    ["X-Key", key],
    ["Authorization", credential],
    [TENANT_HEADER, scope],
    ...addressHeaders(path, scope),
    [REQUEST_HEADER, id],
    [PLAN_HEADER, plan],
    [QUESTIONS_HEADER, questions],
    ...(prefer === null ? [] : [["Prefer", prefer] as const]),
    ["Content-Type", "application/json"],
    ["Content-Length", String(body.length)],
  ];
}

/** Returns a function that cancels what was arranged. */
function arrange(request: OpenRequest, leaving: Leaving, leave: () => void, stalls: (ms: number) => void): () => void {
  switch (leaving.when) {
    case "never":
      return () => undefined;
    case "sending":
      void request.sent.then(leave, () => undefined);
      return () => undefined;
    case "after": {
      const timer = setTimeout(leave, leaving.ms);
      return () => clearTimeout(timer);
    }
    case "head":
      void request.head.then(leave, () => undefined);
      return () => undefined;
    case "stalled": {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const stall = (): void => {
        stalls(leaving.ms);
        request.pause();
        timer = setTimeout(() => (leaving.leaves ? leave() : request.resume()), leaving.ms);
      };
      void request.head.then(stall, () => undefined);
      return () => clearTimeout(timer);
    }
  }
}

export function whyNone(error: unknown): "broken" | "patience" {
  return error instanceof Error && error.message === "the request took too long" ? "patience" : "broken";
}

/** How the names of the gateway's headers begin, also of those that it says to itself. */
const OF_GATEWAY = /^(?:onceway|idempot)/;

export function readAnswer(response: RawResponse, hasLeft: boolean): Answer {
  const { status, statusText, headers, body, complete } = response;
  const marks = headerValue(response, MARKS_HEADER);
  const origin: OriginMarks | null = marks === null ? null : JSON.parse(marks);
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
    code: isProblem && hasBody ? codeOf(body) : null,
    replayed: headerValue(response, "idempotent-replayed") === "true",
    expiresAt: dateOf(headerValue(response, "idempotency-expires")),
    retryAfterMs: secondsOf(headerValue(response, "retry-after")),
    leaks: origin === null && (body.includes(SECRET) || headers.some(([, value]) => value.includes(SECRET))),
    origin,
    headers: digestHead(status, statusText, headers),
    hasCookie: headerValue(response, "set-cookie") !== null,
    gatewayHeaders: headers.map(([name]) => name.toLowerCase()).filter((name) => OF_GATEWAY.test(name)),
    contentPolicy: headerValue(response, "content-security-policy"),
    typeOptions: headerValue(response, "x-content-type-options"),
    sha256: sha256(body),
    bytes: body.length,
    body: origin === null ? "none" : compare(body, bodyOf(origin)),
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

function codeOf(body: Buffer): string | null {
  const problem: unknown = JSON.parse(body.toString());
  return typeof problem === "object" && problem !== null && "code" in problem && typeof problem.code === "string"
    ? problem.code
    : null;
}

function dateOf(value: string | null): number | null {
  return value === null ? null : Date.parse(value);
}

function secondsOf(value: string | null): number | null {
  return value === null ? null : Number(value) * 1_000;
}
