// The lists of features in Node and of their settings: whole, and nothing in it is lost on the way to the command line.

import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { onceway } from "../../../src/cli/program.ts";
import { VARIABLES } from "../../../src/cli/variables.ts";
import { NODE_FEATURES } from "../../../src/features/node.ts";
import { FEATURE_SETTINGS } from "../../../src/features/settings.ts";

it("names each feature that has a part in Node once, as its folder is named", () => {
  const folders = globSync("src/features/*/cli/*.ts")
    .filter((file) => /^export const \w+: NodeFeature =/m.test(readFileSync(file, "utf8")))
    .map((file) => file.split("/")[2] ?? "");
  expect(new Set(NODE_FEATURES.map(({ name }) => name))).toEqual(new Set(folders));
  expect(NODE_FEATURES).toHaveLength(folders.length);
});

it("gives every command to the program, which has each name once", async () => {
  const program = await onceway();
  const names = program.commands.map((command) => command.name());
  expect(names).toEqual(
    expect.arrayContaining(NODE_FEATURES.flatMap(({ commands = [] }) => commands.map((one) => one.name))),
  );
  expect(new Set(names).size).toBe(names.length);
  const ofRecords = program.commands
    .find((command) => command.name() === "records")
    ?.commands.map((command) => command.name());
  expect(ofRecords).toEqual(
    expect.arrayContaining(NODE_FEATURES.flatMap(({ recordCommands = [] }) => recordCommands.map((one) => one.name))),
  );
  expect(new Set(ofRecords).size).toBe(ofRecords?.length);
});

it("gives no two variables one name, or names of which one begins the other", () => {
  const names = VARIABLES.map(({ name }) => name);
  for (const name of names) expect(names.filter((other) => other.startsWith(name))).toEqual([name]);
});

it("names each feature that has settings once, and each of its settings of routes", () => {
  const folders = globSync("src/features/*/settings/*.ts")
    .filter((file) => /^export const \w+: FeatureSettings\b/m.test(readFileSync(file, "utf8")))
    .map((file) => file.split("/")[2] ?? "");
  expect(FEATURE_SETTINGS.map(({ name }) => name).toSorted()).toEqual(folders.toSorted());
  const names = FEATURE_SETTINGS.flatMap(({ routes }) =>
    Object.keys(routes?.entries ?? {}).filter((name) => routes?.widens?.includes(name) !== true),
  );
  const widened = FEATURE_SETTINGS.flatMap(({ routes }) => routes?.widens ?? []);
  expect(names).toEqual(expect.arrayContaining(widened));
  expect(new Set(names).size).toBe(names.length);
});
