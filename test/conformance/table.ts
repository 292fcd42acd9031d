// The comparison as a table of Markdown: what each server passes, fails and was not asked.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";

const rowSchema = v.object({
  id: v.string(),
  level: v.string(),
  draft: v.nullable(v.object({ section: v.string(), level: v.string() })),
  result: v.picklist(["passed", "failed", "skipped"]),
  why: v.optional(v.string()),
});

export const reportSchema = v.object({ results: v.array(rowSchema) });

export type Row = v.InferOutput<typeof rowSchema>;

export interface Column {
  readonly name: string;
  readonly versions: readonly string[];
  readonly rows: readonly Row[];
}

const MARKS = { passed: "✓", failed: "**✗**", skipped: "–" } as const;

export function comparison(columns: readonly Column[]): string {
  const [first] = columns;
  const isOfDraft = first?.rows.some(({ draft }) => draft !== null) === true;
  /** What only a table of the draft has. */
  const ofDraft = (text: string): string => (isOfDraft ? `${text} |` : "");
  const lines = (first?.rows ?? []).map(({ id, level, draft }) => {
    const marks = columns.map(({ rows }) => markOf(rows.find((row) => row.id === id)));
    const section = ofDraft(draft === null ? " " : ` §${draft.section} ${draft.level}`);
    return `| \`${id}\` | ${level} |${section} ${marks.join(" | ")} |`;
  });
  const count = (what: string, isCounted: (row: Row) => boolean): string =>
    `| **${what}** | |${ofDraft(" ")} ${columns.map(({ rows }) => rows.filter(isCounted).length).join(" | ")} |`;
  const ofDraftAlone = count(
    "of these, what the draft asks for",
    ({ draft, result, level }) => level !== "MAY" && draft !== null && result === "failed",
  );
  const head = [
    `| case | level |${ofDraft(" draft")} ${columns.map(({ name }) => name).join(" | ")} |`,
    `| --- | --- |${ofDraft(" ---")}${" --- |".repeat(columns.length)}`,
    count("MUST of the profile failed", ({ level, result }) => level === "MUST" && result === "failed"),
    count("SHOULD of the profile failed", ({ level, result }) => level === "SHOULD" && result === "failed"),
    ...(isOfDraft ? [ofDraftAlone] : []),
  ];
  const versions = columns
    .filter((one) => one.versions.length > 0)
    .map((one) => `${one.name}: ${one.versions.join(", ")}`);
  const reasons = columns.flatMap(({ name, rows }) =>
    rows.filter(({ result }) => result === "failed").map(({ id, why = "" }) => `${name} ${id}: ${why}`),
  );
  return [...head, ...lines, "", ...versions, "", ...reasons].join("\n");
}

const manifestSchema = v.object({ version: v.string() });

/** Of packages that are installed in a folder: their names and versions. */
export function versionsOf(folder: string, packages: readonly string[]): Promise<readonly string[]> {
  return Promise.all(
    packages.map(async (name) => {
      const text = await readFile(join(folder, "node_modules", name, "package.json"), "utf8");
      return `${name} ${v.parse(manifestSchema, JSON.parse(text)).version}`;
    }),
  );
}

function markOf(row: Row | undefined): string {
  return row === undefined ? "" : row.result === "failed" && row.level === "MAY" ? "·" : MARKS[row.result];
}
