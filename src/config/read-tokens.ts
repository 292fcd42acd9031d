// What a token has to be: those of operators and of consumers, which are secrets. No message may ever show one.

import type { ConfigProblem } from "./resolved.ts";

/** A random token of this length cannot be guessed. */
const MIN_LENGTH = 32;

/** The characters that a header's value can have, except spaces. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

export const MAKE_TOKEN = "write the output of `openssl rand -hex 32`";

/** What is wrong with a token; nothing if there is none. */
export function tokenProblems(path: string, value: unknown): readonly ConfigProblem[] {
  if (value === undefined) return [];
  if (typeof value === "string" && value.length >= MIN_LENGTH && VISIBLE_ASCII.test(value)) return [];
  return [{ path, message: `must be at least ${MIN_LENGTH} visible ASCII characters without spaces: ${MAKE_TOKEN}` }];
}
