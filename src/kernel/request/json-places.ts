// Where values stand in a JSON text (RFC 8259), by JSON pointers, without building what the text says: a text of a MiB costs no more memory than
// itself. The work is done in slices.

import { canonicalNumber, MAX_JSON_DEPTH, type UnreadJson } from "./json.ts";
import type { JsonValue } from "./json-pointer.ts";

/** The largest text in which places are looked for. */
export const MAX_PLACED_BYTES = 1 << 20;

/** A value: from its first character to behind its last one, in UTF-16 code units of the text. */
export interface JsonPlace {
  readonly kind: "string" | "number" | "literal" | "array" | "object";
  readonly from: number;
  readonly to: number;
}

/**
 * What is at a pointer; `null`: nothing. `ambiguous`: two readers may take different values, because a name on the way is there twice or, where that is
 * asked for, in another case: some servers take either.
 */
export type FoundPlace = JsonPlace | "ambiguous" | null;

/** Whether a name in another case makes its pointer ambiguous. */
export type OtherCase = "another name" | "ambiguous";

/** About how many characters are read between two pauses. */
const SLICE = 16 * 1024;
/** The first slice: code that is not yet compiled is thirty times slower. */
const FIRST_SLICE = 2048;

/** A container whose end has not been read. */
interface OpenContainer {
  readonly isArray: boolean;
  readonly from: number;
  /** The pointers that lead into it. */
  readonly pointers: readonly number[];
  /** Those that end at it. */
  readonly ends: readonly number[];
  /** Of an array: those that lead on, by their next tokens. */
  readonly byToken: ReadonlyMap<string | undefined, readonly number[]>;
  /** Those that lead on through a member that has been read. */
  readonly taken: Set<number>;
  /** The pointers of the value that comes next. */
  next: readonly number[];
  index: number;
}

/** What may come next. */
interface Expected {
  readonly isValue: boolean;
  readonly isName: boolean;
  readonly isComma: boolean;
  /** The end of the container. */
  readonly isEnd: boolean;
}

const NOTHING: Expected = { isValue: false, isName: false, isComma: false, isEnd: false };
const VALUE: Expected = { ...NOTHING, isValue: true };
const NAME: Expected = { ...NOTHING, isName: true };
const FIRST_ELEMENT: Expected = { ...VALUE, isEnd: true };
const FIRST_NAME: Expected = { ...NAME, isEnd: true };
const COMMA_OR_END: Expected = { ...NOTHING, isComma: true, isEnd: true };

const NO_POINTERS: readonly number[] = [];
const NO_TOKENS: OpenContainer["byToken"] = new Map();

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of a body; `null`: it is not UTF-8. Encoded, it is the same bytes again. */
export function textOfJson(body: Uint8Array): string | null {
  try {
    return decoder.decode(body);
  } catch {
    return null;
  }
}

/** What stands at a place. It does not hold a large text in memory, so it may outlive the text. */
export function copiedText(text: string, { from, to }: JsonPlace): string {
  const part = text.slice(from, to);
  return text.length <= SLICE || part.length <= COPIED_LENGTH ? part : decoder.decode(encoder.encode(part));
}

/** The runtime copies as much of a text itself. */
const COPIED_LENGTH = 12;

