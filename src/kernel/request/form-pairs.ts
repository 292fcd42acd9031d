// The canonical form of a URL-encoded form (application/x-www-form-urlencoded): its decoded pairs, ordered by field. The order of
// different fields does not matter, the order within a field does. The work is done in slices.
//
// It reads what all parsers read in the same way, and nothing else: no semicolons, no bytes that ought to be escaped, no broken
// escapes, no second equals sign. A form with such things has no canonical form, and is compared as bytes.

import type { BodySelection } from "../config/resolved.ts";
import { pointerTokens } from "../config/values.ts";

/** The largest form that is read, as for JSON. */
export const MAX_FORM_BYTES = 1 << 20;

/** More pairs than servers read: sorting them takes a millisecond or two. */
const MAX_PAIRS = 2_000;

const MAX_NAME_BYTES = 1_000;

/** About how many bytes are read between two pauses; the first slice is small, because its code is not yet compiled. */
const SLICE_BYTES = 32 * 1024;
const FIRST_SLICE_BYTES = 1024;

const PERCENT = 0x25;
const AMPERSAND = 0x26;
const PLUS = 0x2b;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const SPACE = 0x20;
const DELETE = 0x7f;

const LENGTH_BYTES = 4;
/** A pair without an equals sign: some parsers distinguish it from one with an empty value. */
const NO_VALUE = 0xffffffff;

/** A decoded pair, as positions in the decoded form. */
interface Pair {
  readonly from: number;
  readonly nameTo: number;
  /** Whether it has an equals sign. The value begins where the name ends. */
  readonly hasValue: boolean;
  readonly to: number;
  /** Each byte of the name as one character. */
  readonly name: string;
  readonly field: string;
}

export interface CanonicalForm {
  readonly bytes: Uint8Array;
  /** Whether the selection applied. If `only` finds none of its fields, all of them count. */
  readonly isSelected: boolean;
}

/** Pauses after each slice of its work. Returns `null` where there is no canonical form. */
export function* canonicalForm(
  body: Uint8Array,
  selection: BodySelection | null,
): Generator<undefined, CanonicalForm | null> {
  if (body.byteLength > MAX_FORM_BYTES) return null;
  const decoded = new Uint8Array(body.byteLength);
  const pairs = yield* readPairs(body, decoded);
  if (pairs === null) return null;
  if (body.byteLength > SLICE_BYTES) yield;
  const selected = selection === null ? pairs : select(pairs, selection);
  const counted = selected.length === 0 && selection?.kind === "only" ? pairs : selected;
  const sorted = counted.toSorted((one, other) => (one.field < other.field ? -1 : one.field > other.field ? 1 : 0));
  return { bytes: framed(decoded, sorted), isSelected: selection !== null && counted === selected };
}

function* readPairs(body: Uint8Array, decoded: Uint8Array): Generator<undefined, readonly Pair[] | null> {
  const pairs: Pair[] = [];
  if (body.length === 0) return pairs;
  let slice = body.length > SLICE_BYTES ? FIRST_SLICE_BYTES : SLICE_BYTES;
  let pauseAt = slice;
  let size = 0;
  let from = 0;
  let nameTo = -1;
  for (let at = 0; at <= body.length; at++) {
    if (at >= pauseAt) {
      slice = Math.min(2 * slice, SLICE_BYTES);
      pauseAt = at + slice;
      yield;
    }
    const byte = body[at] ?? AMPERSAND;
    if (byte === AMPERSAND) {
      const hasValue = nameTo !== -1;
      if (!hasValue) nameTo = size;
      if (pairs.length === MAX_PAIRS || nameTo - from > MAX_NAME_BYTES) return null;
      const name = characters(decoded.subarray(from, nameTo));
      pairs.push({ from, nameTo, hasValue, to: size, name, field: fieldOf(name) });
      from = size;
      nameTo = -1;
    } else if (byte === EQUALS) {
      if (nameTo !== -1) return null;
      nameTo = size;
    } else if (byte === PERCENT) {
      const high = digitOf(body[at + 1]);
      const low = digitOf(body[at + 2]);
      if (high === -1 || low === -1) return null;
      decoded[size++] = 16 * high + low;
      at += 2;
    } else {
      if (byte <= SPACE || byte >= DELETE || byte === SEMICOLON) return null;
      decoded[size++] = byte === PLUS ? SPACE : byte;
    }
  }
  return pairs;
}

/** A hexadecimal digit's value; -1 if it is none. */
function digitOf(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function characters(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

/**
 * `except` leaves out the fields of exactly these names. `only` takes whatever a parser might read as one of these fields, such
 * as `amount[]` and `Amount` for `amount`.
 */
function select(pairs: readonly Pair[], { kind, pointers }: BodySelection): readonly Pair[] {
  const names = pointers.flatMap(pointerTokens).map((token) => characters(new TextEncoder().encode(token)));
  if (kind === "except") {
    const left = new Set(names);
    return pairs.filter(({ name }) => !left.has(name));
  }
  const fields = new Set(names.map(fieldOf));
  return pairs.filter(({ field }) => fields.has(field));
}

function framed(decoded: Uint8Array, pairs: readonly Pair[]): Uint8Array {
  const out = new Uint8Array(pairs.reduce((sum, { from, to }) => sum + to - from + 2 * LENGTH_BYTES, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const { from, nameTo, hasValue, to } of pairs) {
    view.setUint32(at, nameTo - from);
    view.setUint32(at + LENGTH_BYTES, hasValue ? to - nameTo : NO_VALUE);
    at += 2 * LENGTH_BYTES;
    out.set(decoded.subarray(from, to), at);
    at += to - from;
  }
  return out;
}

/** What some servers read as an underscore (PHP), and what a plus sign may stand for. */
const UNDERSCORED = /[. +]/g;

/**
 * The part before the first bracket, without case and leading spaces: `item[][name]`, `item[]` and `Item` are one field. `name` is
 * decoded.
 */
export function fieldOf(name: string): string {
  const trimmed = name.replace(/^[ +]+/, "");
  const end = trimmed.slice(1).search(/[[\0]/);
  return (end === -1 ? trimmed : trimmed.slice(0, end + 1)).toLowerCase().replaceAll(UNDERSCORED, "_");
}
