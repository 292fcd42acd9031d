// The OpenAPI file for tests: its operations, and whether a response is among those of an operation, with its headers and its
// schema.

import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as v from "valibot";

const media = v.record(v.string(), v.object({ schema: v.record(v.string(), v.unknown()) }));
const header = v.union([v.object({ $ref: v.string() }), v.record(v.string(), v.unknown())]);
const response = v.union([
  v.strictObject({ $ref: v.string() }),
  v.object({ headers: v.record(v.string(), header), content: media }),
]);
const operation = v.object({
  operationId: v.string(),
  security: v.optional(v.array(v.record(v.string(), v.unknown()))),
  requestBody: v.optional(v.unknown()),
  responses: v.record(v.string(), response),
});
const documentSchema = v.object({
  security: v.array(v.record(v.string(), v.unknown())),
  paths: v.record(v.string(), v.record(v.string(), operation)),
});

const FILE = new URL("../../../src/operator/openapi.json", import.meta.url);
const source: unknown = JSON.parse(readFileSync(FILE, "utf8"));
const document = v.parse(documentSchema, source);

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false });
ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
ajv.addVocabulary(["openapi", "info", "servers", "paths", "components", "security"]);
ajv.addSchema({ $id: "openapi", ...v.parse(v.record(v.string(), v.unknown()), source) });

export interface Operation {
  readonly id: string;
  readonly method: string;
  /** `/records/{id}`. */
  readonly path: string;
  /** Whether READ_TOKEN is enough. */
  readonly mayRead: boolean;
  readonly hasBody: boolean;
}

export const operations: readonly Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { operationId: id, security = document.security, requestBody }]) => ({
    id,
    method: method.toUpperCase(),
    path,
    mayRead: security.some((one) => Object.hasOwn(one, "reader")),
    hasBody: requestBody !== undefined,
  })),
);

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Of a JSON body; `undefined` for any other. */
  readonly json: unknown;
}

/** What is wrong with an answer to a request for this path; `null` if the file allows it. */
export function violationOf(method: string, path: string, { status, headers, json }: Answer): string | null {
  // A path without parameters comes before one with them, whatever their order (OpenAPI 3.1, "Paths Object").
  const template = path in document.paths ? path : Object.keys(document.paths).find((one) => patternOf(one).test(path));
  const found = document.paths[template ?? ""]?.[method.toLowerCase()];
  if (found === undefined) return `no operation ${method} ${path}`;
  const written = found.responses[String(status)];
  if (written === undefined) return `${found.operationId} never answers ${status}`;
  const { headers: named, content } = "$ref" in written ? resolve(written.$ref) : written;
  for (const [name, schema] of Object.entries(named)) {
    const value = headers.get(name);
    if (value === null && isOptional(schema)) continue;
    const validate = "$ref" in schema ? ajv.compile({ $ref: `openapi${String(schema.$ref)}/schema` }) : null;
    if (value === null || validate?.(value) === false) return `${found.operationId}: ${name}: ${value}`;
  }
  const type = (headers.get("content-type") ?? "").split(";")[0] ?? "";
  const body = content[type];
  if (body === undefined) return `${found.operationId} never answers ${status} as ${type}`;
  if (json === undefined) return null;
  const validate = ajv.compile(absolute(body.schema));
  return validate(json) ? null : `${found.operationId}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(json)}`;
}

/** Whether a header is optional in OpenAPI. */
function isOptional(named: Readonly<Record<string, unknown>>): boolean {
  const written = typeof named["$ref"] === "string" ? valueAt(named["$ref"]) : named;
  return v.is(v.object({ required: v.literal(false) }), written);
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{[a-z]+\}/g, "[^/]+")}$`);
}

function resolve(reference: string): {
  headers: Record<string, v.InferOutput<typeof header>>;
  content: v.InferOutput<typeof media>;
} {
  return v.parse(v.object({ headers: v.record(v.string(), header), content: media }), valueAt(reference));
}

function valueAt(reference: string): unknown {
  return reference
    .slice(2)
    .split("/")
    .reduce<unknown>((at, name) => v.parse(v.record(v.string(), v.unknown()), at)[name], source);
}

/** References in the file are to the file. */
function absolute(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return v.parse(
    v.record(v.string(), v.unknown()),
    JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"openapi#')),
  );
}
