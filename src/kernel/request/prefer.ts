// Reads the preferences that accepted requests know, `respond-async` and `wait` (RFC 7240), and takes them out of what the origin gets:
// the gateway has applied them, and an origin that applied them again would answer 202 instead of a result.

import type { AsyncRule } from "../config/words.ts";

/** A longer value prefers nothing: no client writes one, and reading it takes time. */
const MAX_VALUE_LENGTH = 1024;

/** The preferences of a list. A comma in a quoted text separates nothing. */
const PREFERENCES = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;

/** RFC 7240, section 2, with its parameters, which mean nothing here. */
const PREFERENCE =
  /^[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:=[ \t]*(?:(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|"((?:[^"\\]|\\.)*)")[ \t]*)?)?(?:;|$)/;

export interface RequestPreferences {
  /** Whether the client wants an answer before the result is there (section 4.1). */
  readonly respondAsync: boolean;
  /** How long the client wants to wait for the result (section 4.3); `null`: it does not say. */
  readonly waitMs: number | null;
}

const NONE: RequestPreferences = { respondAsync: false, waitMs: null };

/** `value`: all `Prefer` lines of a request. What cannot be read is ignored, as any preference may be. */
export function preferencesIn(value: string | null): RequestPreferences {
  if (value === null || value.length > MAX_VALUE_LENGTH) return NONE;
  const first = new Map<string, string>();
  for (const text of listed(value)) {
    const preference = readPreference(text);
    if (preference !== null && !first.has(preference.name)) first.set(preference.name, preference.value);
  }
  const wait = first.get("wait") ?? "";
  return {
    respondAsync: first.get("respond-async") === "",
    waitMs: /^[0-9]+$/.test(wait) ? Number(wait) * 1000 : null,
  };
}

/** Whether a request with these preferences is answered before its result is there. */
export function isAccepted(rule: AsyncRule, { respondAsync }: RequestPreferences): boolean {
  return rule === "always" || (rule === "prefer" && respondAsync);
}

/** The same without the preferences that the gateway applies; `null`: none is left. */
export function withoutApplied(value: string): string | null {
  if (value.length > MAX_VALUE_LENGTH) return value;
  const others = listed(value).filter((text) => !APPLIED.has(readPreference(text)?.name ?? ""));
  return others.length === 0 ? null : others.map((text) => text.trim()).join(", ");
}

const APPLIED: ReadonlySet<string> = new Set(["respond-async", "wait"]);

function listed(value: string): readonly string[] {
  return (value.match(PREFERENCES) ?? []).filter((text) => text.trim() !== "");
}

function readPreference(text: string): { readonly name: string; readonly value: string } | null {
  const match = PREFERENCE.exec(text);
  if (match === null) return null;
  const [, name = "", token, quoted = ""] = match;
  return { name: name.toLowerCase(), value: token ?? quoted.replaceAll(/\\(.)/g, "$1") };
}
