// One record in full, for an operator who has to decide about it: what is known, its timeline, and what can be done. Pure.

import { formatDuration, formatSize } from "../kernel/config/units.ts";
import { findingText } from "../kernel/record/describe-finding.ts";
import { claimText } from "../kernel/record/describe-record.ts";
import { epochMs } from "../kernel/record/units.ts";
import { alignColumns, type TerminalLook, printableText, printableLines } from "./look.ts";
import type { ShownRecord, ShownPreview, ShownEvent } from "./operator-client.ts";
import { nextText, requestText, STATE_STYLES } from "./records-table.ts";
import { fromNow, readableTime, roughDuration } from "./times.ts";

export function recordText(record: ShownRecord, now: number, look: TerminalLook): string {
  const { policy } = record;
  const when = (iso: string): string => `${readableTime(iso)} (${fromNow(iso, now)})`;
  const maybe =
    policy.unknown === "retry" ? "" : `, ${formatDuration(policy.unknownRetentionMs)} while the outcome is unknown`;
  const late = policy.rememberMs === undefined ? "" : `, key remembered for ${formatDuration(policy.rememberMs)}`;
  const rules = `unknown = "${policy.unknown}", lock ${formatDuration(policy.lockMs)}, retention ${formatDuration(policy.retentionMs)}${maybe}${late}${scheduleText(policy)}`;
  const next: readonly (readonly [string, string])[] =
    record.nextAttemptAt === null
      ? []
      : [["next attempt", `${readableTime(record.nextAttemptAt)} (${nextText(record.nextAttemptAt, now)})`]];
  const { giveUpAt, lastAttempt } = record;
  const promise: readonly (readonly [string, string])[] =
    giveUpAt === null ? [] : [["given up", `after attempt ${lastAttempt}, or ${when(giveUpAt)}`]];
  const facts: readonly (readonly [string, string])[] = [
    ["key", record.encrypted ? `${record.key} (encrypted: only its caller can read key and response)` : record.key],
    ...requestFacts(record, now),
    ["route", `${record.route} (${rules})`],
    ["state", `${record.state}, attempt ${record.attempt}`],
    ...next,
    ...promise,
    ["locked until", when(record.lockedUntil)],
    ["expires", record.expiresAt === null ? `not while ${record.state}` : when(record.expiresAt)],
    ["fingerprint", record.fingerprint],
    ["shard", record.shard],
    ["layout", record.layout],
  ];
  const state = facts.find(([name]) => name === "state");
  const lines = alignColumns(facts.map(([name, value]) => [name, printableText(value)]));
  return [
    look.paint("bold", record.id),
    ...lines.map((line) => {
      const isState = state !== undefined && line.startsWith(state[0]);
      return `  ${isState ? line.replace(record.state, look.paint(STATE_STYLES[record.state], record.state)) : line}`;
    }),
    ...descriptionLines(record),
    "",
    look.paint("bold", "timeline"),
    ...record.timeline.flatMap(eventLines).map((line) => `  ${line}`),
    "",
    ...responseLines(record, look),
    ...adviceLines(record, look),
  ].join("\n");
}

/** What is noted of the request. */
function requestFacts(
  { request, route, excerpt, replays }: ShownRecord,
  now: number,
): readonly (readonly [string, string])[] {
  const replayed: readonly (readonly [string, string])[] =
    replays === null
      ? []
      : [["replayed", `${replays.count} times in the last 24 hours, last ${fromNow(replays.lastAt, now)}`]];
  if (request === null) return replayed;
  const { sizeBytes, caller, label } = request;
  const size = sizeBytes === null ? "a body of unknown size" : `a body of ${formatSize(sizeBytes)}`;
  return [
    ["request", `${requestText({ request: { ...request, label: null }, route })}, ${size}`],
    ...(request.fromContent === true
      ? [["key from", "its content: an equal request of its caller is the same operation until it expires"] as const]
      : []),
    ...(label === null ? [] : [["label", label] as const]),
    ...(caller === null ? [] : [["caller", caller] as const]),
    ...(excerpt === null
      ? []
      : [["body", `${excerpt.text} (its beginning, kept until ${readableTime(excerpt.keptUntil)})`] as const]),
    ...replayed,
  ];
}

