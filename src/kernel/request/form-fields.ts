// Finds single fields in a form (application/x-www-form-urlencoded) or in a URL's query, in slices. A field that is there twice, or
// whose escapes are invalid, is distinguished from a missing one, because servers read these differently.

import { fieldOf } from "./form-pairs.ts";

/** Whether a name also stands for all that servers may take for the same field (form-pairs.ts). */
export type NameMatching = "exact" | "field";

export type FieldValue =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "repeated" }
  | { readonly kind: "malformed" }
  /** Longer than was asked for. */
  | { readonly kind: "long" };

/** About how many bytes are read between two pauses. */
const SLICE_BYTES = 16 * 1024;

/** What a pair costs besides its bytes. */
const PAIR_COST = 32;

/** Longer names are not read where other spellings of a name count too: they may stand for any. */
const MAX_NAME_BYTES = 1000;

/** The longest escape of a byte. */
const ESCAPE_BYTES = 3;

const AMPERSAND = 0x26;
const EQUALS = 0x3d;
const PLUS = 0x2b;
const SPACE = 0x20;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** The fields with these names, as far as there are any; values with at most `maxLength` bytes. Pauses after each slice. */
export function* findInForm(
  form: Uint8Array,
  names: readonly string[],
  maxLength: number,
  matching: NameMatching = "exact",
): Generator<undefined, ReadonlyMap<string, FieldValue>> {
  const found = new Map<string, FieldValue>();
  const wanted = names.map((name) => ({ name, bytes: encoder.encode(name).length, field: fieldOf(name) }));
  const wantedNames = matching === "exact" ? namesWritten : namesMeant;
  let pauseAt = SLICE_BYTES;
  for (let from = 0; from < form.length;) {
    if (from >= pauseAt) {
      pauseAt = from + SLICE_BYTES;
      yield;
    }
    let end = from;
    let equals = -1;
    for (; end < form.length && form[end] !== AMPERSAND; end++) {
      if (equals === -1 && form[end] === EQUALS) equals = end;
      if (end >= pauseAt) {
        pauseAt = end + SLICE_BYTES;
        yield;
      }
    }
    const nameEnd = equals === -1 ? end : equals;
    if (nameEnd > from) pauseAt -= PAIR_COST;
    for (const { name } of nameEnd > from ? wantedNames(form, from, nameEnd, wanted) : []) {
      found.set(name, found.has(name) ? { kind: "repeated" } : valueOf(form, nameEnd + 1, end, maxLength));
    }
    from = end + 1;
  }
  return found;
}

interface WantedName {
  readonly name: string;
  readonly bytes: number;
  readonly field: string;
}

function namesWritten(
  form: Uint8Array,
  from: number,
  to: number,
  wanted: readonly WantedName[],
): readonly WantedName[] {
  const length = to - from;
  return wanted.filter(
    ({ name, bytes }) => length >= bytes && length <= ESCAPE_BYTES * bytes && decoded(form, from, to) === name,
  );
}

function namesMeant(form: Uint8Array, from: number, to: number, wanted: readonly WantedName[]): readonly WantedName[] {
  const text = to - from > MAX_NAME_BYTES ? null : decoded(form, from, to);
  if (text === null) return wanted;
  const read = fieldOf(text);
  return wanted.filter(({ field }) => field === read);
}

function valueOf(form: Uint8Array, from: number, end: number, maxLength: number): FieldValue {
  if (end - from > ESCAPE_BYTES * maxLength) return { kind: "long" };
  const text = decoded(form, from, end);
  if (text === null) return { kind: "malformed" };
  return text.length > maxLength ? { kind: "long" } : { kind: "text", text };
}

/** `null` if the escapes make no UTF-8. */
function decoded(form: Uint8Array, from: number, end: number): string | null {
  // Replacing each in the text would take 50 ms for a mebibyte of them.
  const bytes = form.slice(from, end);
  for (let at = bytes.indexOf(PLUS); at !== -1 && at < bytes.length; at++) if (bytes[at] === PLUS) bytes[at] = SPACE;
  const text = decoder.decode(bytes);
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The same in a URL's query, which is short enough to be read at once. */
export function findInQuery(
  search: string,
  names: readonly string[],
  maxLength: number,
  matching: NameMatching = "exact",
): ReadonlyMap<string, FieldValue> {
  const work = findInForm(encoder.encode(search.slice(1)), names, maxLength, matching);
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}
