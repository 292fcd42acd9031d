// Checks what the gateway needs in wrangler.toml besides its own configuration: the object's binding, its storage, and the
// compatibility date and flags; and that its rate limit bindings are whole. Knows what each environment inherits, and nothing about routes.

import { isTable, listOf, type SettingsTable, tablesOf } from "../../kernel/config/table.ts";
import { type ConfigProblem, valueFix } from "../../kernel/config/config-problem.ts";

/** From this date on, pending work keeps an object alive without a client, and errors keep their flags over RPC. */
export const MIN_COMPATIBILITY_DATE = "2026-10-01";

const SHARD_BINDING = "KEY_SHARD";
const SHARD_CLASS = "KeyShard";

/** With this flag an object sees the signal of the request that it serves, and nothing is passed on to the origin. */
const WANTED_FLAG = "enable_request_signal";

/** This flag would abort the call to the origin as soon as the client disconnects. */
const FORBIDDEN_FLAG = "request_signal_passthrough";

/**
 * Everything in this file that would keep a gateway from working. `own` is the environment's table, `top` the whole file's; they
 * are the same for the top level. Dates, flags and migrations are inherited, bindings are not.
 */
export function deploymentProblems(prefix: string, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  return [
    ...shardProblems(prefix, own),
    ...storageProblems(prefix, own, top),
    ...dateProblems(prefix, own, top),
    ...flagProblems(prefix, own, top),
    ...limiterProblems(prefix, own),
  ];
}

function shardProblems(prefix: string, own: SettingsTable): readonly ConfigProblem[] {
  const path = `${prefix}durable_objects.bindings`;
  const bindings = tablesOf(isTable(own["durable_objects"]) ? own["durable_objects"]["bindings"] : undefined);
  const binding = bindings.find(({ name }) => name === SHARD_BINDING);
  const write = `write [[${path}]] with name = "${SHARD_BINDING}" and class_name = "${SHARD_CLASS}"`;
  if (binding === undefined) {
    const inherited = prefix === "" ? "" : " (environments do not inherit bindings)";
    const message = `there is no binding "${SHARD_BINDING}"${inherited}, so no record can be kept: ${write}`;
    return [{ path, code: prefix === "" ? "binding-missing" : "environment-incomplete", message }];
  }
  if (binding["class_name"] === SHARD_CLASS) return [];
  const message = `"${SHARD_BINDING}" must be bound to the class "${SHARD_CLASS}": ${write}`;
  const at = `${path}[${bindings.indexOf(binding)}].class_name`;
  return [{ path: at, code: "binding-missing", message, fix: valueFix(SHARD_CLASS) }];
}

function storageProblems(prefix: string, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  const exported = own["exports"] ?? top["exports"];
  // The declarative form: wrangler itself checks that each class there names its storage.
  if (isTable(exported) && exported[SHARD_CLASS] !== undefined) return [];
  const isOwn = own["migrations"] !== undefined && prefix !== "";
  const migrations = tablesOf(isOwn ? own["migrations"] : top["migrations"]);
  const storage = storageAfter(migrations).get(SHARD_CLASS);
  if (storage === "sqlite" || storage === "unknown" || (prefix !== "" && !isOwn)) return [];
  const path = `${prefix}migrations`;
  const old = migrations.findIndex(({ new_classes: names }) => listOf(names).includes(SHARD_CLASS));
  if (storage === undefined || old < 0) {
    const [left, tag] = migrations.length === 0 ? ["", 'tag = "v1"'] : [" and leaves it", "a new tag"];
    const message = `no migration creates "${SHARD_CLASS}" with SQLite storage${left}: write [[${path}]] with ${tag} and new_sqlite_classes = ["${SHARD_CLASS}"]`;
    return [{ path, code: "storage-missing", message }];
  }
  return [
    {
      path: `${path}[${old}].new_classes`,
      code: "storage-missing",
      message: `creates "${SHARD_CLASS}" without SQLite, and the gateway's records are rows of SQLite: write new_sqlite_classes = ["${SHARD_CLASS}"]`,
      fix: { replace: "key", text: "new_sqlite_classes" },
    },
  ];
}

