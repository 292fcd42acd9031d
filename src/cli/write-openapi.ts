// Writes the operator API's OpenAPI document. Its components come from the schemas that type the API's views. `--check` only
// compares the document with the file. Must never be imported by the Worker.

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { type JsonSchema, type OverrideSchemaContext, toJsonSchemaDefs } from "@valibot/to-json-schema";
import * as v from "valibot";

import { OPENAPI_FEATURES } from "../features/openapi.ts";
import { openApiDocument } from "../operator/openapi.ts";
import { SCHEMAS, mergedParts, schemasOf } from "../operator/openapi-components.ts";

const FILE = new URL("../operator/openapi.json", import.meta.url);
const PACKAGE = new URL("../../package.json", import.meta.url);

function documentText(): string {
  const { version } = v.parse(v.object({ version: v.string() }), JSON.parse(readFileSync(PACKAGE, "utf8")));
  const all = mergedParts<v.GenericSchema>([SCHEMAS, ...OPENAPI_FEATURES.map(schemasOf)]);
  const schemas = toJsonSchemaDefs(all, {
    target: "draft-2020-12",
    typeMode: "input",
    // The Worker trims before it counts; JSON Schema has no word for that.
    ignoreActions: ["trim"],
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
    overrideSchema: asWritten,
  });
  return `${JSON.stringify(openApiDocument(version, schemas, OPENAPI_FEATURES), null, 2)}\n`;
}

/** The gateway writes stricter answers than the schemas let clients read: objects have no other members. */
function asWritten({ valibotSchema, jsonSchema }: OverrideSchemaContext): JsonSchema | null {
  switch (valibotSchema.type) {
    case "object":
      return { ...jsonSchema, additionalProperties: false };
    // The words are in the metadata that follows.
    case "custom":
      return {};
    case "strict_tuple": {
      const { items: _, ...tuple } = jsonSchema;
      return { ...tuple, maxItems: tuple.minItems ?? 0 };
    }
    case "nullable":
      return orNull(jsonSchema);
    default:
      return null;
  }
}

/** One type with null, which tools show better than a choice of two schemas. */
function orNull(jsonSchema: JsonSchema): JsonSchema {
  const [inner] = jsonSchema.anyOf ?? [];
  if (inner === undefined || typeof inner === "boolean" || typeof inner.type !== "string") return jsonSchema;
  const type: JsonSchema["type"] = [inner.type, "null"];
  return { ...inner, type, ...(inner.enum === undefined ? {} : { enum: [...inner.enum, null] }) };
}

function main(): number {
  const { values } = parseArgs({ options: { check: { type: "boolean" } } });
  const text = documentText();
  if (values.check !== true) {
    writeFileSync(FILE, text);
    return 0;
  }
  if (readFileSync(FILE, "utf8") === text) return 0;
  console.error("src/operator/openapi.json is not up to date: run npm run generate");
  return 1;
}

process.exitCode = main();
