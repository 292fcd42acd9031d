// Reads an idempotency key from a header: a structured-field string (draft-ietf-httpapi-idempotency-key-header-07, section 2.1) or
// the same value without quotes, which is what the SDKs send. Both forms name the same record. Keys from other places:
// find-key.ts.

import { parseItem } from "structured-headers";
import type { HeadersView } from "./headers.ts";

export interface KeyFormat {
  /** A regular expression that the whole key must match; `null` if any key is valid. */
  readonly pattern: string | null;
  /** The smallest and largest length, in characters. */
  readonly min: number;
  readonly max: number;
}

export type ParsedKey =
  | { readonly kind: "absent" }
  | { readonly kind: "invalid"; readonly reason: string }
  | ({ readonly kind: "key" } & IdempotencyKey);

export type InvalidKey = Extract<ParsedKey, { kind: "invalid" }>;

export interface IdempotencyKey {
  readonly key: string;
  /** For the echo: the value as the client sent it in a header, or a derived key as a header would carry it. */
  readonly raw: string;
  /** The name of the header that carried it, or would carry it. */
  readonly header: string;
  /** Its client has sent none: it is made from the request's content. */
  readonly isFromContent?: true;
}

/**
 * The most characters of a header's value, parameters included. A key of 255 needs at most 512 with quotes and escapes, and
 * parameters mean nothing here. A limit is needed because parsing the longest value that a request may carry would block the
 * isolate for a hundred milliseconds.
 */
export const MAX_VALUE_LENGTH = 4096;

export const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** Reads the key from the first of the headers `names` that the request has. All others of them must carry the same key. */
export function parseKey(headers: HeadersView, names: readonly string[], format: KeyFormat): ParsedKey {
  let found: Extract<ParsedKey, { kind: "key" }> | null = null;
  for (const header of names) {
    const raw = headers.get(header);
    if (raw === null) continue;
    const value = parseKeyHeader(raw, header);
    if (typeof value !== "string") return value;
    const problem = formatProblem(value, header, format);
    if (problem !== null) return invalidKey(problem);
    if (found !== null && found.key !== value) {
      return invalidKey(`${found.header} and ${header} carry different keys; send only one.`);
    }
    found ??= { kind: "key", key: value, raw, header };
  }
  return found ?? { kind: "absent" };
}

/** The key in a header's value, or what is wrong with it. */
export function parseKeyHeader(raw: string, header: string): string | InvalidKey {
  if (raw === "") return invalidKey(`${header} is empty.`);
  if (raw.length > MAX_VALUE_LENGTH) return invalidKey(`${header} is longer than ${MAX_VALUE_LENGTH} characters.`);
  // The runtime joins repeated header lines with ", ". A key may not contain spaces, so two joined keys never pass for one.
  // Proxies may join with "," alone, so an unquoted key may not contain commas either.
  if (!raw.startsWith('"')) {
    if (raw.includes(",")) {
      return invalidKey(`${header} is repeated or a list; send one key, in quotes if it contains a comma.`);
    }
    return raw;
  }
  try {
    const [value, parameters] = parseItem(raw);
    // Two joined lines can look like one key whose parameter contains a comma. Parameters mean nothing here, so a value with
    // both parameters and a comma can be refused.
    if (parameters.size > 0 && raw.includes(",")) return invalidKey(`${header} is repeated or a list; send one key.`);
    return typeof value === "string" ? value : invalidKey(`${header} is not a string.`);
  } catch {
    return invalidKey(`${header} is not one structured-field string such as "8e03978e-40d5-43dd-bc93-6894a57f9324".`);
  }
}

/** `place` is the header that carried the key, or another place. */
export function formatProblem(key: string, place: string, format: KeyFormat): string | null {
  if (key === "") return `${place} is empty.`;
  if (!VISIBLE_ASCII.test(key)) return `${place} may contain only visible ASCII characters, without spaces.`;
  if (key.length < format.min) return `${place} must have at least ${format.min} characters.`;
  if (key.length > format.max) return `${place} may have at most ${format.max} characters.`;
  if (format.pattern !== null && !compiled(format.pattern).test(key)) {
    return `${place} does not match the published format ${format.pattern}.`;
  }
  return null;
}

const patterns = new Map<string, RegExp>();

/** Patterns come only from the configuration, so the cache stays small. */
function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const regExp = new RegExp(`^(?:${pattern})$`, "u");
  patterns.set(pattern, regExp);
  return regExp;
}

export function invalidKey(reason: string): InvalidKey {
  return { kind: "invalid", reason };
}
