// What `onceway init` adds to a wrangler.jsonc: what a gateway needs and the file lacks. Comments, order and what is there stay as they
// are. Pure; the checker decides on the finished text whether it is valid.

import { applyEdits, type JSONPath, modify, parse } from "jsonc-parser";

import { MIN_COMPATIBILITY_DATE } from "./check/deployment.ts";
import type { ConfigProblem } from "../kernel/config/config-problem.ts";
import { isTable, listOf, type SettingsTable } from "../kernel/config/table.ts";
import { routeVariables } from "../kernel/config/read.ts";
import { type GatewayPlan, settingsOf } from "./init-plan.ts";

export interface JsonPlan {
  readonly text: string;
  /** The program that the file names. */
  readonly main: string;
  /** What was added, as JSON that one could also add by hand. */
  readonly added: SettingsTable;
  /** What stands there is replaced by what a gateway needs, and by nothing less. */
  readonly replaced: readonly { readonly name: string; readonly from: unknown; readonly to: unknown }[];
}

interface Addition {
  readonly path: JSONPath;
  readonly value: unknown;
  /** An entry of the list that is at the path. */
  readonly isEntry?: boolean;
}

const SHARD = { name: "KEY_SHARD", class_name: "KeyShard" };
const FLAG = "enable_request_signal";

/** The text of a new file, in which everything is missing yet. Editors allow comments in a `.jsonc` only. */
export function emptyJson(file: string, { origin, paths }: GatewayPlan): string {
  if (!file.endsWith("c")) return "{}\n";
  const what = `// An idempotency gateway in front of ${origin === null ? "a Hono application" : origin.replaceAll(/\s/g, " ")}.`;
  return `${what}\n// "npx onceway check" checks this file; ${paths.settings} explains every setting.\n{}\n`;
}

const SHAPES = {
  text: { is: (value: unknown) => typeof value === "string", words: "text" },
  list: { is: (value: unknown) => Array.isArray(value), words: "a list, in brackets" },
  object: { is: isTable, words: "an object, in braces" },
} as const;

/** What a gateway adds to, or leaves as it is. */
const MEMBERS: readonly (readonly [
  path: readonly string[],
  shape: keyof typeof SHAPES,
  entries?: "text" | "object",
])[] = [
  [["name"], "text"],
  [["main"], "text"],
  [["compatibility_date"], "text"],
  [["compatibility_flags"], "list", "text"],
  [["durable_objects"], "object"],
  [["durable_objects", "bindings"], "list", "object"],
  [["migrations"], "list", "object"],
  [["vars"], "object"],
];

/** What stands where something else belongs: nothing could be added to it, and it is not for this program to replace it. */
export function misshapenProblems(file: SettingsTable): readonly ConfigProblem[] {
  return MEMBERS.flatMap(([path, shape, entries]) => {
    const value = path.reduce<unknown>((at, name) => (isTable(at) ? at[name] : undefined), file);
    if (value === undefined) return [];
    const at = path.join(".");
    if (!SHAPES[shape].is(value)) return [misshape(at, shape)];
    if (entries === undefined) return [];
    return listOf(value).flatMap((one, index) =>
      SHAPES[entries].is(one) ? [] : [misshape(`${at}[${index}]`, entries)],
    );
  });
}

function misshape(path: string, shape: keyof typeof SHAPES): ConfigProblem {
  return { path, message: `must be ${SHAPES[shape].words}: write it so, or leave it out` };
}

/** `text` is valid, and nothing in it is misshapen. */
export function withGateway(text: string, plan: GatewayPlan): JsonPlan {
  const parsed: unknown = parse(text);
  const file = isTable(parsed) ? parsed : {};
  const additions = [...programOf(file, plan), ...platformOf(file), ...variablesOf(file, plan)];
  let changed = text;
  for (const { path, value, isEntry = false } of additions) {
    const at = isEntry ? [...path, -1] : path;
    changed = applyEdits(
      changed,
      modify(changed, at, value, { formattingOptions: formOf(text), isArrayInsertion: isEntry }),
    );
  }
  const { main } = file;
  const replaced = additions.flatMap(({ path: [name = ""], value }) =>
    name === "compatibility_date" && file[name] !== undefined ? [{ name, from: file[name], to: value }] : [],
  );
  return {
    text: changed,
    added: tableOf(additions),
    replaced,
    main: typeof main === "string" ? main : plan.paths.main,
  };
}

