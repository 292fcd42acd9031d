// The tokens of a JSON text (RFC 8259), one after the other. Whether they make a value is for who reads them.

/** A bracket, comma or colon is its own kind. */
export type JsonTokenKind = "string" | "number" | "literal" | "end" | "{" | "}" | "[" | "]" | "," | ":";

export interface JsonToken {
  readonly kind: JsonTokenKind;
  /** As it is written: a string with its quotes and escapes. */
  readonly written: string;
  /** Where it ends in the text. */
  readonly end: number;
}

const SPACES = " \t\n\r";
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["/\\bfnrt]|u[\dA-Fa-f]{4})[ !#-[\]-\uffff]*)*"/y;
const LITERAL = /true|false|null/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?/y;

/** The first token from here on; `null` if what is here is none. */
export function jsonTokenAt(text: string, at: number): JsonToken | null {
  let begin = at;
  let first = text.charAt(begin);
  while (first !== "" && SPACES.includes(first)) first = text.charAt(++begin);
  switch (first) {
    case "":
      return { kind: "end", written: "", end: begin };
    case "{":
    case "}":
    case "[":
    case "]":
    case ",":
    case ":":
      return { kind: first, written: first, end: begin + 1 };
    case '"':
      return matched("string", STRING, text, begin);
    case "t":
    case "f":
    case "n":
      return matched("literal", LITERAL, text, begin);
    default:
      return matched("number", NUMBER, text, begin);
  }
}

function matched(kind: JsonTokenKind, pattern: RegExp, text: string, begin: number): JsonToken | null {
  pattern.lastIndex = begin;
  if (!pattern.test(text)) return null;
  const end = pattern.lastIndex;
  return { kind, written: text.slice(begin, end), end };
}

/** What a string token says. */
export function stringValue(written: string): string {
  return written.includes("\\") ? String(JSON.parse(written)) : written.slice(1, -1);
}
