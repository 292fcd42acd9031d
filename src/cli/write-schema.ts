// Writes what is generated from the settings' declarations: the JSON Schema with which editors complete and check
// wrangler.toml, and the table in `src/kernel/config/README.md`. `--check` only compares. Decides where in a wrangler.toml the
// settings are. Must never be imported by the Worker.

import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";
import { type GenericSchema, strictObject } from "valibot";

import { pathSchema } from "../kernel/config/settings.ts";
import { gatewayEntries } from "../kernel/config/settings-gateway.ts";
import type { NodeVariable } from "../kernel/node-feature.ts";
import {
  editorText,
  entryTexts,
  inheritedBy,
  markdownTable,
  ownTexts,
  type SettingText,
  settingTexts,
  ROUTE_ENTRIES,
} from "./settings-table.ts";
import { VARIABLES } from "./variables.ts";

const SCHEMA = new URL("../kernel/config/wrangler.schema.json", import.meta.url);
const README = new URL("../kernel/config/README.md", import.meta.url);

/** Metadata for the texts only. Among it the default, because a route's default is the value in `[vars.IDEMPOTENCY]`. */
const TEXT_METADATA = ["takes", "default", "otherwise", "onChange"];

type Descriptions = ReadonlyMap<string, string>;

const DESCRIPTIONS = descriptionsOf(settingTexts());

function descriptionsOf(texts: readonly SettingText[]): Descriptions {
  return new Map(texts.map((text) => [text.name, editorText(text)]));
}

/**
 * Covers the gateway's variables and leaves the rest of the file open. It names no other schema: editors' TOML support
 * does not resolve a path to wrangler's own, and then checks nothing at all. wrangler checks the rest itself.
 */
function wranglerSchema(): object {
  const variables = {
    type: "object",
    properties: { vars: { $ref: "#/definitions/vars" } },
  };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "wrangler.toml of an idempotency gateway",
    type: "object",
    properties: {
      vars: { $ref: "#/definitions/vars" },
      env: { type: "object", additionalProperties: variables },
    },
    definitions: {
      vars: {
        type: "object",
        properties: {
          IDEMPOTENCY: { $ref: "#/definitions/settings" },
          ...declared("table", ({ name, reference }) => [name, { type: "object", additionalProperties: reference }]),
          ...declared("single", ({ name, reference }) => [name, reference]),
        },
        patternProperties: {
          "^ROUTES": { type: "array", items: { $ref: "#/definitions/route" } },
          ...declared("list", ({ name, reference }) => [`^${name}`, { type: "array", items: reference }]),
        },
      },
      settings: {
        description: "Defaults for every protected route.",
        ...converted(strictObject({ ...ROUTE_ENTRIES, ...gatewayEntries }), DESCRIPTIONS),
      },
      route: {
        description: "One protected route; the first that matches counts.",
        ...converted(strictObject({ path: pathSchema, ...ROUTE_ENTRIES }), DESCRIPTIONS),
      },
      ...Object.fromEntries(
        VARIABLES.map((one) => [
          one.definition,
          {
            description: one.description,
            ...converted(strictObject({ ...one.schema.entries, ...inheritedBy(one) }), descriptionsOf(entryTexts(one))),
          },
        ]),
      ),
    },
  };
}

/** The variables of one form, as members of the schema. */
function declared(
  form: NodeVariable["form"],
  member: (variable: { readonly name: string; readonly reference: object }) => readonly [string, object],
): object {
  const variables = VARIABLES.filter((one) => one.form === form);
  return Object.fromEntries(
    variables.map(({ name, definition }) => member({ name, reference: { $ref: `#/definitions/${definition}` } })),
  );
}

/** What may be written, before anything is parsed. */
function converted(schema: GenericSchema, descriptions: Descriptions): object {
  const { $schema: _, ...definition } = toJsonSchema(schema, {
    target: "draft-07",
    typeMode: "input",
    ignoreActions: ["check"],
    overrideAction: ({ valibotAction, jsonSchema }) => {
      if (valibotAction.type === "metadata") for (const name of TEXT_METADATA) Reflect.deleteProperty(jsonSchema, name);
      return jsonSchema;
    },
  });
  describe(definition, "", descriptions);
  return definition;
}

/** Gives each setting of a table its text, and each member of the tables in it, also where a list of them is allowed. */
function describe(table: JsonSchema, prefix: string, descriptions: Descriptions): void {
  for (const [name, member] of Object.entries(table.properties ?? {})) {
    if (typeof member === "boolean") continue;
    const description = descriptions.get(prefix + name);
    if (description !== undefined) member.description = description;
    for (const form of [member, ...(member.anyOf ?? [])].flatMap(withItems)) {
      describe(form, `${prefix}${name}.`, descriptions);
    }
  }
}

function withItems(form: JsonSchema | boolean): readonly JsonSchema[] {
  if (typeof form === "boolean") return [];
  const { items } = form;
  return typeof items === "object" && !Array.isArray(items) ? [form, items] : [form];
}

/** A page with one of its tables up to date. The table is between two lines with its name; what is around it is written by hand. */
function withTable(file: URL, text: string, name: string, texts: readonly SettingText[]): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const begin = text.indexOf(open);
  const end = text.indexOf(close);
  if (begin === -1 || end < begin) throw new Error(`${fileURLToPath(file)} has no lines ${open} and ${close}`);
  return `${text.slice(0, begin)}${open}\n\n${markdownTable(texts)}\n\n${text.slice(end)}`;
}

/** Every page that has tables, by its address. */
function pages(): ReadonlyMap<string, string> {
  const written = new Map<string, string>();
  const write = (readme: URL, table: string, texts: readonly SettingText[]): void => {
    const text = written.get(readme.href) ?? readFileSync(readme, "utf8");
    written.set(readme.href, withTable(readme, text, table, texts));
  };
  write(README, "settings", settingTexts());
  for (const one of VARIABLES) write(one.readme, one.table ?? "settings", ownTexts(one));
  return written;
}

function main(): number {
  const { values } = parseArgs({ options: { check: { type: "boolean" } } });
  const files: readonly (readonly [URL, string])[] = [
    [SCHEMA, `${JSON.stringify(wranglerSchema(), null, 2)}\n`],
    ...[...pages()].map(([href, text]) => [new URL(href), text] as const),
  ];
  if (values.check !== true) {
    for (const [file, text] of files) writeFileSync(file, text);
    return 0;
  }
  const stale = files.filter(([file, text]) => currentText(file) !== text);
  for (const [file] of stale)
    console.error(`${relative(process.cwd(), fileURLToPath(file))} is not up to date: run npm run generate`);
  return stale.length === 0 ? 0 : 1;
}

function currentText(file: URL): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

process.exitCode = main();
