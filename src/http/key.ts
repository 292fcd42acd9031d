// The idempotency key of a request: a structured-field string (draft-ietf-httpapi-idempotency-key-header-07, section
// 2.1) or the same value bare, as the SDKs send it. Both forms name the same record.

import { parseItem } from "structured-headers";

export interface KeyFormat {
  /** A regular expression for the whole value; `null` for any. */
  readonly pattern: string | null;
  /** Characters. */
  readonly min: number;
  readonly max: number;
}

export type ParsedKey =
  | { readonly kind: "absent" }
  | { readonly kind: "invalid"; readonly reason: string }
  | ({ readonly kind: "key" } & IdempotencyKey);

export interface IdempotencyKey {
  readonly key: string;
  /** The value as it was sent, for the echo. */
  readonly raw: string;
  /** The name of the header that carried it. */
  readonly header: string;
}

/**
 * Characters of a header's whole value. A key of 255 needs at most 512 with quotes and escapes; the rest are parameters,
 * which mean nothing. To parse a value of all that a request may carry would keep the isolate busy for a hundred milliseconds.
 */
const LONGEST_VALUE = 4096;

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** Reads the key from the first of `names` that is there; a second one must agree with it. */
export function parseKey(headers: Headers, names: readonly string[], format: KeyFormat): ParsedKey {
  let found: Extract<ParsedKey, { kind: "key" }> | null = null;
  for (const header of names) {
    const raw = headers.get(header);
    if (raw === null) continue;
    const value = parseValue(raw, header);
    if (typeof value !== "string") return value;
    const problem = formatProblem(value, header, format);
    if (problem !== null) return invalid(problem);
    if (found !== null && found.key !== value) {
      return invalid(`${found.header} and ${header} carry different keys; send one.`);
    }
    found ??= { kind: "key", key: value, raw, header };
  }
  return found ?? { kind: "absent" };
}

function parseValue(raw: string, header: string): string | ParsedKey {
  if (raw === "") return invalid(`${header} is empty.`);
  if (raw.length > LONGEST_VALUE) return invalid(`${header} is longer than ${LONGEST_VALUE} characters.`);
  // The runtime joins repeated header lines with ", ". A key has no spaces, so a repeated one can never pass for one;
  // and since proxies may join with a bare comma, an unquoted key has no commas either.
  if (!raw.startsWith('"')) {
    if (raw.includes(",")) return invalid(`${header} is repeated or a list; send one key. A comma needs quotes.`);
    return raw;
  }
  try {
    const [value, parameters] = parseItem(raw);
    // A second line can end inside a parameter of the first. Parameters mean nothing here, so none with a comma is missed.
    if (parameters.size > 0 && raw.includes(",")) return invalid(`${header} is repeated or a list; send one key.`);
    return typeof value === "string" ? value : invalid(`${header} is not a string.`);
  } catch {
    return invalid(`${header} is not one structured-field string such as "8e03978e-40d5-43dd-bc93-6894a57f9324".`);
  }
}

function formatProblem(key: string, header: string, format: KeyFormat): string | null {
  if (key === "") return `${header} is empty.`;
  if (!VISIBLE_ASCII.test(key)) return `${header} may have visible ASCII characters only, and no spaces.`;
  if (key.length < format.min) return `${header} must have at least ${format.min} characters.`;
  if (key.length > format.max) return `${header} may have at most ${format.max} characters.`;
  if (format.pattern !== null && !compiled(format.pattern).test(key)) {
    return `${header} does not have the published format ${format.pattern}.`;
  }
  return null;
}

const patterns = new Map<string, RegExp>();

/** Patterns come from the configuration alone, so the cache is as small as that. */
function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const regExp = new RegExp(`^(?:${pattern})$`, "u");
  patterns.set(pattern, regExp);
  return regExp;
}

function invalid(reason: string): ParsedKey {
  return { kind: "invalid", reason };
}
