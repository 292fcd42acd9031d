// A file of decisions: JSON lines. All of it is read and checked before anything is asked, so that nobody decides half of what he wrote.

import { type RecordDecision, namedTwice, parseDecision } from "./decision.ts";

export interface DecisionLine {
  readonly line: number;
  readonly decision: RecordDecision;
}

export interface LineProblem {
  readonly line: number;
  readonly reason: string;
}

export type ParsedLines =
  | { readonly ok: true; readonly lines: readonly DecisionLine[] }
  | { readonly ok: false; readonly problems: readonly LineProblem[] };

/** More problems of one file are not worth reading: the same program has written them all. */
const MAX_PROBLEMS = 10;

/** `reason`: of a decision without its own. */
export async function parseDecisionLines(
  written: string | Uint8Array,
  reason: string | undefined,
): Promise<ParsedLines> {
  const text = typeof written === "string" ? written : textOf(written);
  if (text === null) return { ok: false, problems: [NOT_UTF8] };
  const lines: DecisionLine[] = [];
  const problems: LineProblem[] = [];
  for (const [at, one] of text
    .replace(/^\ufeff/, "")
    .split("\n")
    .entries()) {
    if (one.trim() === "") continue;
    const line = at + 1;
    const json = parseLine(one);
    // oxlint-disable-next-line no-await-in-loop -- digests of keys
    const parsed = json === undefined ? NO_JSON : await parseDecision(json, reason);
    if (parsed.ok) lines.push({ line, decision: parsed.value });
    else problems.push({ line, reason: parsed.reason });
    if (problems.length === MAX_PROBLEMS) break;
  }
  if (problems.length > 0) return { ok: false, problems };
  const [first, again] = namedTwice(lines.map(({ decision }) => decision.begin)) ?? [];
  if (first !== undefined && again !== undefined) {
    const reasonOf = `It may name the same record as line ${lines[first]?.line}: write one of them.`;
    return { ok: false, problems: [{ line: lines[again]?.line ?? 0, reason: reasonOf }] };
  }
  return lines.length === 0 ? { ok: false, problems: [EMPTY] } : { ok: true, lines };
}

const NO_JSON = {
  ok: false,
  reason: 'It is no JSON: write one decision on a line, {"key":"…","decision":"release"}.',
} as const;
const EMPTY = { line: 1, reason: 'There is no decision: write one on a line, {"key":"…","decision":"release"}.' };

const NOT_UTF8 = { line: 1, reason: "The file is not UTF-8: retries would get other bytes. Save it as UTF-8." };

function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
