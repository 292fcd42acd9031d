// What `onceway init` adds to a wrangler.jsonc: nothing that is there is changed, and what comes out passes the check.

import { parse } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { emptyJson, withGateway } from "../../../src/cli/init-json.ts";
import { checkWranglerConfig } from "../../../src/config/check-file.ts";
import { blockWith } from "../../support/docs.ts";

const PLAN = {
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
    expect(withGateway(made, PLAN)).toEqual({ text: made, added: {}, main: "src/index.ts" });
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

  it("never take a migration's tag again", () => {
    const { added } = withGateway('{ "migrations": [{ "tag": "v1", "new_sqlite_classes": ["A"] }] }', PLAN);
    expect(added["migrations"]).toEqual([{ tag: "onceway-v1", new_sqlite_classes: ["KeyShard"] }]);
  });
});
