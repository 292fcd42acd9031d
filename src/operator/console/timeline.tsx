// A record's history in words.

import { findingText } from "../../kernel/record/describe-finding.ts";
import { claimText, reasonText } from "../../kernel/record/describe-record.ts";
import type { TimelineEvent } from "../../kernel/record/timeline.ts";
import { elapsedText } from "./browser/times.ts";
import { TimeText } from "./time.tsx";

type AttemptEvent = Extract<TimelineEvent, { type: "attempt" }>;

export function TimelineCard({ timeline, now }: { readonly timeline: readonly TimelineEvent[]; readonly now: number }) {
  return (
    <ol class="timeline">
      {timeline.map((event) => (
        <Entry event={event} now={now} />
      ))}
    </ol>
  );
}

function Entry({ event, now }: { readonly event: TimelineEvent; readonly now: number }) {
  switch (event.type) {
    case "attempt":
      return (
        <li class={event.verdict ?? "running"}>
          <strong>Attempt {event.attempt}</strong> {outcome(event)}
          <div class="soft small">
            <TimeText at={event.startedAt} now={now} />
            {durationText(event)}
          </div>
        </li>
      );
    case "claim":
      return (
        <li>
          <strong>Attempt {event.attempt} was claimed</strong>
          {claimText(event)}
          <div class="soft small">
            <TimeText at={event.at} now={now} />
          </div>
        </li>
      );
    case "verification":
      return (
        <li class={event.answer === "done" ? "result" : event.answer === "absent" ? "refused" : "ambiguous"}>
          <strong>The origin was asked</strong> about attempt {event.attempt}: {findingText(event)}
          <div class="soft small">
            <TimeText at={event.at} now={now} />
          </div>
        </li>
      );
    case "change":
      return (
        <li class="change">
          <strong>{CHANGED[event.action]}</strong> by {event.by}
          {event.reason === "" ? null : <p class="said">{event.reason}</p>}
          <div class="soft small">
            <TimeText at={event.at} now={now} />
          </div>
        </li>
      );
    case "note":
      return (
        <li class="noted">
          <strong>Note</strong> by {event.by}
          <p class="said">{event.text}</p>
          <div class="soft small">
            <TimeText at={event.at} now={now} />
          </div>
        </li>
      );
  }
}

const CHANGED = {
  release: "Released",
  resolve: "Resolved",
  forget: "Forgotten",
  cancel: "Cancelled",
  abandon: "Key given up",
  unreadable: "Found unreadable",
} as const;

function outcome({ verdict, status, reason }: AttemptEvent): string {
  const why = reason === null ? "" : `: ${reasonText(reason)}`;
  switch (verdict) {
    case null:
      return "is in flight.";
    case "result":
      return `was answered${status === null ? "" : ` with ${status}`}.`;
    case "refused":
      return `had no effect${why}.`;
    case "ambiguous":
      return `may have taken effect${why}.`;
    case "lost":
      return "may have taken effect: the gateway lost it, and its lock ended.";
  }
}

/** How long a lost attempt took nobody knows: only its lock has an end. */
function durationText({ startedAt, endedAt, verdict }: AttemptEvent): string | null {
  if (endedAt === null) return null;
  const time = lasted(startedAt, endedAt);
  return verdict === "lost" ? `, its lock ended after ${time}` : `, took ${time}`;
}

function lasted(from: number, to: number): string {
  const ms = to - from;
  return ms < 1000 ? `${ms} ms` : elapsedText(ms);
}
