// Reads the operators' tokens, which are secrets (`wrangler secret put ADMIN_TOKEN`). No message may ever show one.

import type { ConfigProblem } from "./resolved.ts";

export interface Tokens {
  /** May read and change. */
  readonly admin: string;
  /** May read; `null` when there is none. */
  readonly read: string | null;
}

export interface TokensReading {
  /** `null`: operators have no access. */
  readonly tokens: Tokens | null;
  readonly problems: readonly ConfigProblem[];
}

/** A random token of this length cannot be guessed. */
const MIN_LENGTH = 32;

/** The characters that a header's value can have, except spaces. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

export const MAKE_TOKEN = "write the output of `openssl rand -hex 32`";

export function readTokens(env: Readonly<Record<string, unknown>>): TokensReading {
  const admin = env["ADMIN_TOKEN"];
  const read = env["READ_TOKEN"];
  const problems = [...tokenProblems("ADMIN_TOKEN", admin), ...tokenProblems("READ_TOKEN", read)];
  if (admin === undefined && read !== undefined) {
    problems.push({
      path: "READ_TOKEN",
      message: "has no effect without ADMIN_TOKEN: set that too, or leave READ_TOKEN out",
    });
  }
  if (read !== undefined && read === admin) {
    problems.push({
      path: "READ_TOKEN",
      message: `must differ from ADMIN_TOKEN, which may change records: ${MAKE_TOKEN}`,
    });
  }
  if (problems.length > 0 || typeof admin !== "string") return { tokens: null, problems };
  return { tokens: { admin, read: typeof read === "string" ? read : null }, problems };
}

/** What is wrong with a token; nothing if there is none. */
export function tokenProblems(path: string, value: unknown): readonly ConfigProblem[] {
  if (value === undefined) return [];
  if (typeof value === "string" && value.length >= MIN_LENGTH && VISIBLE_ASCII.test(value)) return [];
  return [{ path, message: `must be at least ${MIN_LENGTH} visible ASCII characters without spaces: ${MAKE_TOKEN}` }];
}
