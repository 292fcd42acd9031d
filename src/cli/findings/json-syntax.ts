// Reads a wrangler.json or wrangler.jsonc as Wrangler does, with its parser: comments and commas before a closing bracket are fine in
// both. Of a file that cannot be read it says what to do: the mistakes of people who know other formats. Wrangler takes the last of
// two members of one name and says nothing of the first; this refuses both, as TOML does.

import { createScanner, getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

import { isTable, type SettingsTable } from "../../kernel/config/table.ts";
import type { ConfigFinding } from "./findings.ts";
import { JsonRanges } from "./json-ranges.ts";
import { type TextRange, spanOf } from "./source-ranges.ts";
import {
  type DiagnoseSyntax,
  type SyntaxHint,
  hintFor,
  invalidFile,
  replacementHint,
  type ParserPosition,
  spotOf,
  valueHint,
} from "./syntax-hint.ts";

export type JsonReading =
  | { readonly ok: true; readonly table: SettingsTable; readonly places: JsonRanges }
  | { readonly ok: false; readonly finding: ConfigFinding };

export function readJsonSyntax(text: string): JsonReading {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  const lines = text.split(/\r?\n/);
  if (error !== undefined || root === undefined) return { ok: false, finding: syntaxFinding(text, lines, error) };
  const places = new JsonRanges(text, root);
  const table: unknown = getNodeValue(root);
  if (!isTable(table)) return { ok: false, finding: notAnObject(lines, places.rangeOf(root)) };
  const [repeated] = repeatedNames(root);
  if (repeated !== undefined) return { ok: false, finding: writtenTwice(lines, places, repeated) };
  return { ok: true, table, places };
}

function notAnObject(lines: readonly string[], range: TextRange): ConfigFinding {
  const hint = { help: "write { before the settings, and } after them", range: { ...range, endLine: range.line } };
  return invalidFile("json-invalid", INVALID + "it is no object", spotOf(lines, range, ""), hint);
}

interface Repeated {
  readonly name: string;
  readonly first: Node;
  readonly second: Node;
}

function repeatedNames(node: Node): readonly Repeated[] {
  const seen = new Map<unknown, Node>();
  const repeated: Repeated[] = [];
  for (const child of node.children ?? []) {
    const [key] = child.children ?? [];
    const name: unknown = child.type === "property" ? key?.value : null;
    const first = seen.get(name);
    if (key !== undefined && typeof name === "string") {
      if (first !== undefined) repeated.push({ name, first, second: key });
      seen.set(name, key);
    }
    repeated.push(...repeatedNames(child));
  }
  return repeated;
}

function writtenTwice(lines: readonly string[], places: JsonRanges, { name, first, second }: Repeated): ConfigFinding {
  const range = places.rangeOf(second);
  const help = "write each name of an object once: remove one of the two";
  const message = `${INVALID}"${name}" is written twice, and Wrangler ignores the first`;
  const finding = invalidFile("json-invalid", message, spotOf(lines, range, ""), { help, range });
  return { ...finding, related: [{ path: "", label: "the first", range: places.rangeOf(first) }] };
}

const INVALID = "the file is not valid JSON: ";

/** The parser's reasons, as `printParseErrorCode` names them. */
const REASONS: Readonly<Record<string, string>> = {
  InvalidSymbol: "this is no value and no name",
  InvalidNumberFormat: "this is no number",
  PropertyNameExpected: "a name in double quotes is missing",
  ValueExpected: "a value is missing",
  ColonExpected: "a colon is missing",
  CommaExpected: "a comma is missing",
  CloseBraceExpected: "a } is missing",
  CloseBracketExpected: "a ] is missing",
  EndOfFileExpected: "the file goes on behind its end",
  UnexpectedEndOfComment: "a comment has no end",
  UnexpectedEndOfString: "text has no end",
  UnexpectedEndOfNumber: "this is no number",
  InvalidUnicode: "\\u has four hex digits",
  InvalidEscapeCharacter: "there is no such escape",
  InvalidCharacter: "text holds a control character",
};

/** Without an error, the text has nothing in it. */
function syntaxFinding(text: string, lines: readonly string[], error: ParseError | undefined): ConfigFinding {
  const name = error === undefined ? "ValueExpected" : printParseErrorCode(error.error);
  const offset = Math.min(error?.offset ?? 0, text.trimEnd().length);
  const before = text.slice(0, offset).split("\n");
  const place = { line: before.length, column: (before.at(-1) ?? "").length + 1 };
  const spot = spotOf(lines, place, name);
  const hint = hintFor(spot, lines, FIRST, DIAGNOSES) ?? structureHint(text, offset, spot);
  return invalidFile("json-invalid", INVALID + (REASONS[name] ?? name), spot, hint);
}

const FIRST: readonly DiagnoseSyntax[] = [nothing, otherFormat];
const DIAGNOSES: readonly DiagnoseSyntax[] = [
  hashComment,
  equalsForColon,
  singleQuotes,
  unquotedName,
  backslash,
  unclosedText,
  control,
  unquotedValue,
];

function nothing(_spot: ParserPosition, lines: readonly string[]): SyntaxHint | null {
  if (lines.some((line) => /^\s*(?!\/\/)\S/.test(line))) return null;
  return { help: "write the settings between { and }", range: spanOf(1, 0, " ") };
}

function otherFormat(_spot: ParserPosition, lines: readonly string[]): SyntaxHint | null {
  const at = lines.findIndex((line) => /\S/.test(line) && !/^\s*(?:#|\/\/)/.test(line));
  if (!/^\s*(?:\[[^\]"]*\w[^\]"]*\]|[\w.-]+\s*=[^=])/.test(lines[at] ?? "")) return null;
  const help = "write the settings as JSON, or name the file wrangler.toml";
  return { help, range: spanOf(at + 1, 0, (lines[at] ?? "").trimEnd()) };
}

function hashComment({ line, number, at }: ParserPosition): SyntaxHint | null {
  return line[at] === "#" ? replacementHint(number, at, "#", "//", "write // before a comment") : null;
}

function equalsForColon({ line, number, at }: ParserPosition): SyntaxHint | null {
  const match = /^\s*[{,]?\s*"?[\w.-]+"?(\s*=+)/.exec(line);
  if (match?.[1] === undefined || match[0].length < at) return null;
  const start = match[0].length - match[1].length;
  return replacementHint(number, start, match[1], ":", "write : between a name and its value");
}

function singleQuotes({ line, number, at }: ParserPosition): SyntaxHint | null {
  const match = /^'([^'"]*)'/.exec(line.slice(at));
  if (match === null) return null;
  return replacementHint(number, at, match[0], JSON.stringify(match[1] ?? ""), 'write double quotes, "…"');
}

function unquotedName({ line, number, at }: ParserPosition): SyntaxHint | null {
  const match = /^([A-Za-z_$][\w$.-]*)\s*:/.exec(line.slice(at));
  if (match?.[1] === undefined) return null;
  return replacementHint(number, at, match[1], JSON.stringify(match[1]), "write names in double quotes");
}

/** A regular expression, or a path of Windows. */
function backslash({ line, number, at, reason }: ParserPosition): SyntaxHint | null {
  if (reason !== "InvalidEscapeCharacter") return null;
  const match = /^"(?:[^"\\]|\\.)*"/.exec(line.slice(at));
  if (match === null) return null;
  const written = match[0].replaceAll(/\\(?!["\\/bfnrtu])/g, "\\\\");
  return replacementHint(number, at, match[0], written, "write \\\\ for a backslash");
}

function unclosedText({ line, number, at, reason }: ParserPosition): SyntaxHint | null {
  const text = line.slice(at).trimEnd();
  if (reason !== "UnexpectedEndOfString" || text === "") return null;
  const written = text.endsWith(",") ? `${text.slice(0, -1)}",` : `${text}"`;
  return replacementHint(number, at, text, written, "close the text with a quote on the same line");
}

function control({ reason }: ParserPosition): SyntaxHint | null {
  return reason === "InvalidCharacter" ? { help: "write \\t for a tab" } : null;
}

function unquotedValue({ line, number, at, reason }: ParserPosition): SyntaxHint | null {
  if (reason !== "InvalidSymbol") return null;
  // A number with a unit is read up to the unit.
  const start = /[\w./+-]*$/.exec(line.slice(0, at))?.index ?? at;
  const [value] = /^[^\s,[\]{}":;]+(?::\/\/[^\s,\]}"]+)?/.exec(line.slice(start)) ?? [];
  if (value === undefined) return null;
  if (/^(?:none|nil|undefined|nan)$/i.test(value)) {
    const help = "leave the member out: a setting that is not written has its default";
    return { help, range: spanOf(number, start, value) };
  }
  return valueHint(number, start, value, "write text in double quotes");
}

interface Token {
  readonly offset: number;
  readonly text: string;
}

/** What brackets, commas and colons say. */
function structureHint(text: string, offset: number, { line, number, at, reason }: ParserPosition): SyntaxHint | null {
  const open = reason === "UnexpectedEndOfComment" ? null : unclosed(text, offset);
  if (open !== null) return open;
  switch (reason) {
    case "CommaExpected": {
      const before = tokensOf(text).findLast((token) => token.offset < offset);
      const end = before === undefined ? offset : before.offset + before.text.length;
      return {
        help: "write a comma between the two",
        text: ",",
        at: pointAt(text, end),
        range: wordAt(line, number, at),
      };
    }
    case "ColonExpected":
      return { help: "write : between a name and its value", range: wordAt(line, number, at) };
    case "EndOfFileExpected":
      return { help: "remove what stands behind the last }, or one } before it", range: wordAt(line, number, at) };
    case "PropertyNameExpected":
      return line[at] === ","
        ? replacementHint(number, at, ",", "", "remove one of the two commas")
        : { help: "write names in double quotes", range: wordAt(line, number, at) };
    case "ValueExpected":
      return { help: "write a value here, or remove the name before it", range: wordAt(line, number, at) };
    case "UnexpectedEndOfComment":
      return { help: "close the comment with */", range: spanOf(number, at, "/*") };
    default:
      return null;
  }
}

/** The bracket that is open where the text ends, or where another kind of bracket closes. */
function unclosed(text: string, offset: number): SyntaxHint | null {
  const open: Token[] = [];
  for (const token of tokensOf(text)) {
    const last = open.at(-1);
    if (token.text === "{" || token.text === "[") open.push(token);
    else if (token.text === "}" || token.text === "]") {
      if (last !== undefined && token.offset >= offset && CLOSING.get(last.text) !== token.text) break;
      open.pop();
    } else if (token.offset >= offset) return null;
  }
  const last = open.at(-1);
  if (last === undefined) return null;
  const { line, column } = pointAt(text, last.offset);
  const help = `close this ${last.text} with a ${CLOSING.get(last.text) ?? ""}`;
  return { help, range: spanOf(line, column - 1, last.text) };
}

const CLOSING: ReadonlyMap<string, string> = new Map([
  ["{", "}"],
  ["[", "]"],
]);

/** Without comments and space. */
function tokensOf(text: string): readonly Token[] {
  const scanner = createScanner(text, true);
  const tokens: Token[] = [];
  while (scanner.getPosition() < text.length) {
    scanner.scan();
    const length = scanner.getTokenLength();
    if (length === 0) break;
    const offset = scanner.getTokenOffset();
    tokens.push({ offset, text: text.slice(offset, offset + length) });
  }
  return tokens;
}

function pointAt(text: string, offset: number): TextRange {
  const before = text.slice(0, offset).split("\n");
  return spanOf(before.length, (before.at(-1) ?? "").length, "");
}

function wordAt(line: string, number: number, at: number): TextRange {
  return spanOf(number, at, /^(?:"(?:[^"\\]|\\.)*"|[^\s,:[\]{}"]+)/.exec(line.slice(at))?.[0] ?? " ");
}
