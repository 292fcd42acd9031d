// What came of asking the origin about an attempt, in words for operators.

import type { TimelineEvent } from "./timeline.ts";
import type { EpochMs } from "./units.ts";
import type { FindingEvidence } from "./verification-answer.ts";

type VerificationEvent = Extract<TimelineEvent, { readonly type: "verification" }>;

/** What the origin said about an attempt, as the end of a sentence. */
export function findingText({ answer, saw, countsFrom }: ShownFinding): string {
  const from =
    countsFrom === undefined || countsFrom === null || !LATER.has(answer)
      ? ""
      : ` "It did not happen" counts from ${timeOfDay(countsFrom)}.`;
  // One of a newer release, shown by the command line of an older one, has no words here.
  return `${WORDS.get(answer) ?? answer}${evidenceText(saw)}.${from}`;
}

interface ShownFinding {
  readonly answer: string;
  readonly saw?: FindingEvidence | null;
  readonly countsFrom?: EpochMs | null;
}

/** Findings that may be followed by "it did not happen". */
const LATER: ReadonlySet<string> = new Set(["too-early", "stale", "pending"]);

const FINDINGS: Readonly<Record<VerificationEvent["answer"], string>> = {
  done: "the origin says that it took effect",
  absent: "the origin says that it did not take effect",
  "too-early": "the origin says that it did not take effect, too early to count",
  pending: "the origin says neither that it took effect nor that it did not",
  contradictory: "the origin says both that it took effect and that it did not: check happened and not_happened",
  doubled: "the origin lists more than one such operation: look for a second effect",
  "near-miss": "the origin has it in another spelling than the request, which is left to you",
  incomplete: "the origin's list does not have it and is not complete",
  stale: "a cache says that it did not take effect, which does not count",
  foreign: "the origin tells another caller that it did not take effect, which does not count",
  missing: "the origin does not know the resource",
  unreadable: "the origin's answer cannot be judged",
  rejected: "the origin rejected the credential of the request",
  unanswered: "the origin did not answer",
};

const WORDS: ReadonlyMap<string, string> = new Map(Object.entries(FINDINGS));

/** An answer's place, and what is there, in brackets; empty if nothing of the answer is known. */
export function evidenceText(saw: FindingEvidence | null | undefined): string {
  return saw === null || saw === undefined ? "" : ` (${saw.at}: ${saw.value})`;
}

/** In UTC, as the timeline of the console has it. */
export function timeOfDay(time: EpochMs): string {
  const seconds = Math.floor(time / 1000) % 86_400;
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60];
  return `${parts.map((part) => String(Math.floor(part)).padStart(2, "0")).join(":")} UTC`;
}
