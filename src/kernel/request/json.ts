// Reads a JSON text (RFC 8259) into values that can be followed by pointers, each with its canonical form (RFC 8785). Tokens come from
// jsonc-parser's scanner; what it takes beyond JSON, such as comments, is refused here. The work is done in slices, so that an expensive
// body does not block other requests in the isolate.

import { createScanner, type JSONScanner } from "jsonc-parser";

/** The largest text that is read. A value may take fifty times the room of its text, and an isolate has 128 MB. */
export const MAX_JSON_BYTES = 256 * 1024;

/** The deepest nesting of containers that is read. */
export const MAX_JSON_DEPTH = 1000;

/** `canonical`: the canonical form; `null` if two readers may take different values from the text. */
export type JsonNode = { readonly canonical: string | null } & (
  | { readonly kind: "string"; readonly text: string }
  /** As it is written. */
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "array"; readonly elements: readonly JsonNode[]; readonly span?: JsonSpan }
  /** In the order of their names, if it has a canonical form. */
  | { readonly kind: "object"; readonly members: readonly JsonMember[]; readonly span?: JsonSpan }
);

/** Where a container stands in its text, in UTF-16 code units; only where values are searched for. */
export type JsonSpan = readonly [from: number, to: number];

export interface JsonMember {
  readonly name: string;
  /** The name as the canonical form has it; `null` if it has an unpaired surrogate. */
  readonly written: string | null;
  readonly node: JsonNode;
}

/** Why a text has no values. */
export type UnreadJson = "not JSON" | "too large" | "too deep";

/** About how many characters are read between two pauses; takes a millisecond. */
const SLICE = 16 * 1024;
/** The first slice of a larger text; then slices double, because code that is not yet compiled is thirty times slower. */
const FIRST_SLICE = 1024;
/** How many members are sorted at once. */
const SORTED_AT_ONCE = 4096;

/** The kinds of tokens (jsonc-parser's `SyntaxKind`, which exists only where its types are compiled in). */
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY, COMMA, COLON] = [1, 2, 3, 4, 5, 6];
const [NULL, TRUE, FALSE, STRING, NUMBER, LINE_BREAK, SPACE, END] = [7, 8, 9, 10, 11, 14, 15, 17];

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What may come next. */
type Expected = "value" | "value or end" | "name" | "name or end" | "colon" | "comma or end";

/** A container whose end has not been read. */
interface Open {
  readonly isArray: boolean;
  /** Where it begins; `null`: nobody asks. */
  readonly from: number | null;
  readonly elements: JsonNode[];
  readonly members: JsonMember[];
  /** The canonical form so far, without the brackets. */
  canonical: string | null;
  isInOrder: boolean;
  name: string;
  written: string | null;
}

/** Whether all values are compared, or only some are looked for: then containers have no canonical form. */
export type JsonUse = "compared" | "searched";

/** Pauses after each slice of its work. */
export function* scanJson(body: Uint8Array, use: JsonUse): Generator<undefined, JsonNode | UnreadJson> {
  if (body.byteLength > MAX_JSON_BYTES) return "too large";
  const text = decoded(body);
  return text === null ? "not JSON" : yield* scanText(text, use);
}

