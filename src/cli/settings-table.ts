// The documentation of the settings, generated from their declarations in `src/kernel/config/settings*.ts` and the texts below them: the
// descriptions that editors show, and the table of `src/kernel/config/README.md`. Decides on form only; must never add a fact.

import * as v from "valibot";

import { FEATURE_SETTINGS, SETTINGS } from "../features/settings.ts";
import { inheritedEntries } from "../kernel/config/read-tables.ts";
import type { SettingEntries, DeclaredText } from "../kernel/config/setting-kinds.ts";
import { answerSettings, answerTexts } from "../kernel/config/settings-answer.ts";
import { attemptSettings, attemptTexts } from "../kernel/config/settings-attempt.ts";
import { fingerprintEntries, fingerprintTexts } from "../kernel/config/settings-fingerprint.ts";
import { gatewayEntries, gatewayTexts } from "../kernel/config/settings-gateway.ts";
import { keyFormatEntries, keyFormatTexts, keySettings, keyTexts } from "../kernel/config/settings-key.ts";
import {
  accessEntries,
  accessTexts,
  operatorApiEntries,
  operatorApiTexts,
  operatorSchema,
  operatorTexts,
} from "../kernel/config/settings-operator.ts";
import { originSettings, originTexts } from "../kernel/config/settings-origin.ts";
import { methodSettings, methodTexts, pathSchema, pathText } from "../kernel/config/settings.ts";
import type { NodeVariable, TextedSettings } from "../kernel/node-feature.ts";
import { noteEntries, noteMemberTexts, noteSettings, noteTexts } from "../kernel/notes/settings-note.ts";
import { FEATURE_TEXTS } from "./variables.ts";

const TEXTED: readonly TextedSettings[] = [
  [{ path: pathSchema }, { path: pathText }],
  [originSettings, originTexts],
  [methodSettings, methodTexts],
  [keySettings, keyTexts],
  [keyFormatEntries, keyFormatTexts],
  [fingerprintEntries, fingerprintTexts],
  [attemptSettings, attemptTexts],
  [answerSettings, answerTexts],
  [noteSettings, noteTexts],
  [noteEntries, noteMemberTexts],
  [gatewayEntries, gatewayTexts],
  [operatorApiEntries, operatorApiTexts],
  [operatorSchema.entries, operatorTexts],
  [accessEntries, accessTexts],
  ...FEATURE_TEXTS,
];

/** Each setting's text, by its declaration. */
const TEXTS: ReadonlyMap<unknown, DeclaredText | undefined> = new Map(
  TEXTED.flatMap(([entries, texts]) => Object.entries(entries).map(([name, entry]) => [entry, texts[name]] as const)),
);

/** What the kind of value says in its metadata (setting-kinds.ts). */
const kindSchema = v.object({ takes: v.optional(v.string()), default: v.optional(v.unknown()) });

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
  return Object.entries(entries).flatMap(([name, entry]) => {
    const members = textsOf(tables[name] ?? {}, `${name}.`, place);
    return [textOf(prefix + name, entry, place)].concat(members);
  });
}

function textOf(name: string, entry: v.GenericSchema | SettingEntries[string], place: string | null): SettingText {
  const declared = TEXTS.get(entry);
  const kind = v.parse(kindSchema, v.getMetadata("wrapped" in entry ? entry.wrapped : entry));
  const takes = declared?.takes ?? kind.takes;
  if (declared === undefined || takes === undefined) throw new Error(`the setting ${name} has no text`);
  const { description, onChange, otherwise } = declared;
  return { name, description, takes, onChange, place, default: otherwise ?? `\`${tomlText(kind.default)}\`` };
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
