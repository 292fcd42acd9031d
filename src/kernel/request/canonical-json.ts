// The canonical form of a JSON text (RFC 8785), in one pass over its bytes. The work is done in slices, so that an expensive body
// does not block other requests in the isolate. It neither recurses nor builds values, which would cost more than all the rest.

import { JsonMembers } from "./json-members.ts";
import { JsonNumber, MAX_NUMBER } from "./json-number.ts";
import { copy, JsonString } from "./json-string.ts";

/** The largest size of the text, and of its canonical form. */
export const MAX_JSON_BYTES = 1 << 20;

/** The deepest nesting of containers. An object whose members are reordered is copied, so depth multiplies the work. */
export const MAX_JSON_DEPTH = 64;

/** About how many bytes are read between two pauses; takes a millisecond. */
const SLICE_BYTES = 16 * 1024;
/** The first slice of a larger text; then slices double, because code that is not yet compiled is thirty times slower. */
const FIRST_SLICE_BYTES = 1024;
/** A larger slice: the platform checks UTF-8, and is fast. */
const UTF8_SLICE_BYTES = 256 * 1024;
/** A larger slice: moving bytes is faster than reading them. */
const MOVED_SLICE_BYTES = 64 * 1024;
/** The fixed cost of moving one member, in bytes. */
const MOVE_BYTES = 8;

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const NINE = 0x39;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const LITERALS = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), new TextEncoder().encode(word)]));

/**
 * Pauses after each slice of its work. Returns the canonical form, or `null` where there is none: no JSON, no UTF-8,
 * repeated members, unpaired surrogates or numbers beyond a double's precision (RFC 7493, section 2), of which two that
 * differ would become one; or too large or too deep.
 */
export function* canonicalJson(body: Uint8Array): Generator<undefined, Uint8Array | null> {
  if (body.byteLength > MAX_JSON_BYTES || !(yield* isUtf8(body))) return null;
  return yield* new Canonicaliser(body).run();
}

/** Pauses after each slice of its work. */
export function* isUtf8(body: Uint8Array): Generator<undefined, boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let at = 0; at < body.byteLength; at += UTF8_SLICE_BYTES) {
      if (at > 0) yield;
      decoder.decode(body.subarray(at, at + UTF8_SLICE_BYTES), { stream: true });
    }
    decoder.decode();
    return true;
  } catch {
    return false;
  }
}

type Expected = "value" | "first value" | "name" | "first name" | "colon" | "comma or end";

class Canonicaliser {
  readonly #body: Uint8Array;
  #at = 0;
  /** Always has room for the rest of the body, because only numbers grow. */
  #out: Uint8Array;
  #size = 0;
  readonly #string: JsonString;
  /** Where the last string begins in the canonical form. */
  #stringStart = 0;
  readonly #number = new JsonNumber();
  readonly #members = new JsonMembers();
  /** For each open container: its first member (-1 for an array), and whether its members are in order so far. */
  readonly #firstMembers = new Int32Array(MAX_JSON_DEPTH);
  readonly #areInOrder = new Uint8Array(MAX_JSON_DEPTH);
  #depth = 0;
  /** Holds an object while its members are reordered. */
  #scratch = new Uint8Array();

  constructor(body: Uint8Array) {
    this.#body = body;
    this.#out = new Uint8Array(body.byteLength);
    this.#string = new JsonString(body);
  }

