// What was counted of a route on trial, in sentences: what took effect twice, what enforcing would have answered itself, what it would break, and the
// setting that decides each. Pure.

import { formatDuration, formatSize } from "../../../kernel/config/units.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import { GAP_BINS } from "../day-counts.ts";
import type { ReportLine, RouteReportView } from "./report-schema.ts";

type Counts = Readonly<Record<string, number>>;

/** `name`: what is counted; `text`: what its number of requests did or would get; `setting`: what decides it. */
type Line = readonly [kind: ReportLine["kind"], name: string, text: string, setting: string | null];

export function reportLines({ rules, trial, key, maxRequestBodyBytes }: Route, counts: Counts): readonly ReportLine[] {
  const { policy, timeoutMs, duplicate } = rules;
  const held = policy.unknown === "retry" ? "would run again when the lock ends" : "would be refused until it is known";
  const waits = duplicate === "reject" ? "would be refused with 409" : "would wait for the first answer";
  const lines: readonly Line[] = [
    ["doubled", "effect:doubled", "took effect again: two answers to one key name two effects", 'mode = "enforce"'],
    ["gain", "replay", "would get the first answer again, and not reach the API", "retention"],
    ["gain", "overlap", `came while the first was in flight: ${waits}`, "duplicate"],
    ["gain", "unknown", `came after one whose outcome nobody knows: ${held}`, "unknown"],
    ["gain", "retry", "came after one that the API had refused: would run again, as they did", "refused"],
    ["break", "key-missing", "have no key: would be refused with 400", key === "required" ? 'key = "optional"' : "key"],
    [
      "break",
      "content-repeat",
      `have no key and repeat an equal request of at most ${formatDuration(Math.max(1, trial?.keylessMs ?? 0))} before: nothing would stop them, unless keys are made from content`,
      'key_from: { digest = "request", … }',
    ],
    ["break", "key-invalid", "have a key that would be refused with 400", "key_format"],
    ["break", "key-reused", "have the key of another request: would be refused with 422", "fingerprint"],
    [
      "break",
      "scope-splits",
      "have the key and content of another caller: would run again. Do tokens rotate?",
      "scope",
    ],
    ["break", "credential-invalid", "do not say who their caller is: would be refused with 401", "scope"],
    [
      "break",
      "body-too-large",
      `have more than ${formatSize(maxRequestBodyBytes)}: would be refused with 413`,
      "max_request_body",
    ],
    ["break", "over-timeout", `took longer than ${formatDuration(timeoutMs)}: would be cut off with 504`, "timeout"],
    [
      "break",
      "response-too-large",
      `have an answer of more than ${formatSize(rules.maxResponseBodyBytes)}: it would not be kept`,
      "max_response_body",
    ],
    ["break", "other-problem", "could not be read: would be refused", null],
    ["note", "effect:deduplicated", "were repeats that the API answered with the same effect: it knows keys", null],
    [
      "note",
      "effect:likely",
      "were repeats with another answer: say where it names its effect, to know whether they took effect twice",
      "observe.effect",
    ],
    ["note", "effect:same-answer", "were repeats with an equal answer", null],
    ["note", "not-compared", "were not compared with others of their key: they have more than 1 MiB", "fingerprint"],
    ["note", "lost", "had no answer of their object, and may be missing here", null],
  ];
  const found = lines.flatMap(([kind, name, text, setting]) => {
    const count = counts[name] ?? 0;
    return count === 0 ? [] : [{ kind, count, text, setting }];
  });
  return [...found, ...gapLines(counts, policy.retentionMs)];
}

/** How long a key has to be kept, by the repeats that came. */
function gapLines(counts: Counts, retentionMs: number): readonly ReportLine[] {
  const bins = GAP_BINS.map(([name, upToMs]) => ({ name, upToMs, count: counts[`gap:${name}`] ?? 0 }));
  const all = bins.reduce((sum, { count }) => sum + count, 0);
  if (all === 0) return [];
  let sofar = 0;
  const last = bins.find(({ count }) => (sofar += count) >= all * 0.99);
  const text = `99% of repeats came within ${last?.name ?? "48h"} of the first; keys are kept for ${formatDuration(retentionMs)}`;
  return [{ kind: "note", count: null, text, setting: "retention" }];
}

/** What console and command line put before a line. */
export const KIND_TITLES: Readonly<Record<ReportLine["kind"], string>> = {
  doubled: "Took effect twice",
  gain: "Would be answered",
  break: "Would break",
  note: "Note",
};

/** Whether the route protects anything, and how much of it was looked at. */
export function modeText({ protectedShare, sample }: Pick<RouteReportView, "protectedShare" | "sample">): string {
  const sampled = sample === 1 ? "" : ` ${shareText(sample)} of the keys are looked at.`;
  if (protectedShare === null) return "No longer configured.";
  if (protectedShare === 1) return "Protected now; observed before.";
  if (protectedShare === 0) return `Observed: it protects nothing.${sampled}`;
  return `${shareText(protectedShare)} of the keys are protected, the others observed.${sampled}`;
}

export function shareText(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}
