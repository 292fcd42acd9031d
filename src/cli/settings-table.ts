// The documentation of the settings, generated from their declarations in `src/config/settings*.ts`: the descriptions that
// editors show, and the table of `src/kernel/config/README.md`. Decides on form only; must never add a fact.

import * as v from "valibot";

import { pathSchema, settingsEntries } from "../kernel/config/settings.ts";
import type { SettingEntries } from "../kernel/config/setting-kinds.ts";
import { gatewayEntries } from "../kernel/config/settings-gateway.ts";
import {
  destinationEntries,
  destinationGiveUpEntries,
  destinationSchema,
  publicationEntries,
} from "../features/outbox/settings/entries.ts";
import { driveEntries } from "../features/accepted/settings/entries.ts";
import { corsEntries } from "../features/pages/settings/entries.ts";
import { fingerprintEntries } from "../kernel/config/settings-fingerprint.ts";
import { excerptEntries } from "../kernel/notes/settings-note.ts";
import { askEntries, identityEntries, jwtEntries } from "../features/identities/settings/entries.ts";
import { keyFormatEntries, newKeysEntries } from "../kernel/config/settings-key.ts";
import { consumerEntries, consumerInheritedEntries, consumerSchema } from "../features/claims/settings/entries.ts";
import { accessEntries, operatorSchema } from "../kernel/config/settings-operator.ts";
import {
  giveUpEntries,
  inheritedEntries,
  queueDefaultEntries,
  queueOnlyEntries,
  queueSchema,
} from "../features/queues/settings/entries.ts";

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

/** Tables whose members follow them. */
const TABLES: ReadonlyMap<string, SettingEntries> = new Map<string, SettingEntries>([
  ["key_format", keyFormatEntries],
  ["new_keys", newKeysEntries],
  ["fingerprint", fingerprintEntries],
  ["jwt", jwtEntries],
  ["ask", askEntries],
  ["cors", corsEntries],
  ["give_up", driveEntries],
  ["excerpt", excerptEntries],
  ["publish", publicationEntries],
]);

/** The same for queues. */
const QUEUE_TABLES = new Map([...TABLES, ["give_up", giveUpEntries] as const]);

/** Every setting, in the order of the table. */
export function settingTexts(): readonly SettingText[] {
  return [
    textOf("path", pathSchema, "only in routes"),
    ...textsOf(settingsEntries, "", null),
    ...textsOf(gatewayEntries, "", "not in routes"),
  ];
}

/** Every member of an identity, in the order of its table. */
export function identityTexts(): readonly SettingText[] {
  return textsOf(identityEntries, "", null);
}

/** The settings that queues alone have, or have with another default, in the order of their table. */
export function ownQueueTexts(): readonly SettingText[] {
  const { queue, to, dead_letter: deadLetter } = queueSchema.entries;
  const { to: _to, dead_letter: _deadLetter, ...optional } = queueOnlyEntries;
  return [
    textOf("queue", queue, null),
    textOf("to", to, null),
    textOf("dead_letter", deadLetter, null),
    ...textsOf({ ...optional, ...queueDefaultEntries }, "", null, QUEUE_TABLES),
    // Its one member is described with it.
  ].filter(({ name }) => !name.startsWith("fingerprint."));
}

/** Every member of a destination, in the order of its table. */
export function destinationTexts(): readonly SettingText[] {
  return [
    textOf("name", destinationSchema.entries.name, null),
    ...textsOf(destinationEntries, "", null, new Map([["give_up", destinationGiveUpEntries]])),
  ];
}

/** The settings that groups of consumers alone have, or have with another default. */
export function ownConsumerTexts(): readonly SettingText[] {
  const { name, token } = consumerSchema.entries;
  return [textOf("name", name, null), textOf("token", token, null), ...textsOf(consumerEntries, "", null)];
}

/** Every member of an operator, in the order of its table. */
export function operatorTexts(): readonly SettingText[] {
  const { name, role, token, ...optional } = operatorSchema.entries;
  const needed = [textOf("name", name, null), textOf("role", role, null), textOf("token", token, null)];
  return [...needed, ...textsOf(optional, "", null)];
}

/** Every member of `[vars.ACCESS]`, in the order of its table. */
export function accessTexts(): readonly SettingText[] {
  return textsOf(accessEntries, "", null);
}

/** Every setting of a group. */
export function consumerTexts(): readonly SettingText[] {
  return [...ownConsumerTexts(), ...textsOf(consumerInheritedEntries, "", null)];
}

/** Every setting of a queue. */
export function queueTexts(): readonly SettingText[] {
  return [...ownQueueTexts(), ...textsOf(inheritedEntries, "", null)];
}

function textsOf(
  entries: SettingEntries,
  prefix: string,
  place: string | null,
  tables = TABLES,
): readonly SettingText[] {
  return Object.entries(entries).flatMap(([name, { wrapped }]) => {
    const members = textsOf(tables.get(name) ?? {}, `${name}.`, place);
    return [textOf(prefix + name, wrapped, place)].concat(members);
  });
}

function textOf(name: string, schema: v.GenericSchema, place: string | null): SettingText {
  const about = v.parse(aboutSchema, v.getMetadata(schema));
  const { description, takes, onChange, otherwise } = about;
  return { name, description, takes, onChange, place, default: otherwise ?? `\`${toml(about.default)}\`` };
}

/** A default as it would be written. */
function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${name} = ${toml(member)}`);
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