  *run(): Generator<undefined, Uint8Array | null> {
    let expected: Expected = "value";
    let slice = this.#body.length > SLICE_BYTES ? FIRST_SLICE_BYTES : SLICE_BYTES;
    let pauseAt = slice;
    for (;;) {
      this.#skipSpace(pauseAt);
      if (this.#at >= pauseAt) {
        slice = Math.min(2 * slice, SLICE_BYTES);
        pauseAt = this.#at + slice;
        yield;
        continue;
      }
      const next = this.#body[this.#at] ?? 0;
      const isName: boolean = expected === "name" || expected === "first name";
      if (expected === "comma or end") {
        if (this.#depth === 0) return this.#at === this.#body.length ? this.#out.subarray(0, this.#size) : null;
        const isObject = this.#firstMembers[this.#depth - 1] !== -1;
        if (next === COMMA) {
          this.#take(COMMA);
          expected = isObject ? "name" : "value";
        } else {
          if (next !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return null;
          if (this.#areInOrder[this.#depth - 1] === 0 && !(yield* this.#putInOrder())) return null;
          this.#close(next);
        }
      } else if (expected === "colon") {
        if (next !== COLON || !this.#addMember()) return null;
        this.#take(COLON);
        expected = "value";
      } else if (
        (expected === "first name" && next === CLOSE_OBJECT) ||
        (expected === "first value" && next === CLOSE_ARRAY)
      ) {
        this.#close(next);
        expected = "comma or end";
      } else if (next === QUOTE) {
        if (!this.#beginString() || (!this.#string.isWhole && !(yield* this.#restOfString()))) return null;
        this.#endString();
        expected = isName ? "colon" : "comma or end";
      } else if (isName) {
        return null;
      } else if (next === OPEN_OBJECT || next === OPEN_ARRAY) {
        if (!this.#open(next)) return null;
        expected = next === OPEN_OBJECT ? "first name" : "first value";
      } else {
        if (!(next <= NINE ? this.#takeNumber() : this.#takeLiteral(next))) return null;
        expected = "comma or end";
      }
    }
  }

  /** Copies a byte of the body unchanged. */
  #take(byte: number): void {
    this.#out[this.#size++] = byte;
    this.#at += 1;
  }

  #skipSpace(limit: number): void {
    const end = Math.min(this.#body.length, limit);
    let at = this.#at;
    for (; at < end; at++) {
      const byte = this.#body[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    }
    this.#at = at;
  }

  #open(bracket: number): boolean {
    if (this.#depth === MAX_JSON_DEPTH) return false;
    this.#firstMembers[this.#depth] = bracket === OPEN_OBJECT ? this.#members.count : -1;
    this.#areInOrder[this.#depth] = 1;
    this.#depth += 1;
    this.#take(bracket);
    return true;
  }

  #close(bracket: number): void {
    this.#depth -= 1;
    const first = this.#firstMembers[this.#depth] ?? -1;
    if (first !== -1) this.#members.dropFrom(first);
    this.#take(bracket);
  }

  #takeLiteral(first: number): boolean {
    const literal = LITERALS.get(first);
    if (literal === undefined) return false;
    for (const byte of literal) {
      if (this.#body[this.#at] !== byte) return false;
      this.#take(byte);
    }
    return true;
  }

  #beginString(): boolean {
    this.#stringStart = this.#size;
    this.#take(QUOTE);
    this.#string.begin(this.#at);
    return this.#moreOfString();
  }

  #moreOfString(): boolean {
    const isGood = this.#string.read();
    this.#size = this.#string.write(this.#out, this.#size);
    this.#at = this.#string.end;
    return isGood;
  }

  *#restOfString(): Generator<undefined, boolean> {
    while (!this.#string.isWhole) {
      yield;
      if (!this.#moreOfString()) return false;
    }
    return true;
  }

  /** The closing quote has been read with the string. */
  #endString(): void {
    this.#out[this.#size++] = QUOTE;
  }

  #takeNumber(): boolean {
    if (!this.#number.read(this.#body, this.#at)) return false;
    this.#at = this.#number.end;
    const wanted = this.#size + MAX_NUMBER + this.#body.length - this.#at;
    if (wanted > this.#out.length) {
      const out = new Uint8Array(wanted + (this.#body.length >> 2));
      out.set(this.#out.subarray(0, this.#size));
      this.#out = out;
    }
    this.#size = this.#number.write(this.#out, this.#size);
    return this.#size <= MAX_JSON_BYTES;
  }

  /** Adds a member with the name that has just been read. */
  #addMember(): boolean {
    const { from, to, text } = this.#string;
    const last = this.#members.count - 1;
    this.#members.add(text, from, to, this.#stringStart);
    if (last < (this.#firstMembers[this.#depth - 1] ?? 0)) return true;
    const difference = this.#members.compare(text, last, last + 1);
    if (difference > 0) this.#areInOrder[this.#depth - 1] = 0;
    return difference !== 0;
  }

  /** Sorts the members of the innermost object, which is complete. Returns `false` when two have the same name. */
  *#putInOrder(): Generator<undefined, boolean> {
    const first = this.#firstMembers[this.#depth - 1] ?? 0;
    if (!(yield* this.#members.sort(this.#string.text, first))) return false;
    const start = this.#members.startOf(first);
    const size = this.#size - start;
    if (this.#scratch.length < size) this.#scratch = new Uint8Array(size);
    copy(this.#out, start, this.#size, this.#scratch, 0);
    let at = start;
    let work = size;
    for (let index = 0; index < this.#members.count - first; index++) {
      const member = this.#members.inOrder(index);
      if (work > MOVED_SLICE_BYTES) {
        work = 0;
        yield;
      }
      if (at > start) this.#out[at++] = COMMA;
      const from = this.#members.startOf(member) - start;
      const to = member + 1 === this.#members.count ? size : this.#members.startOf(member + 1) - 1 - start;
      work += MOVE_BYTES + to - from;
      at = copy(this.#scratch, from, to, this.#out, at);
    }
    return true;
  }
}
