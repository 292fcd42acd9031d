// Explains a record to an operator: what is known, what a retry gets, what can be done. Console, command line and API share
// these texts. The state alone is not enough: a failed record may have been released, a completed one resolved, and a result
// of 402 or 500 may have had no effect.

import type { ClaimNote } from "./events.ts";
import type { Policy, RecordState } from "./record.ts";
import { type OperatorChange, isUnreadable, type TimelineEvent } from "./timeline.ts";
import type { EpochMs } from "./units.ts";
import type { EndReason } from "./verdict.ts";
import { evidenceText, findingText, timeOfDay } from "./describe-finding.ts";

/** A record in the state that it has now. */
export interface DescribedRecord {
  readonly state: RecordState;
  /** The number of the last attempt. */
  readonly attempt: number;
  /** No other attempt starts before. */
  readonly lockedUntil: EpochMs;
  /** Of the result; `null` when there is none, or when it is encrypted. */
  readonly status: number | null;
  /** Whether the record is of an `encrypt_responses` route, and tells no status. */
  readonly encrypted?: boolean;
  /** Whether the response is replayed; `null` when there is none. */
  readonly responseKept: boolean | null;
  /** Whether the gateway has accepted the request, and makes its attempts by itself. */
  readonly accepted: boolean;
  readonly policy: Pick<Policy, "unknown" | "unknownRetentionMs" | "rememberMs">;
}

export interface RecordDescription {
  /** `settled`: it took effect and has a response. `unknown`: it may have taken effect. `neutral`: anything else. */
  readonly tone: "settled" | "unknown" | "neutral";
  readonly headline: string;
  /** What the next request with the key gets. */
  readonly retry: string;
  /** What an operator must or may do. */
  readonly advice: string;
  /** The changes that the life cycle allows and that have an effect, the likeliest first. */
  readonly changes: readonly OperatorChange[];
}

/** `timeline` is the record's, oldest first. */
export function describeRecord(
  record: DescribedRecord,
  timeline: readonly TimelineEvent[],
  now: EpochMs,
): RecordDescription {
  // What was noted says nothing of what happened.
  const history = timeline.filter(({ type }) => type !== "note");
  const isLocked = record.lockedUntil > now;
  // The same rule as `operate` in the life cycle.
  const forget: readonly OperatorChange[] = isLocked ? [] : ["forget"];
  switch (record.state) {
    case "waiting":
      return { ...waiting(record, history.at(-1)), changes: ["release", "resolve", ...forget] };
    case "started":
      return {
        tone: "neutral",
        headline: `Attempt ${record.attempt} is in flight.`,
        retry: record.accepted
          ? RETRY_OF_ACCEPTED
          : "A retry waits for it or gets 409 in-flight, depending on the route.",
        advice: "No changes until the attempt or its lock ends.",
        changes: [],
      };
    case "failed":
      // No release: the next request starts an attempt anyway.
      return { ...failed(record, history, isLocked), changes: ["resolve", ...forget] };
    case "unknown":
      return { ...unknown(record, history), changes: ["resolve", "release", ...forget] };
    case "completed":
      return {
        ...completed(record, history),
        advice: isLocked
          ? `Nothing to do. It can be erased after ${timeOfDay(record.lockedUntil)}, when no attempt can be running.`
          : "Nothing to do. It can be erased.",
        changes: forget,
      };
    case "remembered":
      return { ...remembered(record), changes: forget };
  }
}

const RETRY_OF_ACCEPTED = "A retry gets 202 again, and the result once it is there.";

const UNREADABLE = "What is stored of the request cannot be read, so the gateway cannot try it.";

function waiting({ attempt }: DescribedRecord, last: TimelineEvent | undefined): Omit<RecordDescription, "changes"> {
  if (isUnreadable(last)) {
    return {
      tone: "neutral",
      headline: `${UNREADABLE} It looks again, and gives it up when give_up says.`,
      retry: RETRY_OF_ACCEPTED,
      advice: "Forget it, so that its client can send it again, or give it its response.",
    };
  }
  const why = last === undefined ? null : whyEnded(last);
  const mayHaveActed = last?.type === "attempt" && last.verdict !== "refused";
  const tried = mayHaveActed ? outcomeUnknown(attempt, why) : `Attempt ${attempt} did not take effect${because(why)}.`;
  return {
    tone: mayHaveActed ? "unknown" : "neutral",
    headline:
      attempt === 0
        ? "Accepted. Its first attempt waits for its turn."
        : `${tried} The gateway makes attempt ${attempt + 1} by itself.`,
    retry: RETRY_OF_ACCEPTED,
    advice: "Nothing to decide. Release it to have it tried as soon as possible, forget it to cancel it.",
  };
}

function failed(
  record: DescribedRecord,
  history: readonly TimelineEvent[],
  isLocked: boolean,
): Omit<RecordDescription, "changes"> {
  const { attempt } = record;
  const last = history.at(-1);
  if (isUnreadable(last) && attempt > 0) {
    const before = failed(record, history.slice(0, -1), isLocked);
    return { ...before, headline: `${before.headline} ${UNREADABLE}` };
  }
  const next = `The next request with this key starts attempt ${attempt + 1}`;
  const retry = isLocked ? `${next} when the lock ends; until then it gets 409 in-flight.` : `${next}.`;
  const none = { tone: "neutral", retry, advice: "Nothing to decide." } as const;
  if (isUnreadable(last)) return { ...none, headline: `Given up without an attempt. ${UNREADABLE}` };
  if (last?.type === "change") {
    return { ...none, headline: last.action === "cancel" ? "Cancelled by its client." : "Released." };
  }
  if (last?.type === "verification" && last.answer === "absent") {
    return {
      ...none,
      headline: `Attempt ${attempt} did not take effect, as the origin says${evidenceText(last.saw)}.`,
    };
  }
  const why = last === undefined ? null : whyEnded(last);
  if (last?.type === "attempt" && last.verdict === "refused") {
    return { ...none, headline: `Attempt ${attempt} did not take effect${because(why)}.` };
  }
  return {
    tone: "unknown",
    headline: `${outcomeUnknown(attempt, why)} The route retries it (unknown = "retry").`,
    retry,
    advice: "If it succeeded, resolve it before the next request repeats it.",
  };
}

