// Writes what is generated from the settings' declarations: the JSON Schema with which editors complete and check
// wrangler.toml, and the table in `src/kernel/config/README.md`. `--check` only compares. Decides where in a wrangler.toml the
// settings are. Must never be imported by the Worker.

import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";

import { defaultsSchema, routeSchema } from "../kernel/config/settings.ts";
import { identitySchema } from "../features/identities/settings/entries.ts";
import { consumerSchema } from "../features/claims/settings/entries.ts";
import { queueSchema } from "../features/queues/settings/entries.ts";
import { destinationSchema } from "../features/outbox/settings/entries.ts";
import { accessSchema, operatorSchema } from "../kernel/config/settings-operator.ts";
import {
  accessTexts,
  destinationTexts,
  consumerTexts,
  editorText,
  identityTexts,
  markdownTable,
  operatorTexts,
  ownConsumerTexts,
  ownQueueTexts,
  queueTexts,
  type SettingText,
  settingTexts,
} from "./settings-table.ts";

const SCHEMA = new URL("../kernel/config/wrangler.schema.json", import.meta.url);
const README = new URL("../kernel/config/README.md", import.meta.url);
const QUEUES_README = new URL("../features/queues/README.md", import.meta.url);
const OUTBOX_README = new URL("../features/outbox/README.md", import.meta.url);
const OPERATOR_README = new URL("../operator/access/README.md", import.meta.url);
const CLAIMS_README = new URL("../features/claims/README.md", import.meta.url);

/** Each table is between two lines with its name; everything around them is written by hand. */
/** Metadata for the texts only. Among it the default, because a route's default is the value in `[vars.IDEMPOTENCY]`. */
const TEXT_METADATA = ["takes", "default", "otherwise", "onChange"];

type Descriptions = ReadonlyMap<string, string>;

const DESCRIPTIONS = descriptionsOf(settingTexts());
const IDENTITY_DESCRIPTIONS = descriptionsOf(identityTexts());
const QUEUE_DESCRIPTIONS = descriptionsOf(queueTexts());
const DESTINATION_DESCRIPTIONS = descriptionsOf(destinationTexts());
const OPERATOR_DESCRIPTIONS = descriptionsOf(operatorTexts());
const ACCESS_DESCRIPTIONS = descriptionsOf(accessTexts());
const CONSUMER_DESCRIPTIONS = descriptionsOf(consumerTexts());

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
          IDENTITIES: { type: "object", additionalProperties: { $ref: "#/definitions/identity" } },
          ACCESS: { $ref: "#/definitions/access" },
        },
        patternProperties: {
          "^ROUTES": { type: "array", items: { $ref: "#/definitions/route" } },
          "^QUEUES": { type: "array", items: { $ref: "#/definitions/queue" } },
          "^DESTINATIONS": { type: "array", items: { $ref: "#/definitions/destination" } },
          "^CONSUMERS": { type: "array", items: { $ref: "#/definitions/consumer" } },
          "^OPERATORS": { type: "array", items: { $ref: "#/definitions/operator" } },
        },
      },
      settings: { description: "Defaults for every protected route.", ...converted(defaultsSchema, DESCRIPTIONS) },
      route: {
        description: "One protected route; the first that matches counts.",
        ...converted(routeSchema, DESCRIPTIONS),
      },
      identity: { description: "How callers are known.", ...converted(identitySchema, IDENTITY_DESCRIPTIONS) },
      queue: { description: "A queue whose messages are processed.", ...converted(queueSchema, QUEUE_DESCRIPTIONS) },
      destination: {
        description: "A place where events go.",
        ...converted(destinationSchema, DESTINATION_DESCRIPTIONS),
      },
      consumer: {
        description: "A group of consumers, which claims records and makes the attempts itself.",
        ...converted(consumerSchema, CONSUMER_DESCRIPTIONS),
      },
      operator: {
        description: "An operator with a token.",
        ...converted(operatorSchema, OPERATOR_DESCRIPTIONS),
      },
      access: {
        description: "Operators whom Cloudflare Access proves.",
        ...converted(accessSchema, ACCESS_DESCRIPTIONS),
      },
    },
  };
}

/** What may be written, before anything is parsed. */
function converted(
  schema:
    | typeof defaultsSchema
    | typeof routeSchema
    | typeof identitySchema
    | typeof queueSchema
    | typeof destinationSchema
    | typeof consumerSchema
    | typeof operatorSchema
    | typeof accessSchema,
  descriptions: Descriptions,
): object {
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

/** A README.md with its tables up to date. */
function withTables(file: URL, tables: Readonly<Record<string, () => readonly SettingText[]>>): string {
  let text = readFileSync(file, "utf8");
  for (const [name, texts] of Object.entries(tables)) {
    const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const begin = text.indexOf(open);
    const end = text.indexOf(close);
    if (begin === -1 || end < begin) throw new Error(`${fileURLToPath(file)} has no lines ${open} and ${close}`);
    text = `${text.slice(0, begin)}${open}\n\n${markdownTable(texts())}\n\n${text.slice(end)}`;
  }
  return text;
}

function main(): number {
  const { values } = parseArgs({ options: { check: { type: "boolean" } } });
  const files: readonly (readonly [URL, string])[] = [
    [SCHEMA, `${JSON.stringify(wranglerSchema(), null, 2)}\n`],
    [README, withTables(README, { settings: settingTexts, identities: identityTexts })],
    [QUEUES_README, withTables(QUEUES_README, { settings: ownQueueTexts })],
    [OUTBOX_README, withTables(OUTBOX_README, { settings: destinationTexts })],
    [OPERATOR_README, withTables(OPERATOR_README, { operators: operatorTexts, access: accessTexts })],
    [CLAIMS_README, withTables(CLAIMS_README, { settings: ownConsumerTexts })],
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
