// What to do about a file that is not TOML: the mistakes of people who know other formats, each told from the line on which the parser
// gave up. The parser's own reason stands beside it.

import type { TomlError } from "smol-toml";

import { secretStart } from "../../config/check-secrets.ts";
import type { Finding } from "./findings.ts";
import type { Range } from "./toml-places.ts";

interface Hint {
  readonly help: string;
  readonly range?: Range;
  /** Replaces the range. */
  readonly text?: string;
}

interface Spot {
  readonly line: string;
  readonly number: number;
  /** From 0. */
  readonly at: number;
  /** The parser's. */
  readonly reason: string;
}

type Diagnose = (spot: Spot, lines: readonly string[]) => Hint | null;

export function syntaxFinding(text: string, { line: number, column, message }: TomlError): Finding {
  const lines = text.split(/\r?\n/);
  const [reason = ""] = message.replace("Invalid TOML document: ", "").split("\n");
  const spot: Spot = { line: lines[number - 1] ?? "", number, at: column - 1, reason };
  const hint = DIAGNOSES.map((diagnose) => diagnose(spot, lines)).find((one) => one !== null);
  const range = hint?.range ?? { line: number, column, endLine: number, endColumn: column + 1 };
  return {
    severity: "error",
    code: "toml-invalid",
    path: "",
    message: `the file is not valid TOML: ${reason}`,
    help: hint?.help ?? null,
    range,
    related: [],
    fix: hint?.text === undefined || secretStart(spot.line) !== null ? null : { range, text: hint.text },
  };
}

const DIAGNOSES: readonly Diagnose[] = [
  otherFormat,
  mergeConflict,
  curlyQuotes,
  colonForEquals,
  doubleEquals,
  slashComment,
  unclosedHeader,
  writtenAgain,
  unclosedText,
  unquoted,
];

function otherFormat({ number, line }: Spot): Hint | null {
  if (number !== 1 || !/^\s*\{/.test(line)) return null;
  return { help: "write the settings as TOML; a file in JSON is a wrangler.jsonc, which this check does not read" };
}

function mergeConflict({ line }: Spot): Hint | null {
  const [marker] = /^(?:<{7}|={7}|>{7}|\|{7}).*/.exec(line) ?? [];
  return marker === undefined
    ? null
    : { help: "resolve the merge conflict: keep one of the two versions, and remove this line" };
}

function curlyQuotes({ line, number, at }: Spot): Hint | null {
  const match = /[“”„‘’]([^“”„‘’]*)[“”‘’]/.exec(line);
  if (match === null || at < match.index || at > match.index + 1) return null;
  return replacing(number, match.index, match[0], `"${match[1] ?? ""}"`, 'write straight quotes, "…"');
}

function colonForEquals({ line, number }: Spot): Hint | null {
  const match = /^\s*[\w-]+(\s*:)\s*\S/.exec(line);
  if (match?.[1] === undefined) return null;
  return replacing(number, line.indexOf(match[1]), match[1], " =", "write = between a name and its value");
}

function doubleEquals({ line, number }: Spot): Hint | null {
  const match = /^\s*[\w-]+\s*(==+)/.exec(line);
  if (match?.[1] === undefined) return null;
  return replacing(number, line.indexOf(match[1]), match[1], "=", "write one = between a name and its value");
}

function slashComment({ line, number }: Spot): Hint | null {
  const match = /^\s*(\/\/)/.exec(line);
  return match === null ? null : replacing(number, line.indexOf("//"), "//", "#", "write # before a comment");
}

function unclosedHeader({ line, number }: Spot): Hint | null {
  const match = /^\s*(\[\[?)([^[\]#]+)(\]?)\s*(?:#.*)?$/.exec(line);
  if (match === null || match[1] === undefined || match[1] === `[${match[3] === "]" ? "" : "["}`) return null;
  const [, open = "", name = ""] = match;
  const closed = `${open}${name.trim()}${open.replaceAll("[", "]")}`;
  const written = `${open}${name}${match[3] ?? ""}`.trimEnd();
  return replacing(number, line.indexOf("["), written, closed, `write ${closed}`);
}

function writtenAgain({ line, number, reason }: Spot, lines: readonly string[]): Hint | null {
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
  const isList = /\b(?:ROUTES|QUEUES|CONSUMERS|DESTINATIONS)\w*$/.test(name);
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

function unclosedText({ line, number, reason }: Spot): Hint | null {
  if (!/strings?|quote/.test(reason)) return null;
  const match = /=\s*("(?:[^"\\]|\\.)*|'[^']*)$/.exec(line.trimEnd());
  const text = match?.[1];
  if (text === undefined) return null;
  return replacing(
    number,
    line.lastIndexOf(text),
    text,
    text + text.charAt(0),
    "close the text with a quote on the same line",
  );
}

const WORDS: Readonly<Record<string, string>> = {
  true: "true",
  yes: "true",
  on: "true",
  false: "false",
  no: "false",
  off: "false",
};

function unquoted({ line, number }: Spot): Hint | null {
  const match = /^(\s*[\w."-]+\s*=\s*)([^\s"'[{#][^#]*?)\s*(?:#.*)?$/.exec(line);
  const [, before = "", value = ""] = match ?? [];
  if (value === "" || /^[\d.+-]+$/.test(value)) return null;
  const word = WORDS[value.toLowerCase()];
  if (word !== undefined) return replacing(number, before.length, value, word, `write ${word}, in lower case`);
  if (/^(?:null|none|nil|undefined)$/i.test(value)) {
    return {
      help: "leave the line out: a setting that is not written has its default",
      range: spanOf(number, before.length, value),
    };
  }
  return replacing(number, before.length, value, JSON.stringify(value), "write text in quotes");
}

function replacing(number: number, at: number, written: string, text: string, help: string): Hint {
  return { help, range: spanOf(number, at, written), text };
}

function spanOf(line: number, at: number, text: string): Range {
  return { line, column: at + 1, endLine: line, endColumn: at + 1 + text.length };
}
