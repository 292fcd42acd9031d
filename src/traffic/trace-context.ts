// W3C Trace Context: a trace that a request is part of is passed on, with the attempt as the parent of what the origin does.
// The gateway begins none: its word on sampling would overrule the origin's own.

/** What an attempt needs of its client's `traceparent`. */
export interface Trace {
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

/** `null` where there is none, or none that can be read: it is not passed on then, nor is its `tracestate`. */
export function parseTraceparent(value: string | null): Trace | null {
  const [, version, traceId, flags, rest] = (value === null ? null : TRACEPARENT.exec(value)) ?? [];
  if (traceId === undefined || flags === undefined) return null;
  if (version === "00" && rest !== undefined) return null;
  const known = Number.parseInt(flags, 16) & KNOWN_FLAGS;
  return { traceId, flags: `0${known}` };
}

/** The attempt as a span: the last 64 bits of its random id, of which the first is always set. */
export function spanIdOf(attemptId: string): string {
  return attemptId.replaceAll("-", "").slice(-16);
}

export function traceparentOf({ traceId, flags }: Trace, attemptId: string): string {
  return `00-${traceId}-${spanIdOf(attemptId)}-${flags}`;
}
