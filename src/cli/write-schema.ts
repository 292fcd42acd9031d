// Writes the JSON Schema with which editors complete and check wrangler.toml; `--check` only compares it with the file.
// Decides where in the file the settings stand. Must never be imported by the Worker.

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";

import { defaultsSchema } from "../config/schema-operator.ts";
import { routeSchema } from "../config/schema-route.ts";
import { DESCRIPTIONS } from "./setting-descriptions.ts";

const FILE = new URL("../config/wrangler.schema.json", import.meta.url);

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
        patternProperties: { "^ROUTES": { type: "array", items: { $ref: "#/definitions/route" } } },
      },
      settings: { description: "Defaults for every protected route.", ...converted(defaultsSchema) },
      route: { description: "One protected route; the first that matches counts.", ...converted(routeSchema) },
    },
  };
}

/** What may be written, before anything is parsed. */
function converted(schema: typeof defaultsSchema | typeof routeSchema): object {
  const { $schema: _, ...definition } = toJsonSchema(schema, {
    target: "draft-07",
    typeMode: "input",
    ignoreActions: ["check"],
  });
  describe(definition, "");
  return definition;
}

/** Puts its text to each member of a table, and to those of the tables in it. A member without one is an oversight. */
function describe(table: JsonSchema, path: string): void {
  for (const [name, member] of Object.entries(table.properties ?? {})) {
    if (typeof member === "boolean") continue;
    const description = DESCRIPTIONS[path + name];
    if (description === undefined) throw new Error(`setting-descriptions.ts says nothing of ${path}${name}`);
    member.description = description;
    for (const inner of [member, ...(member.anyOf ?? [])]) {
      if (typeof inner !== "boolean") describe(inner, `${path}${name}.`);
    }
  }
}

function main(): number {
  const { values } = parseArgs({ options: { check: { type: "boolean" } } });
  const text = `${JSON.stringify(wranglerSchema(), null, 2)}\n`;
  if (values.check !== true) {
    writeFileSync(FILE, text);
    return 0;
  }
  if (currentText() === text) return 0;
  console.error("src/config/wrangler.schema.json is not up to date: run npm run generate");
  return 1;
}

function currentText(): string | null {
  try {
    return readFileSync(FILE, "utf8");
  } catch {
    return null;
  }
}

process.exitCode = main();