/** Pauses after each slice of its work. */
export function* findPlaces(
  text: string,
  pointers: readonly (readonly string[])[],
  otherCase: OtherCase = "another name",
): Generator<undefined, readonly FoundPlace[] | UnreadJson> {
  const found: FoundPlace[] = pointers.map(() => null);
  const open: OpenContainer[] = [];
  let expected = VALUE;
  let at = 0;
  let slice = FIRST_SLICE;
  let pauseAt = text.length > SLICE ? slice : SLICE;
  const place = (numbers: readonly number[], value: JsonPlace): void => {
    for (const number of numbers) if (found[number] === null) found[number] = value;
  };
  for (;;) {
    at = afterSpace(text, at);
    if (at >= pauseAt) {
      slice = Math.min(2 * slice, SLICE);
      pauseAt = at + slice;
      yield;
    }
    const inner = open.at(-1);
    const sign = text[at];
    if (inner !== undefined && expected.isComma && sign === ",") {
      inner.index += 1;
      expected = inner.isArray ? VALUE : NAME;
      at += 1;
      continue;
    }
    if (inner !== undefined && expected.isEnd && sign === (inner.isArray ? "]" : "}")) {
      open.pop();
      at += 1;
      place(inner.ends, { kind: inner.isArray ? "array" : "object", from: inner.from, to: at });
    } else if (inner !== undefined && expected.isName) {
      const to = sign === '"' ? endOfString(text, at) : null;
      if (to === null) return "not JSON";
      const colon = afterSpace(text, to);
      if (text[colon] !== ":") return "not JSON";
      inner.next =
        inner.pointers.length === 0
          ? NO_POINTERS
          : pointersAt(inner, stringAt(text, at, to), { depth: open.length - 1, pointers, found, otherCase });
      expected = VALUE;
      at = colon + 1;
      continue;
    } else if (expected.isValue) {
      const own = ownPointers(inner, pointers);
      const ends = own.length === 0 ? own : own.filter((number) => pointers[number]?.length === open.length);
      if (sign === "{" || sign === "[") {
        if (open.length === MAX_JSON_DEPTH) return "too deep";
        const isArray = sign === "[";
        // An array has many elements, and asks for none of them one by one.
        const depth = open.length;
        const byToken = isArray && own.length > 0 ? Map.groupBy(own, (number) => pointers[number]?.[depth]) : NO_TOKENS;
        open.push({ isArray, from: at, pointers: own, ends, byToken, taken: new Set(), next: [], index: 0 });
        expected = isArray ? FIRST_ELEMENT : FIRST_NAME;
        at += 1;
        continue;
      }
      const scalar = scalarFrom(text, at);
      if (scalar === null) return "not JSON";
      place(ends, scalar);
      at = scalar.to;
    } else {
      return "not JSON";
    }
    if (open.length === 0) return afterSpace(text, at) === text.length ? found : "not JSON";
    expected = COMMA_OR_END;
  }
}

interface Matching {
  /** Which token of the pointers counts. */
  readonly depth: number;
  readonly pointers: readonly (readonly string[])[];
}

/** The pointers that lead to a value in `inner`; without it, to the whole text. */
function ownPointers(inner: OpenContainer | undefined, pointers: readonly unknown[]): readonly number[] {
  if (inner === undefined) return [...pointers.keys()];
  if (!inner.isArray) return inner.next;
  if (inner.byToken.size === 0) return NO_POINTERS;
  return inner.byToken.get(String(inner.index)) ?? NO_POINTERS;
}

/** The pointers that lead to the member of this name. Those for which another one stands already become ambiguous. */
function pointersAt(
  { pointers: numbers, taken }: OpenContainer,
  name: string,
  { depth, pointers, found, otherCase }: Matching & { readonly found: FoundPlace[]; readonly otherCase: OtherCase },
): readonly number[] {
  const leading: number[] = [];
  for (const number of numbers) {
    const token = pointers[number]?.[depth];
    if (token === undefined) continue;
    const isSame = token === name;
    if (!isSame && (otherCase === "another name" || !isSameInAnyCase(name, token))) continue;
    if (isSame && !taken.has(number)) {
      taken.add(number);
      leading.push(number);
    } else {
      found[number] = "ambiguous";
    }
  }
  return leading;
}

/** As readers fold the case of ASCII letters, some of which take `ſ` and `K` (U+017F, U+212A) for letters too. */
function isSameInAnyCase(one: string, other: string): boolean {
  return folded(one) === folded(other);
}

