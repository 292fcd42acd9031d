// Writes what is generated from the settings' declarations: the JSON Schema with which editors complete and check
// wrangler.toml, and the table in `src/config/README.md`. `--check` only compares. Decides where in a wrangler.toml the
// settings are. Must never be imported by the Worker.

import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";

import { defaultsSchema, routeSchema } from "../config/settings.ts";
import { queueSchema } from "../config/settings-queue.ts";
import {
  editorText,
  markdownTable,
  ownQueueTexts,
  queueTexts,
  type SettingText,
  settingTexts,
} from "./settings-table.ts";

const SCHEMA = new URL("../config/wrangler.schema.json", import.meta.url);
const README = new URL("../config/README.md", import.meta.url);
const QUEUES_README = new URL("../events/README.md", import.meta.url);

/** The table is between these lines; everything around them is written by hand. */
const BEGIN = "<!-- settings -->";
const END = "<!-- /settings -->";

/** Metadata for the texts only. Among it the default, because a route's default is the value in `[vars.IDEMPOTENCY]`. */
const TEXT_METADATA = ["takes", "default", "otherwise", "onChange"];

const DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ...settingTexts().map((text) => [text.name, editorText(text)] as const),
  ...queueTexts().map((text) => [`queue: ${text.name}`, editorText(text)] as const),
]);

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
        properties: { IDEMPOTENCY: { $ref: "#/definitions/settings" } },
        patternProperties: {
          "^ROUTES": { type: "array", items: { $ref: "#/definitions/route" } },
          "^QUEUES": { type: "array", items: { $ref: "#/definitions/queue" } },
        },
      },
      settings: { description: "Defaults for every protected route.", ...converted(defaultsSchema) },
      route: { description: "One protected route; the first that matches counts.", ...converted(routeSchema) },
      queue: { description: "A queue whose messages are processed.", ...converted(queueSchema, "queue: ") },
    },
  };
}

/** What may be written, before anything is parsed. */
function converted(schema: typeof defaultsSchema | typeof routeSchema | typeof queueSchema, prefix = ""): object {
  const { $schema: _, ...definition } = toJsonSchema(schema, {
    target: "draft-07",
    typeMode: "input",
    ignoreActions: ["check"],
    overrideAction: ({ valibotAction, jsonSchema }) => {
      if (valibotAction.type === "metadata") for (const name of TEXT_METADATA) Reflect.deleteProperty(jsonSchema, name);
      return jsonSchema;
    },
  });
  describe(definition, prefix);
  return definition;
}

/** Gives each setting of a table its text, and each member of the tables in it. */
function describe(table: JsonSchema, prefix: string): void {
  for (const [name, member] of Object.entries(table.properties ?? {})) {
    if (typeof member === "boolean") continue;
    const description = DESCRIPTIONS.get(prefix + name);
    if (description !== undefined) member.description = description;
    describe(member, `${prefix}${name}.`);
  }
}

/** A README.md with its table up to date. */
function withTable(file: URL, texts: readonly SettingText[]): string {
  const readme = readFileSync(file, "utf8");
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`${fileURLToPath(file)} has no lines ${BEGIN} and ${END}`);
  return `${readme.slice(0, begin)}${BEGIN}\n\n${markdownTable(texts)}\n\n${readme.slice(end)}`;
}

function main(): number {
  const { values } = parseArgs({ options: { check: { type: "boolean" } } });
  const files: readonly (readonly [URL, string])[] = [
    [SCHEMA, `${JSON.stringify(wranglerSchema(), null, 2)}\n`],
    [README, withTable(README, settingTexts())],
    [QUEUES_README, withTable(QUEUES_README, ownQueueTexts())],
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
