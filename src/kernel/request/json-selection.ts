// Parts of a JSON text, found by JSON pointers (RFC 6901): all but some of them, or only some. It reads the canonical form, in which
// each name has one spelling and occurs once in its object, and builds no values. The work is done in slices, as for that form.

import type { Selection } from "../config/resolved.ts";
import { pointerTokens } from "../config/values.ts";

/** About how many bytes are read between two pauses; the first slice is small, because its code is not yet compiled. */
const SLICE_BYTES = 16 * 1024;
const FIRST_SLICE_BYTES = 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Stands for an element that does not count, so that its array keeps its length. No JSON text has it there. */
const NO_ELEMENT = 0x21;

const LENGTH_BYTES = 4;
/** No part is that long. */
const MISSING = 0xffffffff;

const encoder = new TextEncoder();

/** A place to which some pointer leads, or leads on from. */
interface Place {
  /** The number of the pointer that ends here; -1 if they all lead on. */
  readonly pointer: number;
  readonly members: Map<string, PlacedMember>;
}

interface PlacedMember extends Place {
  /** The name in its canonical spelling, with its quotes. */
  readonly name: Uint8Array;
}

/** Where a value that a pointer leads to was found. */
interface Found {
  /** Where it begins; for a member of an object, where its name begins. */
  readonly from: number;
  readonly valueFrom: number;
  readonly to: number;
  readonly isElement: boolean;
}

/**
 * Pauses after each slice of its work. Returns what counts: for `except` the text without those values; for `only` each value with
 * its length, or the mark that it is missing. Returns `null` if the whole text counts: with `only`, if there is nothing at any
 * pointer, or if an object has another name that differs from a selected one by case alone, since some readers would take either.
 */
export function* selectJson(
  canonical: Uint8Array,
  { kind, pointers }: Selection,
): Generator<undefined, Uint8Array | null> {
  const search = new Search(canonical, placesOf(pointers));
  yield* search.run();
  if (kind === "except") return without(canonical, search.found);
  if (search.isAmbiguous || search.found.size === 0) return null;
  return only(canonical, search.found, pointers.length);
}

function placesOf(pointers: readonly string[]): Place {
  const root: Place = { pointer: -1, members: new Map() };
  for (const [number, pointer] of pointers.entries()) {
    const tokens = pointerTokens(pointer);
    let place = root;
    for (const [depth, token] of tokens.entries()) {
      const next = place.members.get(token) ?? {
        pointer: depth === tokens.length - 1 ? number : -1,
        name: encoder.encode(JSON.stringify(token)),
        members: new Map<string, PlacedMember>(),
      };
      place.members.set(token, next);
      place = next;
    }
  }
  return root;
}

/** A container on the way to some place. */
interface Open {
  readonly place: Place;
  readonly isArray: boolean;
  /** Of the next element. */
  index: number;
}

class Search {
  readonly #text: Uint8Array;
  readonly #root: Place;
  #at = 0;
  #slice: number;
  #pauseAt: number;
  readonly #open: Open[] = [];
  /** By the number of the pointer. */
  readonly found = new Map<number, Found>();
  /** Whether an object has a name that differs by case alone from one on the way of a pointer. */
  isAmbiguous = false;

  constructor(text: Uint8Array, root: Place) {
    this.#text = text;
    this.#root = root;
    this.#slice = text.length > SLICE_BYTES ? FIRST_SLICE_BYTES : SLICE_BYTES;
    this.#pauseAt = this.#slice;
  }

