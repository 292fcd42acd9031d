// The results of the conformance suite for people. What a server sent is never printed as it is.

import { type ConformanceCase, groupOf } from "../conformance/case.ts";
import type { SuiteReport } from "../conformance/report.ts";
import type { CaseResult } from "../conformance/suite.ts";
import { alignColumns, type TerminalLook, printableText, type TextStyle } from "./look.ts";

/** As their protocols spell them. */
const PROTOCOLS: Readonly<Record<Exclude<SuiteReport["profile"], "idempotency">, string>> = {
  acp: "ACP",
  ucp: "UCP",
  "ucp-mcp": "UCP over MCP",
  adcp: "AdCP",
  mcp: "MCP",
};

export function reportHeadText(
  { target, mode, profile, by }: Pick<SuiteReport, "target" | "mode" | "profile" | "by">,
  look: TerminalLook,
): string {
  const how = mode === "gateway" ? "with the suite's own origin behind it" : "as an API: calls cannot be counted";
  const own = profile === "idempotency" ? "levels of the profile" : `rules of ${PROTOCOLS[profile]}`;
  const levels = by === "profile" ? own : "levels of the draft, where it says anything";
  return `${look.paint("bold", printableText(target))}\n${how}; ${levels}`;
}

const MARKS: Readonly<Record<CaseResult["level"], readonly [mark: string, style: TextStyle]>> = {
  MUST: ["✗", "red"],
  SHOULD: ["!", "yellow"],
  MAY: ["·", "dim"],
};

/** One result, below the name of its group if that is new. */
export function resultText(
  { case: one, level, verdict }: CaseResult,
  before: CaseResult | null,
  look: TerminalLook,
): string {
  const group = groupOf(one);
  const isNew = before === null || groupOf(before.case) !== group;
  const [mark, style] =
    verdict.is === "failed"
      ? MARKS[level]
      : verdict.is === "passed"
        ? (["✓", "green"] as const)
        : (["-", "dim"] as const);
  const head = `  ${look.paint(style, mark)} ${level.padEnd(6)}  ${one.id.padEnd(26)}  ${verdict.is === "skipped" ? look.paint("dim", one.says) : one.says}`;
  const why =
    verdict.is === "passed"
      ? ""
      : `\n${" ".repeat(12)}${look.paint(style, `${verdict.is}: ${printableText(verdict.why)}`)}`;
  return `${isNew ? `\n${look.paint("bold", group)}\n` : ""}${head}${why}`;
}

export function totalsText({ totals, results }: SuiteReport, look: TerminalLook): string {
  const { passed, skipped, failed } = totals;
  const parts = [
    look.paint("green", `${passed} passed`),
    look.paint(failed.MUST === 0 ? "dim" : "red", `${failed.MUST} MUST failed`),
    look.paint(failed.SHOULD === 0 ? "dim" : "yellow", `${failed.SHOULD} SHOULD`),
    look.paint("dim", `${failed.MAY} MAY`),
    look.paint("dim", `${skipped} skipped`),
  ];
  const count = results.length === 1 ? "1 case" : `${results.length} cases`;
  return `\n${count}: ${parts.join(", ")}`;
}

export function caseLines(cases: readonly ConformanceCase[], look: TerminalLook): readonly string[] {
  const rows = cases.map((one) => [one.id, one.level, one.profile, draftOf(one), one.says]);
  const [head = "", ...lines] = alignColumns([["CASE", "LEVEL", "PROFILE", "DRAFT", "WHAT A SERVER DOES"], ...rows]);
  return [look.paint("bold", head), ...lines];
}

function draftOf({ draft }: ConformanceCase): string {
  return draft === null ? "" : `${draft.section} ${draft.level}`;
}
