// Where keys and values of a TOML file are: what stands at the place of each value has to be that value.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { type TextRange, pathSteps } from "../../../src/cli/findings/source-ranges.ts";
import { TomlRanges } from "../../../src/cli/findings/toml-ranges.ts";
import { readPage } from "../../support/docs.ts";
import { projectDir } from "../../support/wrangler.ts";

type Step = string | number;

interface Leaf {
  readonly path: readonly Step[];
  readonly value: unknown;
}

function leavesOf(value: unknown, path: readonly Step[] = []): readonly Leaf[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => leavesOf(one, [...path, index]));
  if (typeof value !== "object" || value === null || value instanceof Date) return [{ path, value }];
  return Object.entries(value).flatMap(([key, one]) => leavesOf(one, [...path, key]));
}

function textAt(text: string, { line, column, endLine, endColumn }: TextRange): string {
  const lines = text.split("\n").slice(line - 1, endLine);
  const last = (lines.pop() ?? "").slice(0, endColumn - 1);
  return [...lines, last].join("\n").slice(column - 1);
}

function expectPlaces(text: string): void {
  const places = new TomlRanges(text);
  const leaves = leavesOf(parse(text));
  expect(leaves).not.toEqual([]);
  for (const { path, value } of leaves) {
    const found = places.find(path);
    expect({ path, isWhole: found?.isWhole }).toEqual({ path, isWhole: true });
    if (found === null) continue;
    expect(parse(`value = ${textAt(text, found.value)}`)["value"]).toEqual(value);
    const name = path.at(-1);
    if (typeof name === "string") expect(leavesOf(parse(`${textAt(text, found.key)} = 1`))[0]?.path).toEqual([name]);
  }
}

const ODD = `a.b."c d" = 1 # comment
'e.f' = [ # a list
  "x", { y = [1, 2], z.w = "é“" },
  """two
lines""",
]
[[t]]
k = 1
[[t]]
"k" = 2026-10-01
[t.inner."odd name"]
\tk = true
[[t.list]]
x = 'y'
`.replace("\\t", "\t");

describe("the place of each value", () => {
  it("is right in the wrangler.toml of this repository", () => {
    expectPlaces(readFileSync(join(projectDir, "wrangler.toml"), "utf8"));
  });

  it("is right in the examples of the docs", () => {
    const blocks = readPage("src/kernel/config/examples/README.md").blocks.filter(
      ({ language }) => language === "toml",
    );
    expect(blocks.length).toBeGreaterThan(5);
    for (const { text } of blocks) expectPlaces(text);
  });

  it.each([ODD, ODD.replaceAll("\n", "\r\n").replace(/"""two[^]*lines"""/, "3")])(
    "is right in odd forms: %j",
    expectPlaces,
  );
});

describe("a path", () => {
  it.each([
    ["ROUTES[2].key_format.min", ["ROUTES", 2, "key_format", "min"]],
    ["ROUTES[0].scope[10]", ["ROUTES", 0, "scope", 10]],
    ['IDEMPOTENCY."odd. name"[1]', ["IDEMPOTENCY", "odd. name", 1]],
    ["compatibility_date", ["compatibility_date"]],
  ])("%s has its steps", (path, steps) => {
    expect(pathSteps(path)).toEqual(steps);
  });

  it("that leads nowhere has the nearest place around it, if there is one", () => {
    const places = new TomlRanges("[a.b]\nc = { d = 1 }\n");
    expect(places.find(["a", "b", "x", "y"])).toMatchObject({
      isWhole: false,
      head: { line: 1, column: 1, endColumn: 6 },
    });
    expect(places.find(["a", "b", "c", "x"])).toMatchObject({
      isWhole: false,
      head: { line: 2, column: 1, endColumn: 2 },
    });
    expect(places.find(["x"])).toBeNull();
    expect(new TomlRanges("a = = 1").find(["a"])).toBeNull();
  });
});