/** The same of a text, which may have as many UTF-16 code units. */
export function* scanText(text: string, use: JsonUse): Generator<undefined, JsonNode | UnreadJson> {
  if (text.length > MAX_JSON_BYTES) return "too large";
  const scanner = createScanner(text);
  const open: Open[] = [];
  let expected: Expected = "value";
  let root: JsonNode | null = null;
  let slice = text.length > SLICE ? FIRST_SLICE : SLICE;
  let pauseAt = slice;
  for (;;) {
    if (scanner.getPosition() >= pauseAt) {
      slice = Math.min(2 * slice, SLICE);
      pauseAt = scanner.getPosition() + slice;
      yield;
    }
    const token: number = scanner.scan();
    if (token === SPACE || token === LINE_BREAK) continue;
    const inner: Open | undefined = open.at(-1);
    const isValue = expected === "value" || expected === "value or end";
    let node: JsonNode;
    if (token === STRING && !isBroken(scanner) && inner !== undefined && expected.startsWith("name")) {
      inner.name = scanner.getTokenValue();
      inner.written = canonicalString(text, scanner);
      expected = "colon";
      continue;
    } else if (token === COLON && expected === "colon") {
      expected = "value";
      continue;
    } else if (token === COMMA && expected === "comma or end" && inner !== undefined) {
      expected = inner.isArray ? "value" : "name";
      continue;
    } else if ((token === OPEN_OBJECT || token === OPEN_ARRAY) && isValue) {
      if (open.length === MAX_JSON_DEPTH) return "too deep";
      open.push(opened(token === OPEN_ARRAY, use, scanner.getTokenOffset()));
      expected = token === OPEN_ARRAY ? "value or end" : "name or end";
      continue;
    } else if (token === (inner?.isArray === true ? CLOSE_ARRAY : CLOSE_OBJECT) && expected.endsWith("or end")) {
      const ended = open.pop();
      if (ended === undefined) return "not JSON";
      const isPlain = ended.isArray || ended.isInOrder || ended.from !== null;
      node = isPlain ? closed(ended, scanner.getPosition()) : yield* closedInOrder(ended);
    } else if (token === END && expected === "comma or end" && root !== null) {
      return root;
    } else if (isValue) {
      const scalar = scalarOf(token, text, scanner);
      if (scalar === null) return "not JSON";
      node = scalar;
    } else {
      return "not JSON";
    }
    const around = open.at(-1);
    if (around === undefined) root = node;
    else add(around, node);
    expected = "comma or end";
  }
}

function decoded(body: Uint8Array): string | null {
  try {
    return decoder.decode(body);
  } catch {
    return null;
  }
}

/** The bytes of a container, as they stand in the body. */
export function bytesAt(body: Uint8Array, [from, to]: JsonSpan): Uint8Array {
  return new TextEncoder().encode(decoder.decode(body).slice(from, to));
}

function opened(isArray: boolean, use: JsonUse, at: number): Open {
  const [canonical, from] = use === "compared" ? ["", null] : [null, at];
  return { isArray, from, elements: [], members: [], canonical, isInOrder: true, name: "", written: null };
}

/** Adds an element or a member. */
function add(open: Open, node: JsonNode): void {
  if (open.isArray) {
    const comma = open.elements.length === 0 ? "" : ",";
    open.elements.push(node);
    open.canonical =
      open.canonical === null || node.canonical === null ? null : open.canonical + comma + node.canonical;
    return;
  }
  const { name, written } = open;
  const last = open.members.at(-1);
  if (last !== undefined && last.name >= name) open.isInOrder = false;
  open.members.push({ name, written, node });
  if (written === null || node.canonical === null) open.canonical = null;
  // Out of order, it is made at the end.
  if (open.canonical === null || !open.isInOrder) return;
  open.canonical += `${last === undefined ? "" : ","}${written}:${node.canonical}`;
}

function closed({ isArray, from, elements, members, canonical }: Open, to: number): JsonNode {
  const place = from === null ? null : ({ span: [from, to] } as const);
  if (isArray) return { kind: "array", canonical: canonical === null ? null : `[${canonical}]`, elements, ...place };
  return { kind: "object", canonical: canonical === null ? null : `{${canonical}}`, members, ...place };
}

const byName = (one: JsonMember, other: JsonMember): number => (one.name < other.name ? -1 : 1);

/** An object whose members are to be sorted by the UTF-16 code units of their names (RFC 8785, section 3.2.3), as strings compare. */
function* closedInOrder({ members, canonical: known }: Open): Generator<undefined, JsonNode> {
  if (known === null) return { kind: "object", canonical: null, members };
  let runs: JsonMember[][] = [];
  for (let from = 0; from < members.length; from += SORTED_AT_ONCE) {
    if (from > 0) yield;
    runs.push(members.slice(from, from + SORTED_AT_ONCE).toSorted(byName));
  }
  while (runs.length > 1) {
    const longer: JsonMember[][] = [];
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? []));
    runs = longer;
  }
  const [sorted = []] = runs;
  let canonical = "";
  for (const [index, { name, written, node }] of sorted.entries()) {
    if (index > 0 && name === sorted[index - 1]?.name) return { kind: "object", canonical: null, members };
    canonical += `${index === 0 ? "" : ","}${written}:${node.canonical}`;
    if (index % SORTED_AT_ONCE === SORTED_AT_ONCE - 1) yield;
  }
  return { kind: "object", canonical: `{${canonical}}`, members: sorted };
}

