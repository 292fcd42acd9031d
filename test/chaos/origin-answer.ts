// Writes one answer of the origin in its pieces, whole or only the first half of it, and notes when each piece went.

import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { bodyOf, digestHead, sha256 } from "./body.ts";
import type { OpenAnswer } from "./origin-arrivals.ts";
import { MARKS_HEADER } from "./steps.ts";
import type { Step } from "./steps.ts";

export async function answer(
  arrival: OpenAnswer,
  step: Step,
  response: ServerResponse,
  extent: "whole" | "half",
): Promise<void> {
  const marks = arrival.marks(step.bytes);
  const body = bodyOf(marks);
  const headers: [string, string][] = [
    ["Content-Type", "application/octet-stream"],
    [MARKS_HEADER, JSON.stringify(marks)],
    ["X-Repeated", "one"],
    ["X-Repeated", "two"],
    ["Set-Cookie", `session=${marks.arrival}`],
    // What only the gateway may say: it has to drop both.
    ["Idempotent-Replayed", "true"],
    ["Idempotency-Expires", "Thu, 01 Jan 1970 00:00:00 GMT"],
  ];
  if (step.status === 503 || step.status === 429) headers.push(["Retry-After", "1"]);
  if (!step.chunked) headers.push(["Content-Length", String(body.length)]);
  const own = headers.filter(([name]) => !name.startsWith("Idempot"));
  response.sendDate = false;
  response.writeHead(step.status, "Chaos", headers.flat());
  arrival.headWritten(step.status, digestHead(step.status, "Chaos", own), body.length);
  response.flushHeaders();

  const size = Math.ceil(body.length / Math.max(step.pieces, extent === "half" ? 2 : 1));
  const end = extent === "half" ? Math.floor(body.length / 2) : body.length;
  for (let at = 0; at < end && !response.destroyed; at += size) {
    if (at > 0) await pause(step.pauseMs);
    const piece = body.subarray(at, Math.min(at + size, end));
    if (at + size >= body.length) arrival.lastPiece(sha256(body));
    else arrival.pieceWritten();
    await write(response, piece);
  }
  if (extent === "whole") response.end();
}

/** Resolves when the bytes are handed to the system, or when the connection is gone. */
function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    response.write(bytes, () => resolve());
  });
}
