// The text of a key that is derived from a request: what operators see, what the record's name is made of, what the answer repeats.
// Two different keys never get the same text. A value that a header could carry as a key is its own text, so that a client may move
// its key from the body to a header. Everything else is in parentheses: values that no header carries, and several values
// together, escaped and separated by colons; a text that would be too long ends with its digest instead of ")".

import { MAX_KEY_LENGTH } from "../record/units.ts";
import { digest } from "./digest.ts";
import { VISIBLE_ASCII } from "./key.ts";

/** How much of a long text stays readable. */
const READABLE_LENGTH = 150;

/** The text of a key that is one value. */
export async function textOfValue(value: string): Promise<string> {
  const isPlain = value.length <= MAX_KEY_LENGTH && VISIBLE_ASCII.test(value) && !value.startsWith("(");
  return isPlain ? value : textOfValues([value]);
}

/** The text of a key that is several values. */
export async function textOfValues(values: readonly string[]): Promise<string> {
  const text = `(${values.map(escaped).join(":")})`;
  if (text.length <= MAX_KEY_LENGTH) return text;
  return `${text.slice(0, READABLE_LENGTH)}~${await digest([text])}`;
}

/** As in a URL; a colon separates values, so it is escaped within one. */
function escaped(value: string): string {
  return value.replaceAll(/[^\x21-\x7e]+|[%:]/gu, (some) => {
    const bytes = new TextEncoder().encode(some);
    return Array.from(bytes, (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
  });
}

/** A key as a header carries it: in quotes if it could be taken for something else without. */
export function writeKey(key: string): string {
  return /[",\\]/.test(key) ? quotedString(key) : key;
}

/** Visible ASCII as a structured-field string (RFC 9651, section 4.1.6). */
export function quotedString(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
