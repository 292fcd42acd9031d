// The bytes of the origin's answers: they follow from the answer's own marks, so a client can tell at once whether what
// it got is the whole, a beginning, or something else.

import { createHash } from "node:crypto";
import type { HeaderPair } from "../support/http.ts";
import { generateBytes } from "../support/origin-bytes.ts";
import type { OriginMarks } from "./history.ts";
import { SECRET } from "./steps.ts";

/** At least the line that names the marks; `marks.bytes` counts what is generated after it. */
export function bodyOf(marks: OriginMarks): Buffer {
  const line = Buffer.from(`${SECRET} ${JSON.stringify(marks)}\n`);
  return Buffer.concat([line, ...generateBytes(`${marks.arrival}/${marks.scope}`, marks.bytes)]);
}

export function sha256(bytes: Buffer | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** What a replay may leave out or say otherwise: its framing, the gateway's own words, cookies. */
const NOT_REPEATED: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "idempotency-expires",
  "idempotency-key",
  "idempotent-replayed",
  "keep-alive",
  "set-cookie",
  "transfer-encoding",
]);

/** A digest over the line and the headers. Sorted and joined by name, since that is how the runtime shows them. */
export function digestHead(status: number, statusText: string, headers: readonly HeaderPair[]): string {
  const joined = new Map<string, string>();
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (NOT_REPEATED.has(lower)) continue;
    const before = joined.get(lower);
    joined.set(lower, before === undefined ? value : `${before}, ${value}`);
  }
  return sha256(JSON.stringify([status, statusText, [...joined].toSorted(([a], [b]) => (a < b ? -1 : 1))])).slice(
    0,
    16,
  );
}