  *run(): Generator<undefined, void> {
    yield* this.#value(this.#root, 0, false);
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      const next = this.#text[this.#at];
      if (next === CLOSE_OBJECT || next === CLOSE_ARRAY) {
        this.#at += 1;
        this.#open.pop();
        continue;
      }
      if (next === COMMA) this.#at += 1;
      const from = this.#at;
      const place = open.isArray ? open.place.members.get(String(open.index)) : yield* this.#name(open.place);
      open.index += 1;
      yield* this.#value(place ?? null, from, open.isArray);
    }
  }

  /** Reads a name with its colon. Returns the place that it leads to. */
  *#name({ members }: Place): Generator<undefined, Place | undefined> {
    const from = this.#at;
    yield* this.#skip();
    const name = this.#text.subarray(from, this.#at);
    this.#at += 1;
    let place: Place | undefined;
    for (const member of members.values()) {
      const likeness = likenessOf(name, member.name);
      if (likeness === "same") place = member;
      if (likeness === "by case") this.isAmbiguous = true;
    }
    return place;
  }

  /** Reads a value, or the opening bracket of one that has places in it. */
  *#value(place: Place | null, from: number, isElement: boolean): Generator<undefined, void> {
    const valueFrom = this.#at;
    const first = this.#text[valueFrom];
    if (place !== null && place.pointer === -1 && (first === OPEN_OBJECT || first === OPEN_ARRAY)) {
      this.#open.push({ place, isArray: first === OPEN_ARRAY, index: 0 });
      this.#at += 1;
      return;
    }
    yield* this.#skip();
    if (place !== null && place.pointer !== -1) {
      this.found.set(place.pointer, { from, valueFrom, to: this.#at, isElement });
    }
  }

  /** Goes to the end of a value. */
  *#skip(): Generator<undefined, void> {
    const text = this.#text;
    let depth = 0;
    let isInString = false;
    for (;;) {
      const limit = Math.min(text.length, this.#pauseAt);
      let at = this.#at;
      for (; at < limit; at++) {
        const byte = text[at];
        if (isInString) {
          if (byte === BACKSLASH) at += 1;
          else if (byte === QUOTE) isInString = false;
          if (isInString || depth > 0) continue;
          this.#at = at + 1;
          return;
        }
        if (byte === QUOTE) isInString = true;
        else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
          depth -= 1;
          if (depth > 0) continue;
          // A negative depth is the end of the container around a number or a literal.
          this.#at = depth === 0 ? at + 1 : at;
          return;
        } else if (byte === COMMA && depth === 0) {
          this.#at = at;
          return;
        }
      }
      this.#at = at;
      if (at >= text.length) return;
      this.#slice = Math.min(2 * this.#slice, SLICE_BYTES);
      this.#pauseAt = at + this.#slice;
      yield;
    }
  }
}

function likenessOf(name: Uint8Array, other: Uint8Array): "same" | "by case" | "none" {
  if (name.length !== other.length) return "none";
  let likeness: "same" | "by case" = "same";
  for (const [at, byte] of other.entries()) {
    const own = name[at] ?? 0;
    if (own === byte) continue;
    const lower = own | 0x20;
    if (lower !== (byte | 0x20) || lower < 0x61 || lower > 0x7a) return "none";
    likeness = "by case";
  }
  return likeness;
}

/** The text without what was found. Whether an object had such a member leaves no trace. */
function without(text: Uint8Array, found: ReadonlyMap<number, Found>): Uint8Array {
  const out = new Uint8Array(text.length);
  let size = 0;
  let at = 0;
  for (const { from, to, isElement } of [...found.values()].toSorted((one, other) => one.from - other.from)) {
    out.set(text.subarray(at, from), size);
    size += from - at;
    at = to;
    if (isElement) out[size++] = NO_ELEMENT;
    else if (text[at] === COMMA) at += 1;
    else if (out[size - 1] === COMMA) size -= 1;
  }
  out.set(text.subarray(at), size);
  return out.subarray(0, size + text.length - at);
}

function only(text: Uint8Array, found: ReadonlyMap<number, Found>, count: number): Uint8Array {
  const sizes = [...found.values()].map(({ valueFrom, to }) => to - valueFrom);
  const out = new Uint8Array(sizes.reduce((sum, size) => sum + size, count * LENGTH_BYTES));
  const view = new DataView(out.buffer);
  let at = 0;
  for (let pointer = 0; pointer < count; pointer++) {
    const place = found.get(pointer);
    const value = place === undefined ? undefined : text.subarray(place.valueFrom, place.to);
    view.setUint32(at, value?.length ?? MISSING);
    at += LENGTH_BYTES;
    if (value === undefined) continue;
    out.set(value, at);
    at += value.length;
  }
  return out;
}