function folded(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** The first character from there on that is no space. */
export function afterSpace(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;) {
    at += 1;
    code = text.charCodeAt(at);
  }
  return at;
}

/** Where the string ends that begins here; `null`: nowhere, or it is none of JSON. */
function endOfString(text: string, from: number): number | null {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code < 0x20) return null;
    if (code !== 0x5c) continue;
    const escaped = text.charAt(at + 1);
    if (escaped === "u" && FOUR_DIGITS.test(text.slice(at + 2, at + 6))) at += 5;
    else if (escaped !== "" && ESCAPED.includes(escaped)) at += 1;
    else return null;
  }
  return null;
}

/** A string may have a million escapes, and is read without a pause. */
const ESCAPED = '"\\/bfnrt';
const FOUR_DIGITS = /^[0-9a-fA-F]{4}$/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERALS = ["true", "false", "null"];

function scalarFrom(text: string, from: number): JsonPlace | null {
  if (text[from] === '"') {
    const to = endOfString(text, from);
    return to === null ? null : { kind: "string", from, to };
  }
  const literal = LITERALS.find((one) => text.startsWith(one, from));
  if (literal !== undefined) return { kind: "literal", from, to: from + literal.length };
  NUMBER.lastIndex = from;
  return NUMBER.test(text) ? { kind: "number", from, to: NUMBER.lastIndex } : null;
}

/** A string without its quotes and escapes. */
function stringAt(text: string, from: number, to: number): string {
  const inner = text.slice(from + 1, to - 1);
  return inner.includes("\\") ? String(JSON.parse(text.slice(from, to))) : inner;
}

/** The value at a place. */
export function valueAt(text: string, { kind, from, to }: JsonPlace): JsonValue {
  switch (kind) {
    case "string":
      return { kind: "string", text: stringAt(text, from, to) };
    case "number": {
      const canonical = canonicalNumber(text.slice(from, to));
      return canonical === null ? { kind: "imprecise" } : { kind: "number", text: canonical };
    }
    case "literal":
      return { kind: "literal", text: text.slice(from, to) };
    case "array":
    case "object":
      return { kind: "container" };
  }
}

/**
 * The text without the values at the places: a member goes with its name and a comma, for an element there is a mark that no JSON text has. Texts that
 * are equal without them differ in nothing else that a reader finds.
 */
export function withoutPlaces(text: string, places: readonly JsonPlace[]): string {
  let kept = "";
  let from = 0;
  for (const place of places.toSorted((one, other) => one.from - other.from)) {
    if (place.from < from) continue;
    const name = nameBefore(text, place);
    kept += text.slice(from, name ?? place.from);
    from = place.to;
    if (name === null) kept += "!";
    else if (text[afterSpace(text, from)] === ",") from = afterSpace(text, afterSpace(text, from) + 1);
    // It was the last member, so the one before it has no comma any more.
    else kept = withoutComma(kept);
  }
  return kept + text.slice(from);
}

function withoutComma(text: string): string {
  const end = beforeSpace(text, text.length);
  return text.slice(0, text[end - 1] === "," ? end - 1 : end);
}

/** Where the name of a member begins; `null`: the value is no member's. */
export function nameBefore(text: string, { from }: JsonPlace): number | null {
  const colon = beforeSpace(text, from) - 1;
  return text[colon] === ":" ? startOfString(text, beforeSpace(text, colon) - 1) : null;
}

/** The quotation mark that opens the string which the one at `end` closes: the last one before it that no backslash escapes. */
function startOfString(text: string, end: number): number {
  let at = end;
  do at = text.lastIndexOf('"', at - 1);
  while (isEscaped(text, at));
  return at;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes += 1;
  return backslashes % 2 === 1;
}

/** Behind the last character before `to` that is no space. */
export function beforeSpace(text: string, to: number): number {
  let at = to;
  while (at > 0 && " \t\r\n".includes(text.charAt(at - 1))) at -= 1;
  return at;
}
