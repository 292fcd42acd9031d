// Reads one table of settings and reports everything that is wrong with it, setting by setting. Keeps the valid settings, so
// that relations between them can be checked in the same pass; an invalid setting is always left out.

import * as v from "valibot";

import { nearestName } from "./nearest-name.ts";
import type { ConfigProblem } from "./config-problem.ts";
import type { DeclaredSettings, WrittenSettings } from "./settings.ts";
import {
  dottedPath,
  isTable,
  memberProblem,
  pickMembers,
  placedIssues,
  type SettingsTable,
  unknownMembers,
} from "./table.ts";

/** The result of reading a table of settings. */
export interface SettingsReading {
  /** The valid ones. */
  readonly settings: WrittenSettings;
  /** Settings whose value is not known: the invalid ones, and those for which an unknown name was probably meant. */
  readonly faulty: ReadonlySet<string>;
  readonly problems: readonly ConfigProblem[];
}

/** Reads the settings of `table`, which is at `path`. The caller reads those named in `others` itself. */
export function readSettings(
  table: SettingsTable,
  path: string,
  others: readonly string[],
  { entries, schema, tables }: DeclaredSettings,
): SettingsReading {
  const known = [...others, ...Object.keys(entries)];
  const problems = [...unknownMembers(table, path, known)];
  const faulty = new Set(
    Object.keys(table)
      .filter((name) => !known.includes(name))
      .map((name) => nearestName(name, known) ?? name),
  );
  for (const [name, inner] of tables) {
    const value = table[name];
    if (isTable(value)) problems.push(...unknownMembers(value, `${path}.${name}`, inner));
  }
  const written = pickMembers(table, (name) => Object.hasOwn(entries, name));
  const first = v.safeParse(schema, written);
  if (first.success) return { settings: first.output, faulty, problems };
  for (const { keys, issue } of first.issues.flatMap((one) => placedIssues(one, (name) => tables.has(name)))) {
    faulty.add(String(keys[0]));
    // The schema names only the first unknown setting of a table; `unknownMembers` has named them all, but not those of tables in lists.
    const isNamed = issue.expected === "never" && keys.length === 2 && tables.has(String(keys[0]));
    if (!isNamed) problems.push(memberProblem(path + dottedPath(keys), issue));
  }
  const valid = v.safeParse(
    schema,
    pickMembers(written, (name) => !faulty.has(name)),
  );
  return { settings: valid.success ? valid.output : {}, faulty, problems };
}
