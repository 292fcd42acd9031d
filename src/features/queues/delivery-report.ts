// What a shard says about one delivery of a queue's message, as plain data: read from the response that a client would have got, in
// the Worker or in the shard itself, and judged by the Worker alone.

import type { Route } from "../../kernel/config/resolved.ts";
import { isProblemCode, type DeliveryAnswer } from "../../kernel/record/delivery.ts";
import { judgeAttempt } from "../../kernel/record/verdict.ts";
import { PARKED, retryAfterIn, STATUS_HEADER } from "../../kernel/request/headers.ts";

export interface DeliveryReport {
  readonly status: number;
  /** What the response calls itself: `first`, `replayed`, `attached`, `parked` or a problem's code. */
  readonly word: string | null;
  readonly retryAfterMs: number | null;
  /** Whether the origin's answer came to its end, which the shard sends only when the result is durable. */
  readonly isWhole: boolean;
  /** In a problem, of a result that was not kept. */
  readonly originalStatus: number | null;
}

/** Reads the response to its end. */
export async function reportOf(response: Response): Promise<DeliveryReport> {
  const report = reportOfWhole(response.status, (name) => response.headers.get(name));
  if (isAnswer(report.word)) return { ...report, isWhole: await readToEnd(response) };
  return report.word === PARKED ? report : { ...report, originalStatus: originalStatusIn(await response.json()) };
}

/** For an answer of the origin that is there to its end. */
export function reportOfWhole(status: number, header: (name: string) => string | null): DeliveryReport {
  const retryAfterMs = retryAfterIn(header("retry-after"), Date.now());
  return { status, word: header(STATUS_HEADER), retryAfterMs, isWhole: true, originalStatus: null };
}

/** `null`: nobody could be asked. */
export function shardAnswerOf(report: DeliveryReport | null, lists: Route["rules"]["lists"]): DeliveryAnswer {
  if (report === null) return { kind: "nothing" };
  const { status, word, retryAfterMs, isWhole, originalStatus } = report;
  if (isAnswer(word)) {
    const verdict = judgeAttempt({ kind: "answered", status }, lists);
    // A body that comes with 205 is not passed on, so the end of this answer says nothing about the end of the origin's.
    const showsEnd = status !== 205 || word === "replayed";
    return { kind: "answer", status, verdict, isWhole: isWhole && showsEnd, retryAfterMs };
  }
  if (word === PARKED) return { kind: "parked" };
  // A newer shard may have problems that this code does not know.
  if (word === null || !isProblemCode(word)) return { kind: "nothing" };
  return { kind: "problem", code: word, retryAfterMs, originalStatus };
}

/** Of the origin, first or again. */
function isAnswer(word: string | null): boolean {
  return word === "first" || word === "replayed" || word === "attached";
}

/** A body that declares no more than this is read at once, which takes a fraction of the time of a stream's end (measured). */
const AT_ONCE_BYTES = 64 * 1024;

async function readToEnd(response: Response): Promise<boolean> {
  const { body, headers } = response;
  if (body === null) return true;
  try {
    const length = headers.get("content-length");
    // Nothing reads the bytes.
    if (length !== null && Number(length) <= AT_ONCE_BYTES) await response.arrayBuffer();
    else await body.pipeTo(new WritableStream());
    return true;
  } catch {
    return false;
  }
}

function originalStatusIn(problem: unknown): number | null {
  if (typeof problem !== "object" || problem === null || !("originalStatus" in problem)) return null;
  return typeof problem.originalStatus === "number" ? problem.originalStatus : null;
}