function* merged(one: readonly JsonMember[], other: readonly JsonMember[]): Generator<undefined, JsonMember[]> {
  const all: JsonMember[] = [];
  let [at, otherAt] = [0, 0];
  for (let next = one[at], otherNext = other[otherAt]; next !== undefined || otherNext !== undefined;) {
    if (all.length % SORTED_AT_ONCE === SORTED_AT_ONCE - 1) yield;
    if (next !== undefined && (otherNext === undefined || byName(next, otherNext) < 0)) {
      all.push(next);
      next = one[++at];
    } else if (otherNext !== undefined) {
      all.push(otherNext);
      otherNext = other[++otherAt];
    }
  }
  return all;
}

/** Whether the token that has just been scanned is none of JSON. */
function isBroken(scanner: JSONScanner): boolean {
  const error: number = scanner.getTokenError();
  return error !== 0;
}

/** The scalar of a token; `null` if it is none. */
function scalarOf(token: number, text: string, scanner: JSONScanner): JsonNode | null {
  if (isBroken(scanner)) return null;
  const value = scanner.getTokenValue();
  switch (token) {
    case STRING:
      return { kind: "string", canonical: canonicalString(text, scanner), text: value };
    case NUMBER: {
      // The scanner says it without its minus.
      const written = text.slice(scanner.getTokenOffset(), scanner.getPosition());
      return { kind: "number", canonical: canonicalNumber(written), text: written };
    }
    case TRUE:
    case FALSE:
    case NULL:
      return { kind: "literal", canonical: value, text: value };
    default:
      return null;
  }
}

/** The string that has just been scanned (RFC 8785, section 3.2.2.2); `null` if it has an unpaired surrogate. */
function canonicalString(text: string, scanner: JSONScanner): string | null {
  const value = scanner.getTokenValue();
  const offset = scanner.getTokenOffset();
  // Without an escape it is its own canonical form.
  if (scanner.getTokenLength() === value.length + 2) return text.slice(offset, offset + value.length + 2);
  return value.isWellFormed() ? JSON.stringify(value) : null;
}

/** Up to so many digits a whole number is its own canonical form. */
const SHORT_WHOLE_NUMBER = /^(?:0|-?[1-9]\d{0,14})$/;

/** Longer numbers are not looked at. */
const MAX_NUMBER_LENGTH = 1024;

/** The most significant digits in the shortest spelling of a double (IEEE 754, binary64). */
const MAX_DIGITS = 17;

/**
 * A number as ECMAScript writes it (RFC 8785, section 3.2.2.3); `null` if a double does not keep all of its digits and add none: then two
 * numbers that differ could become one.
 */
export function canonicalNumber(written: string): string | null {
  if (SHORT_WHOLE_NUMBER.test(written)) return written;
  if (written.length > MAX_NUMBER_LENGTH) return null;
  const [, whole = "", fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(written) ?? [];
  const all = whole + fraction;
  let first = 0;
  while (all[first] === "0") first += 1;
  // Zero has only one spelling.
  if (first === all.length) return "0";
  let end = all.length;
  while (all[end - 1] === "0") end -= 1;
  if (end - first > MAX_DIGITS) return null;
  const power = Number(exponent) + whole.length - first - 1;
  const digits =
    end - first === 1 ? all.slice(first, end) : `${all.slice(first, first + 1)}.${all.slice(first + 1, end)}`;
  const value = Number(written);
  const isExact = Math.abs(value).toExponential() === `${digits}e${power < 0 ? "-" : "+"}${Math.abs(power)}`;
  return isExact ? String(value) : null;
}
