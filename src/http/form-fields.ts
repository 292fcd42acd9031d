// Finds single fields in a form (application/x-www-form-urlencoded) or in a URL's query, in slices. A field that is there twice, or
// whose escapes are invalid, is told apart from a missing one, because servers read these differently.

export type FieldValue =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "repeated" }
  | { readonly kind: "malformed" }
  /** Longer than was asked for. */
  | { readonly kind: "long" };

/** About how many bytes are read between two pauses. */
const SLICE_BYTES = 16 * 1024;

/** The longest escape of a byte. */
const ESCAPE_BYTES = 3;

const AMPERSAND = 0x26;
const EQUALS = 0x3d;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** The fields with these names, as far as there are any; values with at most `maxLength` bytes. Pauses after each slice. */
export function* findInForm(
  form: Uint8Array,
  names: readonly string[],
  maxLength: number,
): Generator<undefined, ReadonlyMap<string, FieldValue>> {
  const found = new Map<string, FieldValue>();
  const wanted = names.map((name) => ({ name, bytes: encoder.encode(name).length }));
  let pauseAt = SLICE_BYTES;
  for (let from = 0; from < form.length;) {
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
    for (const { name, bytes } of wanted) {
      const length = nameEnd - from;
      if (length < bytes || length > ESCAPE_BYTES * bytes || decoded(form, from, nameEnd) !== name) continue;
      found.set(name, found.has(name) ? { kind: "repeated" } : valueOf(form, nameEnd + 1, end, maxLength));
    }
    from = end + 1;
  }
  return found;
}

function valueOf(form: Uint8Array, from: number, end: number, maxLength: number): FieldValue {
  if (end - from > ESCAPE_BYTES * maxLength) return { kind: "long" };
  const text = decoded(form, from, end);
  if (text === null) return { kind: "malformed" };
  return text.length > maxLength ? { kind: "long" } : { kind: "text", text };
}

/** `null` if the escapes make no UTF-8. */
function decoded(form: Uint8Array, from: number, end: number): string | null {
  const text = decoder.decode(form.subarray(from, end)).replaceAll("+", " ");
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
): ReadonlyMap<string, FieldValue> {
  const work = findInForm(encoder.encode(search.slice(1)), names, maxLength);
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}