/** What storage each class has after these; `unknown`: what it had under its former name, or in another Worker. */
function storageAfter(migrations: readonly SettingsTable[]): ReadonlyMap<unknown, "sqlite" | "other" | "unknown"> {
  const classes = new Map<unknown, "sqlite" | "other" | "unknown">();
  for (const migration of migrations) {
    for (const name of listOf(migration["new_sqlite_classes"])) classes.set(name, "sqlite");
    for (const name of listOf(migration["new_classes"])) classes.set(name, "other");
    for (const name of listOf(migration["deleted_classes"])) classes.delete(name);
    for (const { to } of tablesOf(migration["transferred_classes"])) classes.set(to, "unknown");
    for (const { from, to } of tablesOf(migration["renamed_classes"])) {
      classes.set(to, classes.get(from) ?? "unknown");
      classes.delete(from);
    }
  }
  return classes;
}

function dateProblems(prefix: string, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  if (prefix !== "" && own["compatibility_date"] === undefined) return [];
  const date = textOf(own["compatibility_date"] ?? top["compatibility_date"]);
  // Dates in this form compare as text.
  if (/^\d{4}-\d{2}-\d{2}$/.test(date) && date >= MIN_COMPATIBILITY_DATE) return [];
  const message =
    `must be ${MIN_COMPATIBILITY_DATE} or later, because attempts outlive their clients only from then on: ` +
    `write compatibility_date = "${MIN_COMPATIBILITY_DATE}"`;
  const fix = valueFix(MIN_COMPATIBILITY_DATE);
  return [{ path: `${prefix}compatibility_date`, code: "compatibility-invalid", message, fix }];
}

function flagProblems(prefix: string, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  if (prefix !== "" && own["compatibility_flags"] === undefined) return [];
  const flags = own["compatibility_flags"] ?? top["compatibility_flags"];
  if (typeof flags === "string") {
    const message = `must be a list: write compatibility_flags = [${JSON.stringify(flags)}]`;
    const fix = { replace: "value", text: `[${JSON.stringify(flags)}]` } as const;
    return [{ path: `${prefix}compatibility_flags`, code: "compatibility-invalid", message, fix }];
  }
  if (!Array.isArray(flags) || !flags.includes(FORBIDDEN_FLAG)) return [];
  const message = `"${FORBIDDEN_FLAG}" aborts the origin call when the client leaves: write the flags without it`;
  const path = `${prefix}compatibility_flags[${flags.indexOf(FORBIDDEN_FLAG)}]`;
  return [{ path, code: "compatibility-invalid", message }];
}

/** Without it, an object works for clients that have gone. */
export function flagWarnings(own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  const flags = own["compatibility_flags"] ?? top["compatibility_flags"];
  if (typeof flags === "string" || (Array.isArray(flags) && flags.includes(WANTED_FLAG))) return [];
  const others = Array.isArray(flags) ? flags.filter((one) => typeof one === "string" && one !== FORBIDDEN_FLAG) : [];
  const list = `[${[...others, WANTED_FLAG].map((flag) => JSON.stringify(flag)).join(", ")}]`;
  const message =
    `lacks "${WANTED_FLAG}", so an object does not notice when a client has gone: ` +
    `write compatibility_flags = ${list}`;
  const fix = { replace: "value", text: list } as const;
  return [{ path: "compatibility_flags", code: "compatibility-invalid", message, fix }];
}

/** The periods that the platform counts in, in seconds (Workers documentation, "Rate Limiting"). */
const PERIODS: ReadonlySet<unknown> = new Set([10, 60]);

function limiterProblems(prefix: string, own: SettingsTable): readonly ConfigProblem[] {
  return tablesOf(own["ratelimits"]).flatMap(({ namespace_id: id, simple }, index) => {
    const path = `${prefix}ratelimits[${index}]`;
    const { limit, period } = isTable(simple) ? simple : {};
    const problems: ConfigProblem[] = [];
    if (typeof id !== "string" || !/^[1-9][0-9]*$/.test(id)) {
      problems.push({ path: `${path}.namespace_id`, message: 'must be a whole number as text: write "1001"' });
    }
    if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1) {
      problems.push({ path: `${path}.simple.limit`, message: "must be a whole number of at least 1: write 100" });
    }
    if (!PERIODS.has(period)) {
      problems.push({ path: `${path}.simple.period`, message: "must be 10 or 60 (seconds): write 60" });
    }
    return problems;
  });
}

/** An unquoted date in TOML is a date object, whose text starts with the date. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value instanceof Date ? value.toISOString().slice(0, 10) : "";
}
