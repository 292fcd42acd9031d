import { USUAL } from "../../../src/cli/init-plan.ts";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { wranglerToml } from "../../../src/cli/init-file.ts";
import {
  ENTRY,
  IGNORED,
  ignoreFile,
  misshapenSections,
  PROJECT_PATHS,
  projectPackage,
} from "../../../src/cli/init-project.ts";
import { checkWranglerConfig } from "../../../src/cli/check/file.ts";

const VERSIONS = { onceway: "0.1.0", wrangler: "4.156.2", node: null };

describe("a project's package.json", () => {
  it("names what a gateway needs, and a Node only for a machine whose own is too old for wrangler", () => {
    expect(projectPackage("pay", VERSIONS, {})).toMatchObject({
      name: "pay",
      private: true,
      dependencies: { onceway: "0.1.0" },
      devDependencies: { wrangler: "4.156.2" },
    });
    expect(projectPackage("pay", VERSIONS, {})["devDependencies"]).not.toHaveProperty("node");
    expect(projectPackage("pay", { ...VERSIONS, node: "24.21.0" }, {})).toMatchObject({
      devDependencies: { node: "24.21.0" },
    });
  });

  it("keeps what was there", () => {
    const before = {
      name: "mine",
      license: "MIT",
      scripts: { dev: "my own" },
      dependencies: { onceway: "file:../onceway.tgz", hono: "4" },
      devDependencies: { wrangler: "4.200.0" },
    };
    const made = projectPackage("pay", VERSIONS, before);
    expect(made).toMatchObject(before);
    expect(made["scripts"]).toHaveProperty("check", "onceway check");
  });
});

it("a project's wrangler.toml passes the check, and its secrets are not committed", () => {
  const plan = {
    ...USUAL,
    name: "pay",
    origin: "https://api.example.com",
    routes: ["/v1/payments/*"],
    unknown: "hold",
  } as const;
  const toml = parse(wranglerToml({ ...plan, paths: PROJECT_PATHS }));
  expect(toml).toMatchObject({ main: "src/index.ts", minify: true, observability: { enabled: true } });
  expect(checkWranglerConfig(toml).flatMap(({ problems }) => problems)).toEqual([]);
  expect(ENTRY).toContain("KeyShard");
  expect(IGNORED.split("\n")).toContain(".dev.vars*");
});

it("a project's package.json must have objects where a gateway adds to them", () => {
  expect(misshapenSections({ name: "x", scripts: {}, dependencies: { a: "1" } })).toEqual([]);
  expect(misshapenSections({ scripts: null, dependencies: ["x"], devDependencies: "y", allowScripts: 1 })).toEqual([
    "scripts",
    "dependencies",
    "devDependencies",
    "allowScripts",
  ]);
});

describe("a project's .gitignore", () => {
  it("is what a new one has where there is none", () => {
    expect(ignoreFile("")).toBe(IGNORED);
  });

  it.each([
    ["build\n", "build\nnode_modules\n.wrangler\n.onceway\n.dev.vars*\n"],
    ["/node_modules/\r\n.wrangler\n.onceway", "/node_modules/\r\n.wrangler\n.onceway\n.dev.vars*\n"],
    [IGNORED, IGNORED],
  ])("keeps what it says, and keeps the token out: %j", (before, after) => {
    expect(ignoreFile(before)).toBe(after);
  });
});
