// What `onceway init` adds to a wrangler.jsonc: nothing that is there is changed, and what comes out passes the check.

import { parse } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { emptyJson, misshapenProblems, withGateway } from "../../../src/cli/init-json.ts";
import { USUAL } from "../../../src/cli/init-plan.ts";
import { isTable } from "../../../src/kernel/config/table.ts";
import { checkWranglerConfig } from "../../../src/cli/check/file.ts";
import { blockWith } from "../../support/docs.ts";

const PLAN = {
  ...USUAL,
  name: "pay",
  origin: "https://api.acme.com",
  routes: ["/v1/payments/*", "/v1/orders"],
  unknown: "hold",
  paths: { main: "src/index.ts", schema: "./schema.json", settings: "README.md" },
} as const;

function problemsOf(text: string): readonly string[] {
  return checkWranglerConfig(parse(text)).flatMap(({ problems }) =>
    problems.map(({ path, message }) => path + message),
  );
}

describe("the additions", () => {
  it.each([
    ["a new file", emptyJson("wrangler.jsonc", PLAN)],
    ["a new file without comments", emptyJson("wrangler.json", PLAN)],
    ["an early date", '{ "compatibility_date": "2024-01-01" }'],
    [
      "objects of another class",
      '{ "durable_objects": { "bindings": [{ "name": "A", "class_name": "A" }] }, "migrations": [{ "tag": "v1", "new_sqlite_classes": ["A"] }] }',
    ],
    ["windows line ends", '{\r\n\t"name": "shop", // mine\r\n}\r\n'],
    ["the block of the page", blockWith("src/package/README.md", '"ROUTES"')],
  ])("to %s make it pass the check, and are made once", (_what, text) => {
    const { text: made, added } = withGateway(text, PLAN);
    expect(problemsOf(made)).toEqual([]);
    expect(Object.keys(added).length).toBeGreaterThan(0);
    expect(withGateway(made, PLAN)).toEqual({ text: made, added: {}, replaced: [], main: "src/index.ts" });
    const [before, after]: readonly Record<string, unknown>[] = [parse(text), parse(made)];
    for (const [name, value] of Object.entries(before ?? {})) {
      if (name !== "compatibility_date")
        expect(JSON.stringify(after?.[name])).toContain(JSON.stringify(value).slice(1, -2));
    }
  });

  it("keep routes and defaults that are there", () => {
    const vars = { IDEMPOTENCY: { origin: "https://other.acme.com" }, ROUTES: [{ path: "/mine" }] };
    const { text } = withGateway(JSON.stringify({ vars }), PLAN);
    expect(parse(text)).toMatchObject({ vars });
  });

  it.each([
    [["v1"], "onceway-v1"],
    [["onceway-v1"], "onceway-v2"],
    [["onceway-v2", "onceway-v1"], "onceway-v3"],
    [["onceway-v2"], "onceway-v1"],
  ])("never take a migration's tag again: %j", (tags, expected) => {
    const migrations = tags.map((tag, at) => ({ tag, new_sqlite_classes: [`A${at}`] }));
    const { added, text } = withGateway(JSON.stringify({ migrations }), PLAN);
    expect(added["migrations"]).toEqual([{ tag: expected, new_sqlite_classes: ["KeyShard"] }]);
    expect(problemsOf(text)).toEqual([]);
  });

  it.each<[string, object, readonly string[]]>([
    ["routes under another name", { vars: { ROUTES_A: [{ path: "/mine" }] } }, ["vars", "ROUTES"]],
    [
      "objects that are declared",
      { exports: { KeyShard: { type: "durable-object", storage: "sqlite" } } },
      ["migrations"],
    ],
    [
      "objects that are renamed",
      { migrations: [{ tag: "1", renamed_classes: [{ from: "A", to: "KeyShard" }] }] },
      ["migrations"],
    ],
    ["objects without SQLite", { migrations: [{ tag: "1", new_classes: ["KeyShard"] }] }, ["migrations"]],
  ])("leave %s, and double nothing", (_what, file, path) => {
    const { added } = withGateway(JSON.stringify(file), PLAN);
    const there = path.reduce<unknown>((at, name) => (isTable(at) ? at[name] : undefined), added);
    expect(there).toBeUndefined();
  });
});

describe("what stands where something else belongs", () => {
  const ODD = [
    null,
    "text",
    3,
    true,
    [],
    {},
    [null],
    ["text"],
    [{}],
    { bindings: null },
    { bindings: {} },
    { bindings: [3] },
  ];
  const MEMBERS = [
    "name",
    "main",
    "compatibility_date",
    "compatibility_flags",
    "durable_objects",
    "migrations",
    "vars",
  ];

  it.each(MEMBERS)("is refused as %s, or kept as it is, and is never added to", (member) => {
    let refused = 0;
    for (const odd of ODD) {
      const file = { [member]: odd };
      const problems = misshapenProblems(file);
      refused += problems.length;
      if (problems.length > 0) {
        for (const { path, message } of problems)
          expect([path, message]).toEqual([
            expect.stringContaining(member),
            expect.stringMatching(/^must be .*: write it so/),
          ]);
        continue;
      }
      const made: unknown = parse(withGateway(JSON.stringify(file), PLAN).text);
      if (member === "compatibility_date") continue;
      expect(made).toMatchObject(Array.isArray(odd) ? { [member]: expect.arrayContaining(odd) } : file);
    }
    expect(refused).toBeGreaterThan(5);
  });

  it.each([
    [{ durable_objects: null }, "durable_objects", "an object, in braces"],
    [{ durable_objects: { bindings: {} } }, "durable_objects.bindings", "a list, in brackets"],
    [{ durable_objects: { bindings: [null] } }, "durable_objects.bindings[0]", "an object, in braces"],
    [{ vars: "text" }, "vars", "an object, in braces"],
    [{ compatibility_flags: "x" }, "compatibility_flags", "a list, in brackets"],
    [{ compatibility_flags: ["x", 1] }, "compatibility_flags[1]", "text"],
    [{ migrations: {} }, "migrations", "a list, in brackets"],
    [{ main: 3 }, "main", "text"],
  ])("is named: %j", (file, path, shape) => {
    expect(misshapenProblems(file)).toEqual([{ path, message: `must be ${shape}: write it so, or leave it out` }]);
  });
});