function eventLines(event: ShownEvent): readonly string[] {
  if (event.type === "change") {
    const reason = event.reason === "" ? "" : `: ${printableText(event.reason)}`;
    return [`${readableTime(event.at)}  ${printableText(event.action)} by ${printableText(event.by)}${reason}`];
  }
  if (event.type === "note") {
    return [`${readableTime(event.at)}  note by ${printableText(event.by)}: ${printableText(event.text)}`];
  }
  if (event.type === "claim") {
    return [`${readableTime(event.at)}  attempt ${event.attempt} claimed${printableText(claimText(event))}`];
  }
  if (event.type === "verification") {
    const { answer, saw = null, countsFrom = null } = event;
    const from = countsFrom === null ? null : epochMs(Date.parse(countsFrom));
    const found = printableText(findingText({ answer, saw, countsFrom: from }));
    return [`${readableTime(event.at)}  asked about attempt ${event.attempt}: ${found}`];
  }
  const begun = `${readableTime(event.startedAt)}  attempt ${event.attempt} began`;
  if (event.endedAt === null) return [begun];
  const took = roughDuration(Date.parse(event.endedAt) - Date.parse(event.startedAt));
  const status = event.status === null ? "" : `, status ${event.status}`;
  const reason = event.reason === null ? "" : `: ${printableText(event.reason)}`;
  const verdict = event.verdict === null ? "ended" : printableText(event.verdict);
  return [begun, `${readableTime(event.endedAt)}  attempt ${event.attempt} ${verdict} after ${took}${status}${reason}`];
}

function responseLines({ response, responseKept, encrypted }: ShownRecord, look: TerminalLook): readonly string[] {
  if (response === null && encrypted && responseKept === true) {
    return [look.paint("bold", "response encrypted"), "  only the caller's own retry opens it"];
  }
  if (response === null) {
    return [look.paint("bold", responseKept === false ? "response not kept" : "no response")];
  }
  const { status, statusText, headers, sizeBytes } = response;
  const kept = responseKept === false ? ", its body not kept" : "";
  return [
    look.paint("bold", "response"),
    `  ${printableText(`${status} ${statusText}`.trimEnd())}, ${formatSize(sizeBytes)}${kept}`,
    ...headers.map(([name, value]) => `  ${look.paint("dim", printableText(`${name}: ${value}`))}`),
  ];
}

/** The gateway's explanation. */
function descriptionLines({ description: { headline, retry, advice } }: ShownRecord): readonly string[] {
  return ["", printableText(`${headline} ${retry}`), printableText(advice)];
}

/** How the gateway tries an accepted request. */
function scheduleText({ schedule }: ShownRecord["policy"]): string {
  if (schedule === undefined) return "";
  const pauses = `${formatDuration(schedule.firstPauseMs)} to ${formatDuration(schedule.longestPauseMs)}`;
  return `, at most ${schedule.attempts} attempts in ${formatDuration(schedule.giveUpAfterMs)}, ${pauses} between them`;
}

/** With an unknown outcome, the commands that settle it; of a request that waits, those that hasten or end it. */
function adviceLines({ id, state }: ShownRecord, look: TerminalLook): readonly string[] {
  if (state === "waiting") {
    return [
      "",
      look.paint("bold", "it is tried without you; otherwise"),
      `  to try it as soon as possible:  npx onceway records release ${id} --reason "…"`,
      `  to cancel it:                   npx onceway records forget ${id} --reason "…"`,
    ];
  }
  if (state !== "unknown") return [];
  return [
    "",
    look.paint("bold", "check at the origin whether it took effect, then"),
    `  if it did not:  npx onceway records release ${id} --reason "…"`,
    `  if it did:      npx onceway records resolve ${id} --status 201 --body "…" --reason "…"`,
  ];
}

/** What every retry would get after `resolve`. */
export function previewText({ status, headers, omittedHeaders, sizeBytes, body, warnings }: ShownPreview): string {
  return [
    "Every retry gets this, marked as a replay:",
    `  ${status}`,
    ...headers.map(([name, value]) => `  ${printableText(`${name}: ${value}`)}`),
    `  ${body === null ? `${formatSize(sizeBytes)} that are not text` : formatSize(sizeBytes)}`,
    ...(body === null || body === ""
      ? []
      : [
          "",
          ...printableLines(body)
            .split("\n")
            .map((line) => `  ${line}`),
        ]),
    "",
    ...(omittedHeaders.length === 0
      ? []
      : [`Its route omits from replays: ${printableText(omittedHeaders.join(", "))}`]),
    ...warnings.map((warning) => `Warning: ${printableText(warning)}`),
  ].join("\n");
}
