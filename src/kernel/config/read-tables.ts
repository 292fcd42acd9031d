// Reads variables that hold lists of tables, such as `QUEUES` and `CONSUMERS`: each table against its schema, every problem at once,
// with its path and what to write instead.

import * as v from "valibot";

import type { ConfigProblem } from "./problem.ts";
import { dotted, isTable, problemOfIssue, readJson, type Table, unknownName } from "./read-settings.ts";
import { settingsEntries } from "./settings.ts";

/** What tables of one kind are. */
export interface TableKind<Schema extends v.GenericSchema> {
  /** Every variable whose name starts with this is read. */
  readonly variable: string;
  /** What a list of them is called: `queues`. */
  readonly plural: string;
  /** What to write: `write [[vars.QUEUES]] with queue = "orders"`. */
  readonly advice: string;
  readonly schema: Schema;
  readonly members: readonly string[];
  /** The messages for members that every table needs. */
  readonly missing: Readonly<Record<string, string>>;
  /** Whom the settings of routes mean nothing for, which these tables do not have: `for messages`. */
  readonly nothingFor: string;
  /** The member that no two tables may share, and what it names: `queue`. */
  readonly named: {
    readonly member: string;
    readonly what: string;
    readonly of: (table: v.InferOutput<Schema>) => string;
  };
}

/** A table without a problem of its own. */
export interface ReadTable<Written> {
  /** Its place in the configuration: `QUEUES[0]`. */
  readonly name: string;
  readonly written: Written;
}

export interface TablesReading<Written> {
  readonly tables: readonly ReadTable<Written>[];
  /** What tables are called, also those with problems. */
  readonly names: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

/** Names of the variables that are read, in their order. */
export function variablesOf(env: Readonly<Record<string, unknown>>, begin: string): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(begin))
    .toSorted();
}

export function readTables<Schema extends v.GenericSchema>(
  env: Readonly<Record<string, unknown>>,
  kind: TableKind<Schema>,
): TablesReading<v.InferOutput<Schema>> {
  const tables: ReadTable<v.InferOutput<Schema>>[] = [];
  const names: string[] = [];
  const problems: ConfigProblem[] = [];
  const { named } = kind;
  for (const variable of variablesOf(env, kind.variable)) {
    const list = readJson(env[variable]);
    if (!list.ok || !Array.isArray(list.value)) {
      const message = list.ok
        ? `must be a list of ${kind.plural}, like every variable whose name starts with ${kind.variable}: ${kind.advice}`
        : list.message;
      problems.push({ path: variable, message });
      continue;
    }
    for (const [index, value] of list.value.entries()) {
      const called: unknown = isTable(value) ? value[named.member] : null;
      if (typeof called === "string") names.push(called);
      const read = readTable(value, `${variable}[${index}]`, kind);
      if ("problems" in read) problems.push(...read.problems);
      else if (tables.some(({ written }) => named.of(written) === named.of(read.written))) {
        const message = `names the ${named.what} "${named.of(read.written)}" again: write each ${named.what} once`;
        problems.push({ path: `${read.name}.${named.member}`, message });
      } else tables.push(read);
    }
  }
  return { tables, names, problems };
}

function readTable<Schema extends v.GenericSchema>(
  value: unknown,
  name: string,
  kind: TableKind<Schema>,
): ReadTable<v.InferOutput<Schema>> | { readonly problems: readonly ConfigProblem[] } {
  if (!isTable(value)) return { problems: [{ path: name, message: `must be a table: ${kind.advice}` }] };
  const unknown = unknownMembers(value, name, kind);
  const missing = Object.keys(kind.missing).filter((member) => !Object.hasOwn(value, member));
  const known = Object.fromEntries(Object.entries(value).filter(([member]) => kind.members.includes(member)));
  const parsed = v.safeParse(kind.schema, known);
  if (parsed.success && unknown.length === 0) return { name, written: parsed.output };
  const issues = parsed.success ? [] : parsed.issues;
  const wrong = issues.flatMap((issue) => {
    const keys = issue.path?.map((item) => item.key) ?? [];
    const isMissing = keys.length === 1 && missing.includes(String(keys[0]));
    return isMissing ? [] : [memberProblem(name + dotted(keys), issue)];
  });
  const absent = missing.map((member) => ({
    path: `${name}.${member}`,
    code: "setting-missing" as const,
    message: kind.missing[member] ?? kind.advice,
  }));
  return { problems: [...absent, ...unknown, ...wrong] };
}

/** A table within the settings says itself which members it has. */
function memberProblem(path: string, issue: v.BaseIssue<unknown>): ConfigProblem {
  if (issue.expected !== "never") return problemOfIssue(path, issue);
  return { path, code: "setting-unknown", message: "unknown setting: leave it out" };
}

function unknownMembers(
  table: Table,
  path: string,
  { members, nothingFor }: Pick<TableKind<v.GenericSchema>, "members" | "nothingFor">,
): readonly ConfigProblem[] {
  return Object.keys(table)
    .filter((name) => !members.includes(name))
    .map((name) => {
      const at = path + dotted([name]);
      if (!Object.hasOwn(settingsEntries, name)) return unknownName(at, name, members);
      return {
        path: at,
        code: "setting-unused",
        message: `is a setting of routes, and means nothing ${nothingFor}: leave it out`,
      };
    });
}