/** A file with nothing in it gets what a gateway of its own has. */
function programOf(file: SettingsTable, { name, paths }: GatewayPlan): readonly Addition[] {
  const small = { minify: true, keep_names: false, upload_source_maps: true, observability: { enabled: true } };
  const own = { $schema: paths.schema, name, main: paths.main };
  const wanted = Object.keys(file).length === 0 ? { ...own, ...small } : { name, main: paths.main };
  return Object.entries(wanted)
    .filter(([key]) => file[key] === undefined)
    .map(([key, value]) => ({ path: [key], value }));
}

function platformOf(file: SettingsTable): readonly Addition[] {
  const { compatibility_date: date, compatibility_flags: flags, durable_objects: objects, exports: exported } = file;
  const { migrations } = file;
  const bindings = listOf(isTable(objects) ? objects["bindings"] : undefined);
  const isRecent = typeof date === "string" && date >= MIN_COMPATIBILITY_DATE;
  const isBound = bindings.some((one) => isTable(one) && one["name"] === SHARD.name);
  const { class_name: name } = SHARD;
  // However it is created, or renamed: the checker says if nothing of it is left.
  const isCreated = (isTable(exported) && exported[name] !== undefined) || listOf(migrations).some(namesShard);
  const migration = { tag: freeTag(listOf(migrations)), new_sqlite_classes: [name] };
  return [
    ...(isRecent ? [] : [{ path: ["compatibility_date"], value: MIN_COMPATIBILITY_DATE }]),
    ...(listOf(flags).includes(FLAG) ? [] : [entry(["compatibility_flags"], FLAG, flags)]),
    ...(isBound
      ? []
      : [entry(["durable_objects", "bindings"], SHARD, isTable(objects) ? objects["bindings"] : undefined)]),
    ...(isCreated ? [] : [entry(["migrations"], migration, migrations)]),
  ];
}

/** Whether a migration is about the class of the gateway's objects. */
function namesShard(migration: unknown): boolean {
  if (!isTable(migration)) return false;
  const named = Object.values(migration).flatMap(listOf);
  return named.some((one) => (isTable(one) ? one["to"] : one) === SHARD.class_name);
}

/** Wrangler takes a migration for done by its tag. */
function freeTag(migrations: readonly unknown[]): string {
  if (migrations.length === 0) return "v1";
  const taken = new Set(migrations.map((one) => (isTable(one) ? one["tag"] : null)));
  let number = 1;
  while (taken.has(`onceway-v${number}`)) number += 1;
  return `onceway-v${number}`;
}

function variablesOf(file: SettingsTable, plan: GatewayPlan): readonly Addition[] {
  const vars = isTable(file["vars"]) ? file["vars"] : {};
  const { defaults, identities } = settingsOf(plan);
  return [
    ...(vars["IDEMPOTENCY"] === undefined ? [{ path: ["vars", "IDEMPOTENCY"], value: defaults }] : []),
    ...(identities !== null && vars["IDENTITIES"] === undefined && vars["IDEMPOTENCY"] === undefined
      ? [{ path: ["vars", "IDENTITIES"], value: identities }]
      : []),
    ...(routeVariables(vars).length === 0
      ? [{ path: ["vars", "ROUTES"], value: plan.routes.map((path) => ({ path })) }]
      : []),
  ];
}

/** At the end of the list that is there, or as a new one. */
function entry(path: JSONPath, value: unknown, list: unknown): Addition {
  return Array.isArray(list) ? { path, value, isEntry: true } : { path, value: [value] };
}

function tableOf(additions: readonly Addition[]): SettingsTable {
  let text = "{}";
  for (const { path, value, isEntry = false } of additions) {
    text = applyEdits(text, modify(text, path, isEntry ? [value] : value, {}));
  }
  const table: unknown = parse(text);
  return isTable(table) ? table : {};
}

/** As the file is indented. */
function formOf(text: string): { readonly insertSpaces: boolean; readonly tabSize: number; readonly eol: string } {
  const [indent = "  "] = /^(?:\t| +)(?=")/m.exec(text) ?? [];
  return {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.startsWith("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}
