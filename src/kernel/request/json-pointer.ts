// Finds single values in a JSON text by their pointers, in one pass over its bytes, in slices. Builds no values but those, because
// the platform's parser takes up to half a second for a mebibyte without a pause. A text that is not JSON has no values: it is read
// to its end, so that nothing can follow what was found.

import { isUtf8 } from "./canonical-json.ts";
import { JsonNumber, MAX_NUMBER, numberEnd } from "./json-number.ts";
import { type FoundValue, type JsonPointer, JsonTrails, type JsonValue } from "./json-trails.ts";

/** About how many bytes are read between two pauses, and in the first slice (as in canonical-json.ts). */
const SLICE_BYTES = 16 * 1024;
const FIRST_SLICE_BYTES = 1024;

/** What a name or an element costs for each pointer, as if it had so many bytes more. */
const COST_PER_POINTER = 4;

/** Deeper texts are not read, as by most parsers: growing the list of a million open containers takes some 10 ms. */
export const MAX_DEPTH = 10_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const NINE = 0x39;

/** By which letters of ASCII differ from their capitals. A few other bytes differ by it too, which no name of a request has. */
const CASE_BIT = 0x20;

/** The longest escape of one UTF-16 code unit, in bytes. */
const ESCAPE_BYTES = 6;

/** Whether a name also stands for those that differ from it by case alone: some servers take either. */
export type NameCase = "exact" | "any case";

/** Why a text has no values: it is not JSON (RFC 8259) in UTF-8, or has more than `MAX_DEPTH` levels. */
export type UnreadJson = "not JSON" | "too deep";

/**
 * The values at `pointers`, as far as there are any; strings with at most `maxLength` bytes. Pauses after each slice of its work.
 */
export function* findInJson(
  body: Uint8Array,
  pointers: readonly JsonPointer[],
  maxLength: number,
  nameCase: NameCase = "exact",
): Generator<undefined, readonly FoundValue[] | UnreadJson> {
  if (!(yield* isUtf8(body))) return "not JSON";
  const scanner = new Scanner(body, pointers, maxLength, nameCase);
  let slice = body.length > SLICE_BYTES ? FIRST_SLICE_BYTES : SLICE_BYTES;
  for (;;) {
    const state = scanner.read(slice);
    if (state === "whole") return scanner.found;
    if (state === "invalid") return scanner.isTooDeep ? "too deep" : "not JSON";
    slice = Math.min(2 * slice, SLICE_BYTES);
    yield;
  }
}

type Expected = "value" | "first value" | "name" | "first name" | "colon" | "comma or end";

const decoder = new TextDecoder();

class Scanner {
  readonly #body: Uint8Array;
  readonly #trails: JsonTrails;
  readonly #maxLength: number;
  readonly #nameCase: NameCase;
  readonly #number = new JsonNumber();
  #at = 0;
  /** How many names and elements have been read in this slice, and what each costs. */
  #steps = 0;
  readonly #stepCost: number;
  #expected: Expected = "value";
  /** Where the string begins that is being read; -1 outside of strings. */
  #stringFrom = -1;
  /** Whether it has an escape so far. */
  #isEscaped = false;
  /** For each open container: the index of its element, or -1 for an object. */
  readonly #indices: number[] = [];

  constructor(body: Uint8Array, pointers: readonly JsonPointer[], maxLength: number, nameCase: NameCase) {
    this.#body = body;
    this.#nameCase = nameCase;
    this.#maxLength = maxLength;
    this.#trails = new JsonTrails(pointers);
    this.#stepCost = COST_PER_POINTER * pointers.length;
  }

  get found(): readonly FoundValue[] {
    return this.#trails.found;
  }

  /** Whether it has ended at one level too many. */
  get isTooDeep(): boolean {
    return this.#indices.length > MAX_DEPTH;
  }

  /** Reads about `bytes` on. */
  read(bytes: number): "more" | "whole" | "invalid" {
    const body = this.#body;
    const budget = this.#at + bytes;
    const limit = Math.min(body.length, budget);
    this.#steps = 0;
    // A small text is read without a pause, whatever its names cost.
    while (this.#at < limit && this.#at + this.#steps * this.#stepCost < budget) {
      const byte = body[this.#at] ?? 0;
      if (this.#stringFrom !== -1) {
        if (!this.#readString(limit)) return "invalid";
      } else if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
        this.#at += 1;
      } else if (!this.#readToken(byte)) {
        return "invalid";
      }
    }
    if (this.#at < body.length) return "more";
    const isWhole = this.#expected === "comma or end" && this.#indices.length === 0 && this.#stringFrom === -1;
    return isWhole ? "whole" : "invalid";
  }

  #readToken(byte: number): boolean {
    switch (this.#expected) {
      case "comma or end":
        return this.#readEnd(byte);
      case "colon":
        this.#at += 1;
        this.#expected = "value";
        return byte === COLON;
      case "first name":
        return byte === CLOSE_OBJECT ? this.#close() : this.#beginString(byte);
      case "name":
        return this.#beginString(byte);
      case "first value":
        return byte === CLOSE_ARRAY ? this.#close() : this.#beginValue(byte);
      case "value":
        return this.#beginValue(byte);
    }
  }

  #readEnd(byte: number): boolean {
    const index = this.#indices.at(-1);
    if (index === undefined) return false;
    if (byte !== COMMA) return byte === (index === -1 ? CLOSE_OBJECT : CLOSE_ARRAY) && this.#close();
    this.#at += 1;
    this.#expected = index === -1 ? "name" : "value";
    if (index !== -1) this.#beginElement(index + 1);
    return true;
  }

