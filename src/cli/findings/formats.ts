// Findings for programs: the JSON of `check --json`, and the annotations that GitHub shows beside the lines of a change.

import type { ConfigFinding } from "./findings.ts";
import type { TextRange } from "./source-ranges.ts";

/** Lines and columns count from 1; `endColumn` is the first after it. Without a place in the file: the beginning of it. */
const NOWHERE: TextRange = { line: 1, column: 1, endLine: 1, endColumn: 1 };

/** An object for JSON. */
export function findingJson(file: string, { range, related, fix, ...finding }: ConfigFinding): object {
  return {
    file,
    ...(range ?? NOWHERE),
    ...finding,
    related: related.map(({ range: place, ...one }) => ({ file, ...place, ...one })),
    fix: fix === null ? null : { ...fix.range, text: fix.text },
  };
}

/** A line that GitHub's runner reads from the output ("workflow commands"). */
export function githubAnnotation(file: string, { severity, code, path, message, help, range }: ConfigFinding): string {
  const { line, column, endLine, endColumn } = range ?? NOWHERE;
  const level = severity === "note" ? "notice" : severity;
  // GitHub's last column is included.
  const columns = line === endLine ? [`col=${column}`, `endColumn=${Math.max(column, endColumn - 1)}`] : [];
  const properties = [
    `file=${escapeProperty(file)}`,
    `line=${line}`,
    `endLine=${endLine}`,
    ...columns,
    `title=${escapeProperty(code)}`,
  ];
  const text = `${path === "" ? "" : `${path}: `}${message}${help === null ? "" : `\nhelp: ${help}`}`;
  return `::${level} ${properties.join(",")}::${escapeData(text)}`;
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