function unknown(
  { attempt, accepted, policy }: DescribedRecord,
  history: readonly TimelineEvent[],
): Omit<RecordDescription, "changes"> {
  const ended = history.findLast(({ type }) => type === "attempt");
  const why = ended === undefined ? null : whyEnded(ended);
  const isRefused = ended?.type === "attempt" && ended.verdict === "refused";
  const headline = isRefused
    ? `Attempt ${attempt} did not take effect${because(why)}. No attempt is left, and its message is kept.`
    : outcomeUnknown(attempt, why);
  const last = history.at(-1);
  const unread = isUnreadable(last) ? ` ${UNREADABLE}` : "";
  const found = last?.type === "verification" ? ` Asked about it, ${findingText(last)}` : "";
  const isVerified = policy.unknown === "verify";
  const isRemembered = (policy.rememberMs ?? 0) > policy.unknownRetentionMs;
  const tried = accepted ? ": the request will be tried by the gateway" : "";
  const later = isRemembered ? "gets 409 key-expired" : "counts as a first request";
  return {
    tone: "unknown",
    headline: headline + unread + found,
    retry: isVerified
      ? "A retry makes the gateway ask the origin at once, and gets 409 outcome-unknown until the origin can tell."
      : "A retry gets 409 outcome-unknown until you decide, or the lost answer arrives after all.",
    advice: `${isVerified ? "The gateway is asking the origin. You can decide before it answers." : `Check the origin: resolve it if it succeeded, release it if it did not${tried}.`} After the record expires, a retry ${later}.`,
  };
}

function completed(
  { attempt, status, responseKept }: DescribedRecord,
  history: readonly TimelineEvent[],
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
      headline: `Asked about attempt ${attempt}, the origin confirmed that it took effect.`,
      retry,
    };
  }
  if (status === null)
    return { tone: "neutral", headline: responseKept === false ? STATUS_NOT_STORED : ENCRYPTED, retry };
  return { ...resultOf(status), retry };
}

const STATUS_NOT_STORED = "The origin answered. Its status is not stored, because the route is encrypted.";
const ENCRYPTED =
  "The origin answered. Status, headers and body are encrypted: only the caller's own retry opens them.";

const GIVEN_UP_BY_CLIENT: Omit<RecordDescription, "changes"> = {
  tone: "neutral",
  headline: "Its client has given the key up. No attempt has taken effect, and none begins any more.",
  retry: "Every request with the key gets 409 key-abandoned.",
  advice:
    "Its client may have done the operation with another key. Once this one is forgotten, a late request with it may do it again.",
};

function remembered({ attempt, status, encrypted = false }: DescribedRecord): Omit<RecordDescription, "changes"> {
  if (attempt === 0 && status === null) return GIVEN_UP_BY_CLIENT;
  const withoutStatus = encrypted
    ? `attempt ${attempt} succeeded or may have, which is encrypted`
    : `attempt ${attempt} may have succeeded, and nobody decided`;
  const what = status === null ? withoutStatus : `the origin answered ${status}`;
  return {
    tone: status === null ? "unknown" : "neutral",
    headline: `Expired: ${what}. Only the key is remembered; response and history are erased.`,
    retry: "Every retry gets 409 key-expired.",
    advice: "Once it is forgotten, a retry counts as a first request and may repeat the operation.",
  };
}

/** Every such status is a result and is replayed; only the origin knows what it means for the effect. */
function resultOf(status: number): Pick<RecordDescription, "tone" | "headline"> {
  const answered = `The origin answered ${status}`;
  if (status < 300) return { tone: "settled", headline: `${answered}: the operation took effect.` };
  const why =
    status < 400
      ? ""
      : status < 500
        ? ": it rejected the request"
        : ": it failed, and only the origin knows what took effect";
  return { tone: "neutral", headline: `${answered}${why}.` };
}

function outcomeUnknown(attempt: number, why: string | null): string {
  return `Outcome unknown: attempt ${attempt} may have succeeded${why === null ? "" : ` (${why})`}.`;
}

function because(why: string | null): string {
  return why === null ? "" : `: ${why}`;
}

/** Why an attempt ended without a result; `null` when no reason is known. */
function whyEnded(event: TimelineEvent): string | null {
  if (event.type !== "attempt") return null;
  if (event.verdict === "lost") return "the gateway lost it, and its lock ended";
  return event.reason === null ? null : reasonText(event.reason);
}

/** What a consumer says of its claim. */
export function claimText({ holder, position }: ClaimNote): string {
  const place = position === null ? "" : ` at ${position.stream}/${position.partition}, offset ${position.offset}`;
  return `${holder === null ? "" : ` by ${holder}`}${place}`;
}

export function reasonText(reason: EndReason): string {
  switch (reason.kind) {
    case "status":
      return `the origin answered ${reason.status}`;
    case "body":
      return `the origin answered ${reason.status}, and what its body has at ${reason.at} decided`;
    case "unreachable":
      return "no connection to the origin could be opened";
    case "dropped":
      return "the connection broke before the full response arrived";
    case "timed-out":
      return "the origin did not answer in time";
    case "said":
      return reason.text;
  }
}
