// All cases, in the order in which they are run.

import type { ConformanceCase } from "./case.ts";
import { BYTES } from "./cases/bytes.ts";
import { CONCURRENCY } from "./cases/concurrency.ts";
import { CRASH } from "./cases/crash.ts";
import { EXPIRY } from "./cases/expiry.ts";
import { FAILURES } from "./cases/failures.ts";
import { MISMATCH } from "./cases/mismatch.ts";
import { REPLAY } from "./cases/replay.ts";
import { SCOPES } from "./cases/scopes.ts";
import { STREAMING } from "./cases/streaming.ts";
import { SYNTAX } from "./cases/syntax.ts";

export const CASES: readonly ConformanceCase[] = [
  ...SYNTAX,
  ...REPLAY,
  ...MISMATCH,
  ...CONCURRENCY,
  ...SCOPES,
  ...BYTES,
  ...STREAMING,
  ...FAILURES,
  ...CRASH,
  ...EXPIRY,
];

/** The cases that `words` select, each a group or an id; all without words. `unknown`: words that select nothing. */
export function selectCases(words: readonly string[]): {
  readonly cases: readonly ConformanceCase[];
  readonly unknown: readonly string[];
} {
  if (words.length === 0) return { cases: CASES, unknown: [] };
  return {
    cases: CASES.filter((one) => words.some((word) => matches(word, one))),
    unknown: words.filter((word) => !CASES.some((one) => matches(word, one))),
  };
}

function matches(word: string, { id }: ConformanceCase): boolean {
  return id === word || id.startsWith(`${word}.`);
}
