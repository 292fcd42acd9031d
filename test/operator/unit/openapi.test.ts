// The OpenAPI document explains every member, and its examples are what it says.

import { Ajv2020 } from "ajv/dist/2020.js";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import openapi from "../../../src/operator/openapi.json";

const schema = v.record(v.string(), v.unknown());
type Schema = v.InferOutput<typeof schema>;

/** Every member of the components, by its path. */
function membersOf(path: string, at: unknown): readonly (readonly [string, Schema])[] {
  if (Array.isArray(at)) return at.flatMap((one: unknown) => membersOf(path, one));
  if (!v.is(schema, at)) return [];
  const properties = Object.entries(v.is(schema, at["properties"]) ? at["properties"] : {});
  const own = properties.map(([name, member]) => [`${path}.${name}`, v.parse(schema, member)] as const);
  const nested = properties.flatMap(([name, member]) => membersOf(`${path}.${name}`, member));
  return [...own, ...nested, ...[at["oneOf"], at["items"]].flatMap((inner) => membersOf(path, inner))];
}

const members = Object.entries(openapi.components.schemas).flatMap(([name, one]) => membersOf(name, one));
/** Whatever the document refers to. */
function referencesIn(at: unknown): readonly string[] {
  if (Array.isArray(at)) return at.flatMap(referencesIn);
  if (!v.is(schema, at)) return [];
  return Object.entries(at).flatMap(([name, inner]) =>
    name === "$ref" && typeof inner === "string" ? [inner] : referencesIn(inner),
  );
}

it("every reference leads somewhere", () => {
  const components = Object.entries(openapi.components).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `#/components/${kind}/${name}`),
  );
  expect(components).toEqual(expect.arrayContaining([...new Set(referencesIn(openapi))]));
});

const ajv = new Ajv2020({ strict: false, validateFormats: false });

describe("a member of the operator API", () => {
  it.each(members)("%s is explained, by an example too where it is a single value", (_, member) => {
    if ("$ref" in member || "const" in member) return;
    expect(member).toHaveProperty("description");
    if ("properties" in member || "items" in member) return;
    expect(member).toHaveProperty("examples");
  });

  it.each(members.filter(([, member]) => "examples" in member))(
    "%s has examples that its own schema allows",
    (_, member) => {
      // With the components, so that a reference leads somewhere.
      const allows = ajv.compile({ ...member, components: openapi.components });
      for (const example of v.parse(v.array(v.unknown()), member["examples"])) expect(allows(example)).toBe(true);
    },
  );
});
