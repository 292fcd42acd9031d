// The query of a list, as it is declared: a schema for the text of each parameter, with what to write instead of a wrong one. The Worker parses
// with it, and openapi-components.ts makes the document's parameters of it. An unknown parameter is refused: a filter with a typo would list
// everything. Imports nothing that needs the Worker.

import * as v from "valibot";

import { LIST_LIMITS, type ParsedRequest } from "./request-schema.ts";

/** The parameters of a list by their names, each of which may be left out. */
export type QueryEntries = Readonly<Record<string, v.ExactOptionalSchema<v.GenericSchema<string, unknown>, undefined>>>;

export type ReadQuery<Entries extends QueryEntries> = v.InferOutput<v.StrictObjectSchema<Entries, undefined>>;

const LIMIT = `limit must be a whole number from 1 to ${LIST_LIMITS.maxLimit}.`;

const limitText = v.pipe(
  v.string(),
  v.regex(/^\d{1,3}$/, LIMIT),
  v.transform(Number),
  v.minValue(1, LIMIT),
  v.maxValue(LIST_LIMITS.maxLimit, LIMIT),
);

/** Those of every list. */
export const PAGE_QUERY = { limit: v.exactOptional(limitText), cursor: v.exactOptional(v.string()) };

export interface PageQuery {
  readonly limit: number;
  readonly cursor: string | null;
}

/** Which page is asked for. */
export function pageOf({ limit = LIST_LIMITS.defaultLimit, cursor = null }: Partial<PageQuery>): PageQuery {
  return { limit, cursor };
}

/** A parameter that is one of some words. */
export function wordOf<const Words extends readonly string[]>(name: string, words: Words) {
  return v.exactOptional(v.picklist(words, `${name} must be one of ${words.join(", ")}.`));
}

/** A parameter that is not empty, of at most so many characters. */
export function shortText(maxLength: number, message: string) {
  return v.exactOptional(v.pipe(v.string(), v.nonEmpty(message), v.maxLength(maxLength, message)));
}

/** A parameter that matches a pattern; `message`: what to write instead. */
export function textLike(pattern: RegExp, message: string) {
  return v.exactOptional(v.pipe(v.string(), v.regex(pattern, message)));
}

/** `mayRepeat`: its values are joined by commas. */
export function parseQuery<const Entries extends QueryEntries>(
  entries: Entries,
  query: URLSearchParams,
  mayRepeat?: keyof Entries & string,
): ParsedRequest<ReadQuery<Entries>> {
  const names = Object.keys(entries);
  const written = new Map<string, string>();
  for (const [name, value] of query) {
    const before = written.get(name);
    if (!names.includes(name)) return refuseQuery(`Unknown parameter: write one of ${names.join(", ")}.`);
    if (before !== undefined && name !== mayRepeat)
      return refuseQuery(`${name} is given more than once: write it once.`);
    written.set(name, before === undefined ? value : `${before},${value}`);
  }
  const read = v.safeParse(v.strictObject(entries), Object.fromEntries(written), { abortEarly: true });
  return read.success ? { ok: true, value: read.output } : refuseQuery(read.issues[0].message);
}

export function refuseQuery(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
