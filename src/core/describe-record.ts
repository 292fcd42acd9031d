// What a record means to whoever has to decide about it: what is known, what a retry gets, what an operator may do. Said once,
// for console, command line and API. The state alone does not tell: a failed record may have been released, a completed one
// resolved, and an answer of 402 or 500 is a result that need not have had an effect.

import type { Policy, RecordState } from "./record.ts";
import type { Change, Happening } from "./timeline.ts";
import type { EpochMs } from "./units.ts";
import type { EndReason } from "./verdict.ts";

/** A record as operators see it: as time has left it. */
export interface DescribedRecord {
  readonly state: RecordState;
  /** The number of the last attempt. */
  readonly attempt: number;
  /** No other attempt starts before. */
  readonly lockedUntil: EpochMs;
  /** Of the result; `null` when there is none. */
  readonly status: number | null;
  /** Whether the response is replayed; `null` when there is none. */
  readonly responseKept: boolean | null;
  readonly policy: Pick<Policy, "unknown">;
}

export interface RecordDescription {
  /** `settled`: it took effect and is answered. `doubt`: it may have taken effect. `neutral`: anything else. */
  readonly tone: "settled" | "doubt" | "neutral";
  readonly headline: string;
  /** What the next request with the key gets. */
  readonly retry: string;
  /** What an operator has to do, or may. */
  readonly advice: string;
  /** The changes that the life cycle allows and that change something, the likeliest first. */
  readonly changes: readonly Change[];
}

/** `history` is the record's timeline, oldest first. */
export function describeRecord(
  record: DescribedRecord,
  history: readonly Happening[],
  now: EpochMs,
): RecordDescription {
  const isLocked = record.lockedUntil > now;
  // As `operate` in the life cycle decides.
  const forget: readonly Change[] = isLocked ? [] : ["forget"];
  switch (record.state) {
    case "started":
      return {
        tone: "neutral",
        headline: `Attempt ${record.attempt} is in flight.`,
        retry: "A retry waits for it or gets 409 in-flight, as the route says.",
        advice: "Nothing can be changed before it ends, or its lock does.",
        changes: [],
      };
    case "failed":
      // To release it would change nothing: the next request starts an attempt as it is.
      return { ...failed(record, history.at(-1), isLocked), changes: ["resolve", ...forget] };
    case "unknown":
      return { ...unknown(record, history), changes: ["resolve", "release", ...forget] };
    case "completed":
      return {
        ...completed(record, history),
        advice: "It can only be forgotten, once no attempt can be at work.",
        changes: forget,
      };
  }
}

function failed(
  { attempt }: DescribedRecord,
  last: Happening | undefined,
  isLocked: boolean,
): Omit<RecordDescription, "changes"> {
  const next = `The next request with this key starts attempt ${attempt + 1}`;
  const retry = isLocked ? `${next} once the lock has ended; until then it gets 409 in-flight.` : `${next}.`;
  const none = { tone: "neutral", retry, advice: "Nothing has to be decided." } as const;
  if (last?.type === "change") return { ...none, headline: "Released." };
  if (last?.type === "verification") {
    return {
      ...none,
      headline: `Attempt ${attempt} did not take effect: the origin, asked about it, knew nothing of it.`,
    };
  }
  const why = last === undefined ? null : whyEnded(last);
  if (last?.verdict === "refused") {
    return { ...none, headline: `Attempt ${attempt} did not take effect${because(why)}.` };
  }
  return {
    tone: "doubt",
    headline: `Attempt ${attempt} may have taken effect${because(why)}. Its route repeats it (unknown = "retry").`,
    retry,
    advice: "If it did take effect, resolve it before the next request repeats it.",
  };
}

function unknown(
  { attempt, policy }: DescribedRecord,
  history: readonly Happening[],
): Omit<RecordDescription, "changes"> {
  const ended = history.findLast(({ type }) => type === "attempt");
  const headline = `Outcome unknown. Attempt ${attempt} may have taken effect${because(ended === undefined ? null : whyEnded(ended))}.`;
  const isAsked = policy.unknown === "verify";
  return {
    tone: "doubt",
    headline,
    retry: isAsked
      ? "A retry has the origin asked at once, and gets 409 outcome-unknown as long as it cannot say."
      : "A retry gets 409 outcome-unknown until somebody decides, or the origin answers after all.",
    advice: `${isAsked ? "The origin is being asked; you may decide before it answers." : "Look at the origin: resolve it if it took effect, release it if it did not."} After the record expires, a retry is a first request.`,
  };
}

function completed(
  { attempt, status, responseKept }: DescribedRecord,
  history: readonly Happening[],
): Pick<RecordDescription, "tone" | "headline" | "retry"> {
  const retry =
    responseKept === false
      ? "Its response was not kept, so every retry gets 409 response-not-kept."
      : "Every retry gets this response from now on.";
  if (history.at(-1)?.type === "change") return { tone: "settled", headline: "Resolved.", retry };
  const before = history.at(-2);
  if (before?.type === "verification" && before.answer === "done") {
    return {
      tone: "settled",
      headline: `The origin, asked about attempt ${attempt}, says that it took effect.`,
      retry,
    };
  }
  return { ...resultOf(status ?? 0), retry };
}

/** Every such status is a result, and replayed; what it says of the effect is the origin's own affair. */
function resultOf(status: number): Pick<RecordDescription, "tone" | "headline"> {
  const answered = `The origin answered ${status}`;
  if (status < 300) return { tone: "settled", headline: `${answered}: the operation took effect.` };
  const why =
    status < 400 ? "" : status < 500 ? ": it rejected the request" : ": it failed, and alone knows what took effect";
  return { tone: "neutral", headline: `${answered}${why}.` };
}

function because(why: string | null): string {
  return why === null ? "" : `: ${why}`;
}

/** Why an attempt ended without a result; `null` where there is nothing to say. */
function whyEnded(happening: Happening): string | null {
  if (happening.type !== "attempt") return null;
  if (happening.verdict === "lost") return "the gateway lost it, and its lock ended";
  return happening.reason === null ? null : reasonText(happening.reason);
}

export function reasonText(reason: EndReason): string {
  switch (reason.kind) {
    case "status":
      return `the origin answered ${reason.status}`;
    case "unreachable":
      return "no connection to the origin could be opened";
    case "dropped":
      return "the connection broke before the whole answer had come";
    case "timed-out":
      return "the origin did not answer in time";
  }
}
