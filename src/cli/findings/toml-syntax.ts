// What to do about a file that is not TOML: the mistakes of people who know other formats, each recognized by the line on which the parser
// gave up. The parser's own reason stands beside it.

import type { TomlError } from "smol-toml";

import { LIST_VARIABLES } from "../variables.ts";
import type { ConfigFinding } from "./findings.ts";
import { spanOf } from "./source-ranges.ts";
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

export function syntaxFinding(text: string, error: TomlError): ConfigFinding {
  const lines = text.split(/\r?\n/);
  const [reason = ""] = error.message.replace("Invalid TOML document: ", "").split("\n");
  const spot = spotOf(lines, error, reason);
  const hint = hintFor(spot, lines, [otherFormat], DIAGNOSES);
  return invalidFile("toml-invalid", `the file is not valid TOML: ${reason}`, spot, hint);
}

const DIAGNOSES: readonly DiagnoseSyntax[] = [
  colonForEquals,
  doubleEquals,
  slashComment,
  unclosedHeader,
  writtenAgain,
  unclosedText,
  unquoted,
  unquotedInside,
  unclosedStructure,
];

function otherFormat({ number, line }: ParserPosition): SyntaxHint | null {
  if (number !== 1 || !/^\s*\{/.test(line)) return null;
  return { help: "write the settings as TOML, or name the file wrangler.jsonc" };
}

function colonForEquals({ line, number }: ParserPosition): SyntaxHint | null {
  const match = /^\s*[\w-]+(\s*:)\s*\S/.exec(line);
  if (match?.[1] === undefined) return null;
  return replacementHint(number, line.indexOf(match[1]), match[1], " =", "write = between a name and its value");
}

function doubleEquals({ line, number }: ParserPosition): SyntaxHint | null {
  const match = /^\s*[\w-]+\s*(==+)/.exec(line);
  if (match?.[1] === undefined) return null;
  return replacementHint(number, line.indexOf(match[1]), match[1], "=", "write one = between a name and its value");
}

function slashComment({ line, number }: ParserPosition): SyntaxHint | null {
  const match = /^\s*(\/\/)/.exec(line);
  return match === null ? null : replacementHint(number, line.indexOf("//"), "//", "#", "write # before a comment");
}

function unclosedHeader({ line, number }: ParserPosition): SyntaxHint | null {
  const match = /^\s*(\[\[?)([^[\]#]+)(\]?)\s*(?:#.*)?$/.exec(line);
  if (match === null || match[1] === undefined || match[1] === `[${match[3] === "]" ? "" : "["}`) return null;
  const [, open = "", name = ""] = match;
  const closed = `${open}${name.trim()}${open.replaceAll("[", "]")}`;
  const written = `${open}${name}${match[3] ?? ""}`.trimEnd();
  return replacementHint(number, line.indexOf("["), written, closed, `write ${closed}`);
}

function writtenAgain({ line, number, reason }: ParserPosition, lines: readonly string[]): SyntaxHint | null {
  if (!reason.includes("redefine")) return null;
  const [, header] = /^\s*(\[\[?[^\]]+\]\]?)/.exec(line) ?? [];
  if (header === undefined) {
    const [, key = ""] = /^\s*([\w-]+)\s*=/.exec(line) ?? [];
    const help = "write each setting of a table once: remove one of the two";
    return isRepeated(key, number, lines) ? { help, range: spanOf(number, line.indexOf(key), key) } : null;
  }
  const name = header.replaceAll(/[[\]]/g, "").trim();
  const first = lines.findIndex((one, index) => index < number - 1 && one.replaceAll(/[[\]\s]|#.*/g, "") === name);
  if (first < 0) return null;
  const isList = LIST_VARIABLES.some(([begin]) => name.split(".").at(-1)?.startsWith(begin) === true);
  const advice = isList
    ? `write [[${name}]], with two brackets, above each entry`
    : "put these settings there, because a table is written once";
  return {
    help: `line ${first + 1} opens ${name} already: ${advice}`,
    range: spanOf(number, line.indexOf(header), header),
  };
}

/** Whether the table of this line has the key already. */
function isRepeated(key: string, number: number, lines: readonly string[]): boolean {
  for (let at = number - 2; at >= 0; at -= 1) {
    const line = lines[at]?.trim() ?? "";
    if (line.startsWith("[")) return false;
    if (new RegExp(`^${key}\\s*=`).test(line)) return true;
  }
  return false;
}

function unclosedText({ line, number, reason }: ParserPosition): SyntaxHint | null {
  if (!/strings?|quote/.test(reason)) return null;
  const match = /=\s*("(?:[^"\\]|\\.)*|'[^']*)$/.exec(line.trimEnd());
  const text = match?.[1];
  if (text === undefined) return null;
  return replacementHint(
    number,
    line.lastIndexOf(text),
    text,
    text + text.charAt(0),
    "close the text with a quote on the same line",
  );
}

function unquoted({ line, number }: ParserPosition): SyntaxHint | null {
  const match = /^(\s*[\w."-]+\s*=\s*)([^\s"'[{#][^#]*?)\s*(?:#.*)?$/.exec(line);
  const [, before = "", value = ""] = match ?? [];
  if (value === "" || /^[\d.+-]+$/.test(value)) return null;
  if (/^(?:null|none|nil|undefined)$/i.test(value)) {
    return {
      help: "leave the line out: a setting that is not written has its default",
      range: spanOf(number, before.length, value),
    };
  }
  return valueHint(number, before.length, value, "write text in quotes");
}

/** In a list or an inline table. */
function unquotedInside({ line, number, at }: ParserPosition): SyntaxHint | null {
  const [value] = /^[A-Za-z/][^\s,\]}"'=]*/.exec(line.slice(at)) ?? [];
  if (value === undefined || !/[=[,{]\s*$/.test(line.slice(0, at))) return null;
  return valueHint(number, at, value, "write text in quotes");
}

/** A list or an inline table that goes on into what follows it. */
function unclosedStructure({ number, reason }: ParserPosition, lines: readonly string[]): SyntaxHint | null {
  if (!reason.includes("structure")) return null;
  const first = lines.findLastIndex((line, index) => index < number && /^[^#]*=\s*[[{]/.test(line));
  const open: { readonly sign: string; readonly line: number; readonly at: number }[] = [];
  for (const [index, line] of lines.slice(first, number).entries()) {
    for (const match of line.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|#.*$|[[\]{}]/g)) {
      if (/^[[{]$/.test(match[0])) open.push({ sign: match[0], line: first + index + 1, at: match.index });
      else if (/^[\]}]$/.test(match[0])) open.pop();
    }
  }
  const last = open.findLast(({ line }) => line < number) ?? open.at(-1);
  if (first < 0 || last === undefined) return null;
  const closing = last.sign === "[" ? "]" : "}";
  return { help: `close this ${last.sign} with a ${closing}`, range: spanOf(last.line, last.at, last.sign) };
}
