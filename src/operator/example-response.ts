// What of a response may fill in a form for another request: status and media type are the route's, and say nothing of a caller. No other
// header is taken: a Location, a cookie or a parameter of the type may be the other request's own.

import type { TimelineEvent } from "../kernel/record/timeline.ts";
import type { RecordId } from "../kernel/record/units.ts";
import type { ResponseView } from "./record-schema.ts";

export interface ExampleResponse {
  /** The record whose response it is. */
  readonly id: RecordId;
  readonly status: number;
  /** Without parameters other than `charset`; `null`: none. */
  readonly mediaType: string | null;
  /** Whether its body is text, and short enough for a form. */
  readonly hasText: boolean;
}

interface ExampleRecord {
  readonly id: RecordId;
  readonly encrypted: boolean;
  readonly response: ResponseView | null;
  readonly timeline: readonly TimelineEvent[];
}

const MAX_TEXT_BYTES = 16_384;

/** RFC 9110, section 8.3.1, as far as it is kept. */
const MEDIA_TYPE = /^\s*([\w!#$&^.+-]+\/[\w!#$&^.+-]+)/;
const CHARSET = /;\s*charset="?([\w-]+)"?/i;
const TEXT = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)$)/i;

/** `null`: the record has no response of the origin's. */
export function exampleIn({ id, encrypted, response, timeline }: ExampleRecord): ExampleResponse | null {
  // What an operator once typed must not spread.
  const isGiven = timeline.some((event) => event.type === "change" && event.action === "resolve");
  if (response === null || encrypted || isGiven) return null;
  const { status, headers, sizeBytes } = response;
  const valueOf = (wanted: string): string | null =>
    headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? null;
  const type = valueOf("content-type") ?? "";
  const [, essence = null] = MEDIA_TYPE.exec(type) ?? [];
  const [, charset] = CHARSET.exec(type) ?? [];
  const isPlain = valueOf("content-encoding") === null;
  const isUtf8 = charset === undefined || /^utf-?8$/i.test(charset);
  return {
    id,
    status,
    mediaType: essence === null || charset === undefined ? essence : `${essence}; charset=${charset}`,
    hasText:
      essence !== null && TEXT.test(essence) && isPlain && isUtf8 && sizeBytes > 0 && sizeBytes <= MAX_TEXT_BYTES,
  };
}
