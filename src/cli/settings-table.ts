// The documentation of the settings, generated from their declarations in `src/config/settings*.ts`: the descriptions that
// editors show, and the table of `src/kernel/config/README.md`. Decides on form only; must never add a fact.

import * as v from "valibot";

import { pathSchema } from "../kernel/config/settings.ts";
import { FEATURE_SETTINGS, SETTINGS } from "../features/settings.ts";
import { inheritedEntries } from "../kernel/config/read-tables.ts";
import type { SettingEntries } from "../kernel/config/setting-kinds.ts";
import { gatewayEntries } from "../kernel/config/settings-gateway.ts";
import { fingerprintEntries } from "../kernel/config/settings-fingerprint.ts";
import { keyFormatEntries } from "../kernel/config/settings-key.ts";
import type { NodeVariable } from "../kernel/node-feature.ts";
import { noteEntries } from "../kernel/notes/settings-note.ts";

/** What a declaration says, in its metadata (setting-kinds.ts). */
const aboutSchema = v.object({
  description: v.string(),
  takes: v.string(),
  onChange: v.string(),
  default: v.optional(v.unknown()),
  otherwise: v.optional(v.string()),
});

/** One setting's documentation. */
export interface SettingText {
  /** Members of a table by their path: `key_format.min`. */
  readonly name: string;
  /** What it decides: the same sentences for editors and in the table. */
  readonly description: string;
  readonly takes: string;
  /** What applies when it is left out, in Markdown. */
  readonly default: string;
  readonly onChange: string;
  /** Where it is allowed; `null`: in `[vars.IDEMPOTENCY]` and in routes. */
  readonly place: string | null;
}

/** The settings of routes, those of all features too. */
export const ROUTE_ENTRIES: SettingEntries = SETTINGS.entries;

/** Tables, by their names, with the members that follow them. */
type Tables = Readonly<Record<string, SettingEntries>>;

const TABLES: Tables = Object.assign(
  { key_format: keyFormatEntries, fingerprint: fingerprintEntries, note: noteEntries },
  ...FEATURE_SETTINGS.map(({ routes }) => routes?.tables),
);

/** Every setting, in the order of the table. */
export function settingTexts(): readonly SettingText[] {
  return [
    textOf("path", pathSchema, "only in routes"),
    ...textsOf(ROUTE_ENTRIES, "", null),
    ...textsOf(gatewayEntries, "", "not in routes"),
  ];
}

/** The settings of a variable's entries that are in its table, in this order. */
export function ownTexts({ needed, optional, tables }: NodeVariable): readonly SettingText[] {
  return [
    ...Object.entries(needed).map(([name, schema]) => textOf(name, schema, null)),
    ...textsOf(optional, "", null, { ...TABLES, ...tables }),
  ];
}

/** The settings of routes that its entries have too. */
export function inheritedBy({ inherits = [] }: NodeVariable): SettingEntries {
  return inheritedEntries(inherits, ROUTE_ENTRIES);
}

/** All of them, for editors. */
export function entryTexts(variable: NodeVariable): readonly SettingText[] {
  return [...ownTexts(variable), ...textsOf(inheritedBy(variable), "", null)];
}

function textsOf(
  entries: SettingEntries,
  prefix: string,
  place: string | null,
  tables = TABLES,
): readonly SettingText[] {
  return Object.entries(entries).flatMap(([name, { wrapped }]) => {
    const members = textsOf(tables[name] ?? {}, `${name}.`, place);
    return [textOf(prefix + name, wrapped, place)].concat(members);
  });
}

function textOf(name: string, schema: v.GenericSchema, place: string | null): SettingText {
  const about = v.parse(aboutSchema, v.getMetadata(schema));
  const { description, takes, onChange, otherwise } = about;
  return { name, description, takes, onChange, place, default: otherwise ?? `\`${tomlText(about.default)}\`` };
}

/** A value as it would be written. */
export function tomlText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlText).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${name} = ${tomlText(member)}`);
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  }
  return JSON.stringify(value);
}

/** The text for editors, which have no columns. */
export function editorText({ description, takes, default: applies, onChange }: SettingText): string {
  return `${description}\n\nTakes ${takes}. Default: ${applies}. A change ${onChange}.`;
}

/** A table of README.md, in Markdown. */
export function markdownTable(texts: readonly SettingText[]): string {
  const rows = texts.map(({ name, place, default: applies, takes, description, onChange }) => [
    `\`${name}\`${place === null ? "" : ` (${place})`}`,
    applies,
    takes,
    description,
    onChange,
  ]);
  return [
    ["setting", "default", "takes", "meaning", "a change, on live data"],
    ["---", "---", "---", "---", "---"],
    ...rows,
  ]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}
