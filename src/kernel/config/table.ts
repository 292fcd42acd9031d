// A table of the configuration as it is written, whatever it describes: its type, and what it may not have. Knows no setting of a
// route, so that whatever declares settings can use it.

import type * as v from "valibot";

import { nearestName } from "./nearest-name.ts";
import { type ConfigProblem, valueFix } from "./config-problem.ts";
import { gatewayEntries } from "./settings-gateway.ts";
import { type ParsedSetting, refuseValue } from "./units.ts";

/** A table in TOML, an object in JSON. */
export type SettingsTable = Readonly<Record<string, unknown>>;

export function isTable(value: unknown): value is SettingsTable {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Its entries; none if it is no list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Those of its entries that are tables. */
export function tablesOf(value: unknown): readonly SettingsTable[] {
  return listOf(value).filter(isTable);
}

/** A variable from the dashboard may be JSON text; one from wrangler.toml is parsed already. */
export function readJsonVariable(variable: unknown): ParsedSetting<unknown> {
  if (typeof variable !== "string") return { ok: true, value: variable };
  try {
    const value: unknown = JSON.parse(variable);
    return { ok: true, value };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "syntax";
    return refuseValue(`is text that is not JSON (${reason}): write valid JSON, or a table in wrangler.toml`);
  }
}

/** One problem for each member of a table that is not known there. */
export function unknownMembers(table: SettingsTable, path: string, known: readonly string[]): readonly ConfigProblem[] {
  return Object.keys(table)
    .filter((name) => !known.includes(name))
    .map((name) => unknownMember(path + dottedPath([name]), name, known));
}

function unknownMember(path: string, name: string, known: readonly string[]): ConfigProblem {
  const where = placeOf(name);
  return where === null ? unknownName(path, name, known) : { path, code: "setting-misplaced", message: where };
}

/** Where a setting belongs that other tables have; null if there is none of that name. */
function placeOf(name: string): string | null {
  if (name === "path") return "is a setting of routes only: write it in [[vars.ROUTES]]";
  return Object.hasOwn(gatewayEntries, name)
    ? "is a setting of the whole gateway: write it in [vars.IDEMPOTENCY]"
    : null;
}

/** A name that no table of this kind has. */
export function unknownName(path: string, name: string, known: readonly string[]): ConfigProblem {
  const nearest = nearestName(name, known);
  const code = "setting-unknown";
  if (nearest === null)
    return { path, code, message: `unknown setting: remove it, or write one of ${known.join(", ")}` };
  const message = `unknown setting; did you mean "${nearest}"?`;
  return { path, code, message, fix: { replace: "key", text: nearest } };
}

/** What valibot found, with the value that was meant if a parser of ours knew it (`parsed`). */
export function problemOfIssue(path: string, issue: v.BaseIssue<unknown>): ConfigProblem {
  const { kind, type, expected, input, message } = issue;
  // The words that a choice takes, as valibot writes them: `"hold" | "verify"`.
  const words = type === "picklist" ? [...(expected ?? "").matchAll(/"([^"]*)"/g)].map(([, word = ""]) => word) : [];
  const nearest = typeof input === "string" ? nearestName(input, words) : null;
  if (nearest !== null) {
    return {
      path,
      message: `"${String(input)}" is none of its values; did you mean "${nearest}"?`,
      fix: valueFix(nearest),
    };
  }
  const isMeant = kind === "transformation" && expected !== null;
  return { path, message, ...(isMeant ? { fix: { replace: "value", text: expected } } : {}) };
}

export function pickMembers(table: SettingsTable, keep: (name: string) => boolean): SettingsTable {
  return Object.fromEntries(Object.entries(table).filter(([name]) => keep(name)));
}

/** A table within the settings says itself which members it has. */
export function memberProblem(path: string, issue: v.BaseIssue<unknown>): ConfigProblem {
  if (issue.expected === "never") return { path, code: "setting-unknown", message: "unknown setting: leave it out" };
  const isMissing = issue.type === "strict_object" && issue.input === undefined && issue.path !== undefined;
  // The schema has one message for all that may be wrong with the table.
  return isMissing
    ? { path, code: "setting-missing", message: issue.message.replace(/^must be a table:/, "is missing:") }
    : problemOfIssue(path, issue);
}

/** An issue with a value, by the names that lead to it. */
export interface PlacedIssue {
  readonly keys: readonly unknown[];
  readonly issue: v.BaseIssue<unknown>;
}

/** `isTableToo`: of the settings that may be a table or another value. Of a table it says what is wrong with its members, instead of that it is no such value. */
export function placedIssues(
  issue: v.BaseIssue<unknown>,
  isTableToo: (name: string) => boolean,
): readonly PlacedIssue[] {
  const keys = keysOf(issue);
  const isMeant = issue.type === "union" && keys.length === 1 && isTableToo(String(keys[0])) && isTable(issue.input);
  const ofMembers = isMeant ? (issue.issues ?? []).filter(({ path }) => path !== undefined) : [];
  if (ofMembers.length === 0) return [{ keys, issue }];
  return ofMembers.map((one) => ({ keys: [...keys, ...keysOf(one)], issue: one }));
}

function keysOf({ path }: v.BaseIssue<unknown>): readonly unknown[] {
  return path?.map(({ key }) => key) ?? [];
}

/** `.scope[0]`, `.key_format.min`; names with other characters in quotes. */
export function dottedPath(keys: readonly unknown[]): string {
  return keys
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      const name = String(key);
      return /^[A-Za-z0-9_-]+$/.test(name) ? `.${name}` : `.${JSON.stringify(name)}`;
    })
    .join("");
}