  #beginValue(byte: number): boolean {
    if (byte === QUOTE) return this.#beginString(byte);
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) return this.#open(byte);
    return byte <= NINE ? this.#readNumber() : this.#readLiteral();
  }

  #open(byte: number): boolean {
    this.#indices.push(-1);
    if (this.isTooDeep) return false;
    this.#trails.open();
    this.#at += 1;
    this.#expected = byte === OPEN_OBJECT ? "first name" : "first value";
    if (byte === OPEN_ARRAY) this.#beginElement(0);
    return true;
  }

  #close(): boolean {
    this.#at += 1;
    this.#expected = "comma or end";
    this.#indices.pop();
    this.#trails.close();
    return true;
  }

  #beginElement(index: number): void {
    this.#indices[this.#indices.length - 1] = index;
    this.#steps += 1;
    this.#trails.followIndex(index);
  }

  #beginString(byte: number): boolean {
    this.#at += 1;
    this.#stringFrom = this.#at;
    this.#isEscaped = false;
    return byte === QUOTE;
  }

  /** Reads on to the end of a string, or to `limit`. */
  #readString(limit: number): boolean {
    const body = this.#body;
    let at = this.#at;
    while (at < limit) {
      const byte = body[at] ?? 0;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return this.#endString(at);
      }
      if (byte < 0x20) return false;
      if (byte === BACKSLASH) this.#isEscaped = true;
      at += byte === BACKSLASH ? 2 : 1;
    }
    this.#at = at;
    return true;
  }

  #endString(end: number): boolean {
    const from = this.#stringFrom;
    this.#stringFrom = -1;
    if (this.#expected === "name" || this.#expected === "first name") {
      this.#expected = "colon";
      this.#steps += 1;
      this.#trails.followName((name, bytes) => this.#isName(from, end, name, bytes));
      return true;
    }
    this.#expected = "comma or end";
    return this.#trails.scalar(() => {
      if (end - from > ESCAPE_BYTES * this.#maxLength) return { kind: "long" };
      const text = this.#decoded(from, end);
      if (text === null) return null;
      return text.length > this.#maxLength ? { kind: "long" } : { kind: "string", text };
    });
  }

  /** Whether the name between the two places is `name`, whose bytes are `bytes`. */
  #isName(from: number, end: number, name: string, bytes: Uint8Array): boolean {
    const length = end - from;
    const isExact = this.#nameCase === "exact";
    if (!this.#isEscaped) {
      const fold = isExact ? 0 : CASE_BIT;
      return (
        length === bytes.length &&
        bytes.every((byte, index) => (byte | fold) === ((this.#body[from + index] ?? 0) | fold))
      );
    }
    // Escapes only make a name longer.
    if (length < bytes.length || length > ESCAPE_BYTES * name.length) return false;
    const decodedName = this.#decoded(from, end);
    return isExact ? decodedName === name : decodedName?.toLowerCase() === name.toLowerCase();
  }

  /** The value of a string; `null` if its escapes are invalid. */
  #decoded(from: number, end: number): string | null {
    try {
      const value: unknown = JSON.parse(decoder.decode(this.#body.subarray(from - 1, end + 1)));
      return typeof value === "string" ? value : null;
    } catch {
      return null;
    }
  }

  #readNumber(): boolean {
    const from = this.#at;
    const end = numberEnd(this.#body, from);
    if (end === -1) return false;
    this.#at = end;
    this.#expected = "comma or end";
    return this.#trails.scalar(() => this.#numberValue(from, end));
  }

  /** Whole numbers without an exponent are exact in any reader that keeps them at all. */
  #numberValue(from: number, end: number): JsonValue {
    if (this.#number.read(this.#body, from) && this.#number.end === end) {
      const out = new Uint8Array(MAX_NUMBER);
      return { kind: "number", text: decoder.decode(out.subarray(0, this.#number.write(out, 0))) };
    }
    if (end - from > this.#maxLength) return { kind: "long" };
    const text = decoder.decode(this.#body.subarray(from, end));
    return /^-?\d+$/.test(text) ? { kind: "number", text } : { kind: "imprecise" };
  }

  #readLiteral(): boolean {
    const text = LITERALS.find((word) => startsWith(this.#body, this.#at, word));
    if (text === undefined) return false;
    this.#at += text.length;
    this.#expected = "comma or end";
    return this.#trails.scalar(() => ({ kind: "literal", text }));
  }
}

const LITERALS = ["true", "false", "null"] as const;

function startsWith(body: Uint8Array, at: number, word: string): boolean {
  for (let index = 0; index < word.length; index++) if (body[at + index] !== word.charCodeAt(index)) return false;
  return true;
}
