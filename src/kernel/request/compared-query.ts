// The query in the form in which the route compares it. Pairs count as they are written: whether `+` is a space, or `a` the same
// as `a=`, differs between parsers.

import type { FingerprintRule } from "../config/resolved.ts";
import { fieldOf } from "./form-pairs.ts";

/** A longer query is compared as it is. */
const MAX_PAIRS = 1_000;

interface WrittenPair {
  /** As it is in the URL. */
  readonly text: string;
  readonly name: string;
  readonly field: string;
}

/**
 * `search` begins with the question mark, or is empty. The result does too if the query is compared as it is; every other
 * begins with a bracket, and names what was left out.
 */
export function comparedQuery(search: string, { query, queryExcept }: FingerprintRule): string {
  if (query === "none") return '["none"]';
  if (query === "exact" && queryExcept.length === 0) return search;
  const written = readPairs(search);
  if (written === null) return search;
  const left = new Set(queryExcept);
  const pairs = written.filter(({ name }) => !left.has(name));
  const ordered =
    query === "exact"
      ? pairs
      : pairs.toSorted((one, other) => (one.field < other.field ? -1 : one.field > other.field ? 1 : 0));
  return JSON.stringify([query, queryExcept, ordered.map(({ text }) => text)]);
}

/** `null` if some parser would find other pairs: with semicolons, or with names whose escapes are broken or not UTF-8. */
function readPairs(search: string): readonly WrittenPair[] | null {
  if (search.includes(";")) return null;
  const texts = search === "" ? [] : search.slice(1).split("&", MAX_PAIRS + 1);
  if (texts.length > MAX_PAIRS) return null;
  try {
    return texts.map((text) => {
      const name = decodeURIComponent(text.split("=", 1)[0] ?? "");
      return { text, name, field: fieldOf(name) };
    });
  } catch {
    return null;
  }
}
