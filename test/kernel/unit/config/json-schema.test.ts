// The JSON Schema for editors: covers every setting, each with a description, and stays in step with the schema in code.

import { readFileSync } from "node:fs";

import * as v from "valibot";
import { describe, expect, it } from "vitest";

import { SETTINGS } from "../../../../src/features/settings.ts";
import { gatewayEntries } from "../../../../src/kernel/config/settings-gateway.ts";

const FILE = new URL("../../../../src/kernel/config/wrangler.schema.json", import.meta.url);

const table = v.object({
  additionalProperties: v.literal(false),
  required: v.array(v.string()),
  properties: v.record(v.string(), v.looseObject({ description: v.pipe(v.string(), v.minLength(20)) })),
});
const file = v.parse(
  v.object({
    $schema: v.literal("http://json-schema.org/draft-07/schema#"),
    definitions: v.object({ settings: table, route: table, vars: v.unknown() }),
  }),
  JSON.parse(readFileSync(FILE, "utf8")),
);

describe("the JSON Schema", () => {
  it("describes every setting, for defaults and routes", () => {
    const names = Object.keys(SETTINGS.entries);
    expect(Object.keys(file.definitions.settings.properties)).toEqual([...names, ...Object.keys(gatewayEntries)]);
    expect(Object.keys(file.definitions.route.properties)).toEqual(["path", ...names]);
    expect(file.definitions.settings.required).toEqual([]);
    expect(file.definitions.route.required).toEqual(["path"]);
  });

  it("contains every setting that has a default", () => {
    const withoutDefault = Object.keys(SETTINGS.entries).filter((name) => !Object.hasOwn(SETTINGS.defaults, name));
    expect(withoutDefault).toEqual([
      "origin",
      "location_hint",
      "jurisdiction",
      "enforce", // feature: observe
      "verify",
    ]);
  });

  it("refers to no other file, because an editor that cannot load one would check nothing", () => {
    const text = readFileSync(FILE, "utf8");
    const references = [...text.matchAll(/"\$ref": "([^"]*)"/g)].map((match) => match[1]);
    expect(new Set(references)).toEqual(
      new Set(
        [
          "vars",
          "settings",
          "route",
          "identity", // feature: identities
          "problemShape", // feature: problem-shapes
          "queue", // feature: queues
          "destination", // feature: outbox
          "consumer", // feature: claims
          "operator",
          "operatorApi",
          "access",
        ].map((name) => `#/definitions/${name}`),
      ),
    );
  });
});
