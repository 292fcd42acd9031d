// All cases, in the order in which they are run.

import type { ConformanceCase } from "./case.ts";
import { ACP } from "./cases/acp.ts";
import { ADCP } from "./cases/adcp.ts";
import { BYTES } from "./cases/bytes.ts";
import { CONCURRENCY } from "./cases/concurrency.ts";
import { CRASH } from "./cases/crash.ts";
import { EXPIRY } from "./cases/expiry.ts";
import { FAILURES } from "./cases/failures.ts";
import { MCP } from "./cases/mcp.ts";
import { MISMATCH } from "./cases/mismatch.ts";
import { REPLAY } from "./cases/replay.ts";
import { SCOPES } from "./cases/scopes.ts";
import { STREAMING } from "./cases/streaming.ts";
import { SYNTAX } from "./cases/syntax.ts";
import { UCP_MCP } from "./cases/ucp-mcp.ts";
import { UCP } from "./cases/ucp.ts";

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

/** What a server may be judged by: this project's profile of the draft, or a protocol's own rules. */
export const PROFILES = {
  idempotency: CASES,
  acp: ACP,
  ucp: UCP,
  "ucp-mcp": UCP_MCP,
  adcp: ADCP,
  mcp: MCP,
} as const satisfies Readonly<Record<string, readonly ConformanceCase[]>>;

export type ProfileName = keyof typeof PROFILES;

export const PROFILE_NAMES = [
  "idempotency",
  "acp",
  "ucp",
  "ucp-mcp",
  "adcp",
  "mcp",
] as const satisfies readonly ProfileName[];

/** The cases that `words` select, each a group or an id; all without words. `unknown`: words that select nothing. */
export function selectCases(
  words: readonly string[],
  profile: ProfileName = "idempotency",
): {
  readonly cases: readonly ConformanceCase[];
  readonly unknown: readonly string[];
} {
  const all: readonly ConformanceCase[] = PROFILES[profile];
  if (words.length === 0) return { cases: all, unknown: [] };
  return {
    cases: all.filter((one) => words.some((word) => matches(word, one))),
    unknown: words.filter((word) => !all.some((one) => matches(word, one))),
  };
}

function matches(word: string, { id }: ConformanceCase): boolean {
  return id === word || id.startsWith(`${word}.`);
}
