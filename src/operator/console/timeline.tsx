// A record's history in words.

import { reasonText } from "../../core/describe-record.ts";
import type { Happening } from "../../core/timeline.ts";
import { formatDuration } from "./browser/duration.ts";
import { Time } from "./time.tsx";

type AttemptHappening = Extract<Happening, { type: "attempt" }>;

export function Timeline({ timeline, now }: { readonly timeline: readonly Happening[]; readonly now: number }) {
  return (
    <ol class="timeline">
      {timeline.map((happening) => (
        <Entry happening={happening} now={now} />
      ))}
    </ol>
  );
}

function Entry({ happening, now }: { readonly happening: Happening; readonly now: number }) {
  switch (happening.type) {
    case "attempt":
      return (
        <li class={happening.verdict ?? "running"}>
          <strong>Attempt {happening.attempt}</strong> {outcome(happening)}
          <div class="soft small">
            <Time at={happening.startedAt} now={now} />
            {happening.endedAt === null ? null : `, took ${lasted(happening.startedAt, happening.endedAt)}`}
          </div>
        </li>
      );
    case "verification":
      return (
        <li class={happening.answer === "done" ? "result" : "refused"}>
          <strong>The origin was asked</strong> about attempt {happening.attempt}:{" "}
          {happening.answer === "done" ? "it took effect." : "it did not take effect."}
          <div class="soft small">
            <Time at={happening.at} now={now} />
          </div>
        </li>
      );
    case "change":
      return (
        <li class="change">
          <strong>{CHANGED[happening.action]}</strong> by {happening.by}
          <p class="said">{happening.reason}</p>
          <div class="soft small">
            <Time at={happening.at} now={now} />
          </div>
        </li>
      );
  }
}

const CHANGED = { release: "Released", resolve: "Resolved", forget: "Forgotten" } as const;

function outcome({ verdict, status, reason }: AttemptHappening): string {
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

function lasted(from: number, to: number): string {
  const ms = to - from;
  return ms < 1000 ? `${ms} ms` : formatDuration(ms);
}
