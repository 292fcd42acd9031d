// Reads one table of settings and reports everything that is wrong with it, setting by setting. Keeps the valid settings, so
// that relations between them can be checked in the same pass; an invalid setting is always left out.

import * as v from "valibot";

import { nearestName } from "./nearest-name.ts";
import { type ConfigProblem, valueFix } from "./problem.ts";
import { type Parsed, refuse } from "./units.ts";
import { settingsEntries, settingsSchema, type Settings } from "./settings.ts";
import { gatewayEntries } from "./settings-gateway.ts";
import { driveEntries } from "../../features/accepted/settings/entries.ts";
import { corsEntries } from "../../features/pages/settings/entries.ts";
import { fingerprintEntries } from "./settings-fingerprint.ts";
import { excerptEntries } from "../notes/settings-note.ts";
import { keyFormatEntries, newKeysEntries } from "./settings-key.ts";

/** The result of reading a table of settings. */
export interface SettingsReading {
  /** The valid ones. */
  readonly settings: Settings;
  /** Settings whose value is not known: the invalid ones, and those for which an unknown name was probably meant. */
  readonly faulty: ReadonlySet<string>;
  readonly problems: readonly ConfigProblem[];
}

/** A table in TOML, an object in JSON. */
export type Table = Readonly<Record<string, unknown>>;

/** Tables within the settings. `origin` is not among them: its own message covers it. */
const INNER_TABLES: ReadonlyMap<string, readonly string[]> = new Map([
  ["key_format", Object.keys(keyFormatEntries)],
  ["new_keys", Object.keys(newKeysEntries)],
  ["fingerprint", Object.keys(fingerprintEntries)],
  ["cors", Object.keys(corsEntries)],
  ["give_up", Object.keys(driveEntries)],
  ["excerpt", Object.keys(excerptEntries)],
]);

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Its entries; none if it is no list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Those of its entries that are tables. */
export function tablesOf(value: unknown): readonly Table[] {
  return listOf(value).filter(isTable);
}

/** A variable from the dashboard may be JSON text; one from wrangler.toml is parsed already. */
export function readJson(variable: unknown): Parsed<unknown> {
  if (typeof variable !== "string") return { ok: true, value: variable };
  try {
    const value: unknown = JSON.parse(variable);
    return { ok: true, value };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "syntax";
    return refuse(`is text that is not JSON (${reason}): write valid JSON, or a table in wrangler.toml`);
  }
}

/** Reads the settings of `table`, which is at `path`. The caller reads those named in `others` itself. */
export function readSettings(table: Table, path: string, others: readonly string[]): SettingsReading {
  const known = [...others, ...Object.keys(settingsEntries)];
  const problems = [...unknownMembers(table, path, known)];
  const faulty = new Set(
    Object.keys(table)
      .filter((name) => !known.includes(name))
      .map((name) => nearestName(name, known) ?? name),
  );
  for (const [name, inner] of INNER_TABLES) {
    const value = table[name];
    if (isTable(value)) problems.push(...unknownMembers(value, `${path}.${name}`, inner));
  }
  const written = pick(table, (name) => Object.hasOwn(settingsEntries, name));
  const first = v.safeParse(settingsSchema, written);
  if (first.success) return { settings: first.output, faulty, problems };
  for (const issue of first.issues) {
    const keys = issue.path?.map((item) => item.key) ?? [];
    faulty.add(String(keys[0]));
    // The schema names only the first unknown setting of a table; `unknownMembers` has named them all.
    if (issue.expected !== "never") problems.push(problemOfIssue(path + dotted(keys), issue));
  }
  const valid = v.safeParse(
    settingsSchema,
    pick(written, (name) => !faulty.has(name)),
  );
  return { settings: valid.success ? valid.output : {}, faulty, problems };
}

/** One problem for each member of a table that is not known there. */
export function unknownMembers(table: Table, path: string, known: readonly string[]): readonly ConfigProblem[] {
  return Object.keys(table)
    .filter((name) => !known.includes(name))
    .map((name) => unknownMember(path + dotted([name]), name, table[name], known));
}

function unknownMember(path: string, name: string, value: unknown, known: readonly string[]): ConfigProblem {
  const where = placeOf(name, value);
  return where === null ? unknownName(path, name, known) : { path, code: "setting-misplaced", message: where };
}

/** Where a setting belongs that other tables have; null if there is none of that name. */
function placeOf(name: string, value: unknown): string | null {
  if (name === "headers") {
    const headers = Array.isArray(value) ? value.filter((one) => typeof one === "string") : ["Idempotency-Key"];
    return `is a part of key_from: write key_from = [${headers.map((header) => `"header:${header}"`).join(", ")}]`;
  }
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

function pick(table: Table, keep: (name: string) => boolean): Table {
  return Object.fromEntries(Object.entries(table).filter(([name]) => keep(name)));
}

/** `.scope[0]`, `.key_format.min`; names with other characters in quotes. */
export function dotted(keys: readonly unknown[]): string {
  return keys
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      const name = String(key);
      return /^[A-Za-z0-9_-]+$/.test(name) ? `.${name}` : `.${JSON.stringify(name)}`;
    })
    .join("");
}
