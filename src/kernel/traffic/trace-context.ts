// W3C Trace Context: the trace of a request is passed on, with the attempt as the parent of the origin's spans. The gateway never
// begins a trace, because its sampling decision would overrule the origin's own.

/** The parts of the client's `traceparent` that an attempt needs. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Two hexadecimal digits. */
  readonly flags: string;
}

export const TRACEPARENT_HEADER = "traceparent";
export const TRACESTATE_HEADER = "tracestate";

/** Section 3.2.2 of the recommendation. A version that is not known yet may have more fields; they are ignored. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;

/** The flags that version 00 defines: sampled, and random. All others are set to zero (section 3.2.2.5). */
const KNOWN_FLAGS = 0x03;

/** `null` when it is absent or malformed; then neither it nor its `tracestate` is passed on. */
export function parseTraceparent(value: string | null): TraceContext | null {
  const [, version, traceId, flags, rest] = (value === null ? null : TRACEPARENT.exec(value)) ?? [];
  if (traceId === undefined || flags === undefined) return null;
  if (version === "00" && rest !== undefined) return null;
  const known = Number.parseInt(flags, 16) & KNOWN_FLAGS;
  return { traceId, flags: `0${known}` };
}

/** The span id of an attempt: the last 64 bits of its random id. Their first bit is always set, so it is never zero. */
export function spanIdOf(attemptId: string): string {
  return attemptId.replaceAll("-", "").slice(-16);
}

export function traceparentOf({ traceId, flags }: TraceContext, attemptId: string): string {
  return `00-${traceId}-${spanIdOf(attemptId)}-${flags}`;
}
