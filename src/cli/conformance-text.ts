// The results of the conformance suite for people. What a server sent is never printed as it is.

import { type Case, groupOf } from "../conformance/case.ts";
import type { Report } from "../conformance/report.ts";
import type { Result } from "../conformance/suite.ts";
import { columns, type Look, printable, type Style } from "./look.ts";

export function reportHeadText({ target, mode, by }: Pick<Report, "target" | "mode" | "by">, look: Look): string {
  const how = mode === "gateway" ? "with the suite's own origin behind it" : "as an API: calls cannot be counted";
  const levels = by === "profile" ? "levels of the profile" : "levels of the draft, where it says anything";
  return `${look.paint("bold", printable(target))}\n${how}; ${levels}`;
}

const MARKS: Readonly<Record<Result["level"], readonly [mark: string, style: Style]>> = {
  MUST: ["✗", "red"],
  SHOULD: ["!", "yellow"],
  MAY: ["·", "dim"],
};

/** One result, below the name of its group if that is new. */
export function resultText({ case: one, level, verdict }: Result, before: Result | null, look: Look): string {
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
      : `\n${" ".repeat(12)}${look.paint(style, `${verdict.is}: ${printable(verdict.why)}`)}`;
  return `${isNew ? `\n${look.paint("bold", group)}\n` : ""}${head}${why}`;
}

export function totalsText({ totals, results }: Report, look: Look): string {
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

export function caseLines(cases: readonly Case[], look: Look): readonly string[] {
  const rows = cases.map((one) => [one.id, one.level, one.profile, draftOf(one), one.says]);
  const [head = "", ...lines] = columns([["CASE", "LEVEL", "PROFILE", "DRAFT", "WHAT A SERVER DOES"], ...rows]);
  return [look.paint("bold", head), ...lines];
}

function draftOf({ draft }: Case): string {
  return draft === null ? "" : `${draft.section} ${draft.level}`;
}
