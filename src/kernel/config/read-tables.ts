// Reads variables that hold lists of tables, such as `QUEUES` and `CONSUMERS`: each table against its schema, every problem at once,
// with its path and what to write instead.

import * as v from "valibot";

import type { ConfigProblem } from "./config-problem.ts";
import {
  dottedPath,
  isTable,
  memberProblem,
  pickMembers,
  readJsonVariable,
  type SettingsTable,
  unknownName,
} from "./table.ts";
import type { SettingEntries } from "./setting-kinds.ts";
import type { WrittenSettings } from "./settings.ts";

/** A table's own settings. */
type TableSchema = v.StrictObjectSchema<v.ObjectEntries, undefined>;

/** What tables of one kind are. */
export interface TableKind<Schema extends TableSchema> {
  /** Every variable whose name starts with this is read. */
  readonly variable: string;
  /** What a list of them is called: `queues`. */
  readonly plural: string;
  /** What to write: `write [[vars.QUEUES]] with queue = "orders"`. */
  readonly advice: string;
  readonly schema: Schema;
  /** The settings of routes that mean the same in these tables. A name that no setting has is left out. */
  readonly inherits: readonly string[];
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
  /** Its own settings. */
  readonly written: Written;
  /** The settings of routes that it has. */
  readonly settings: WrittenSettings;
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

/** `routeSettings`: all that routes may have. */
export function readTables<Schema extends TableSchema>(
  env: Readonly<Record<string, unknown>>,
  kind: TableKind<Schema>,
  routeSettings: SettingEntries,
): TablesReading<v.InferOutput<Schema>> {
  const tables: ReadTable<v.InferOutput<Schema>>[] = [];
  const names: string[] = [];
  const problems: ConfigProblem[] = [];
  const { named } = kind;
  for (const variable of variablesOf(env, kind.variable)) {
    const list = readJsonVariable(env[variable]);
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
      const read = readTable(value, `${variable}[${index}]`, kind, routeSettings);
      if ("problems" in read) problems.push(...read.problems);
      else if (tables.some(({ written }) => named.of(written) === named.of(read.written))) {
        const message = `names the ${named.what} "${named.of(read.written)}" again: write each ${named.what} once`;
        problems.push({ path: `${read.name}.${named.member}`, message });
      } else tables.push(read);
    }
  }
  return { tables, names, problems };
}

function readTable<Schema extends TableSchema>(
  value: unknown,
  name: string,
  kind: TableKind<Schema>,
  routeSettings: SettingEntries,
): ReadTable<v.InferOutput<Schema>> | { readonly problems: readonly ConfigProblem[] } {
  if (!isTable(value)) return { problems: [{ path: name, message: `must be a table: ${kind.advice}` }] };
  const inherited = inheritedEntries(kind.inherits, routeSettings);
  const unknown = unknownMembers(value, name, kind.nothingFor, [kind.schema.entries, inherited], routeSettings);
  const missing = Object.keys(kind.missing).filter((member) => !Object.hasOwn(value, member));
  const own = v.safeParse(
    kind.schema,
    pickMembers(value, (member) => Object.hasOwn(kind.schema.entries, member)),
  );
  const inheritedSchema: v.GenericSchema<unknown, WrittenSettings> = v.strictObject(inherited);
  const ofRoutes = v.safeParse(
    inheritedSchema,
    pickMembers(value, (member) => Object.hasOwn(inherited, member)),
  );
  if (own.success && ofRoutes.success && unknown.length === 0)
    return { name, written: own.output, settings: ofRoutes.output };
  const issues = [...(own.issues ?? []), ...(ofRoutes.issues ?? [])];
  const wrong = issues.flatMap((issue) => {
    const keys = issue.path?.map((item) => item.key) ?? [];
    const isMissing = keys.length === 1 && missing.includes(String(keys[0]));
    return isMissing ? [] : [memberProblem(name + dottedPath(keys), issue)];
  });
  const absent = missing.map((member) => ({
    path: `${name}.${member}`,
    code: "setting-missing" as const,
    message: kind.missing[member] ?? kind.advice,
  }));
  return { problems: [...absent, ...unknown, ...wrong] };
}

/** The settings of routes that tables of a kind have. */
export function inheritedEntries(names: readonly string[], routeSettings: SettingEntries): SettingEntries {
  return Object.fromEntries(
    names.flatMap((name) => {
      const entry = routeSettings[name];
      return entry === undefined ? [] : [[name, entry]];
    }),
  );
}

function unknownMembers(
  table: SettingsTable,
  path: string,
  nothingFor: string,
  known: readonly object[],
  routeSettings: SettingEntries,
): readonly ConfigProblem[] {
  const members = known.flatMap((entries) => Object.keys(entries));
  return Object.keys(table)
    .filter((name) => !members.includes(name))
    .map((name) => {
      const at = path + dottedPath([name]);
      if (!Object.hasOwn(routeSettings, name)) return unknownName(at, name, members);
      return {
        path: at,
        code: "setting-unused",
        message: `is a setting of routes, and means nothing ${nothingFor}: leave it out`,
      };
    });
}
