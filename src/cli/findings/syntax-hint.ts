// What the findings about a file that cannot be parsed have in common, whatever its language: the line on which the parser gave up, a
// hint what its author meant, and the mistakes that people make in every language.

import { secretStart } from "../check/secrets.ts";
import type { ConfigProblemCode } from "../../kernel/config/config-problem.ts";
import type { ConfigFinding } from "./findings.ts";
import { type TextRange, spanOf } from "./source-ranges.ts";

export interface SyntaxHint {
  readonly help: string;
  readonly range?: TextRange;
  /** What to write instead of a range: of this one, or of `at`. */
  readonly text?: string;
  readonly at?: TextRange;
}

/** Where a parser gave up. */
export interface ParserPosition {
  readonly line: string;
  readonly number: number;
  /** In the line, from 0. */
  readonly at: number;
  /** The parser's. */
  readonly reason: string;
}

export type DiagnoseSyntax = (spot: ParserPosition, lines: readonly string[]) => SyntaxHint | null;

export function spotOf(
  lines: readonly string[],
  { line, column }: Pick<TextRange, "line" | "column">,
  reason: string,
): ParserPosition {
  return { line: lines[line - 1] ?? "", number: line, at: column - 1, reason };
}

/** The first diagnosis that has a hint counts: of those of a language, some come before the mistakes of every language. */
export function hintFor(
  spot: ParserPosition,
  lines: readonly string[],
  before: readonly DiagnoseSyntax[],
  after: readonly DiagnoseSyntax[],
): SyntaxHint | null {
  const diagnoses = [...before, mergeConflict, curlyQuotes, ...after];
  return diagnoses.map((diagnose) => diagnose(spot, lines)).find((one) => one !== null) ?? null;
}

export function invalidFile(
  code: ConfigProblemCode,
  message: string,
  { line, number, at }: ParserPosition,
  hint: SyntaxHint | null,
): ConfigFinding {
  const range = hint?.range ?? { line: number, column: at + 1, endLine: number, endColumn: at + 2 };
  // What is written instead could repeat a secret.
  const isShown = hint?.text !== undefined && secretStart(line) === null;
  return {
    severity: "error",
    code,
    path: "",
    message,
    help: hint?.help ?? null,
    range,
    related: [],
    fix: isShown ? { range: hint.at ?? range, text: hint.text } : null,
  };
}

/** Replaces what is written at a place of a line. */
export function replacementHint(number: number, at: number, written: string, text: string, help: string): SyntaxHint {
  return { help, range: spanOf(number, at, written), text };
}

function mergeConflict({ line }: ParserPosition): SyntaxHint | null {
  const [marker] = /^(?:<{7}|={7}|>{7}|\|{7}).*/.exec(line) ?? [];
  return marker === undefined
    ? null
    : { help: "resolve the merge conflict: keep one of the two versions, and remove this line" };
}

function curlyQuotes({ line, number, at }: ParserPosition): SyntaxHint | null {
  const match = /[“”„‘’]([^“”„‘’]*)[“”‘’]/.exec(line);
  if (match === null || at < match.index || at > match.index + 1) return null;
  return replacementHint(number, match.index, match[0], `"${match[1] ?? ""}"`, 'write straight quotes, "…"');
}

/** What people write for a word of the language, in lower case. */
const WORDS: Readonly<Record<string, string>> = {
  true: "true",
  yes: "true",
  on: "true",
  false: "false",
  no: "false",
  off: "false",
};

/** For a value without quotes: the word that is meant, or the text in quotes, with this advice. */
export function valueHint(number: number, at: number, value: string, help: string): SyntaxHint {
  const word = WORDS[value.toLowerCase()];
  if (word !== undefined) return replacementHint(number, at, value, word, `write ${word}, in lower case`);
  return replacementHint(number, at, value, JSON.stringify(value), help);
}
