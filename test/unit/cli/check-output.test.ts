// What `onceway check` prints about wrong files, as their authors see it: the whole text without colours, in check-output/. Run
// vitest with -u to write the texts again, and read the difference.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parse, TomlError } from "smol-toml";
import { describe, expect, it } from "vitest";
import { findingsText } from "../../../src/cli/findings/text.ts";
import { type Finding, findingsOf } from "../../../src/cli/findings/findings.ts";
import { plainLook } from "../../../src/cli/look.ts";
import { TomlPlaces } from "../../../src/cli/findings/toml-places.ts";
import { syntaxFinding } from "../../../src/cli/findings/toml-syntax.ts";
import { checkWranglerConfig } from "../../../src/config/check-file.ts";
import { KEY_OF_STRIPE, WRONG_FILES } from "./wrong-files.ts";

const FOLDER = join(import.meta.dirname, "check-output");

function findings(text: string): readonly Finding[] {
  try {
    return findingsOf(checkWranglerConfig(parse(text)), new TomlPlaces(text));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return [syntaxFinding(text, error)];
  }
}

describe("the output for a file", () => {
  it.each(Object.entries(WRONG_FILES))("with %s", async (name, text) => {
    const found = findings(text);
    expect(found).not.toEqual([]);
    const output = findingsText(found, { file: "wrangler.toml", text }, plainLook);
    await expect(`${output}\n`).toMatchFileSnapshot(join(FOLDER, `${name.replaceAll(" ", "-")}.txt`));
  });

  it("is kept for no other files", () => {
    const names = Object.keys(WRONG_FILES).map((name) => `${name.replaceAll(" ", "-")}.txt`);
    expect(readdirSync(FOLDER).toSorted()).toEqual(names.toSorted());
  });
});

describe("each problem", () => {
  it.each(Object.entries(WRONG_FILES))("says what to do, and where it is: %s", (_name, text) => {
    const lines = text.split("\n");
    for (const { help, range, related, code } of findings(text)) {
      expect({ code, help }).not.toEqual({ code, help: null });
      for (const { line, column, endLine, endColumn } of [
        ...(range === null ? [] : [range]),
        ...related.map((one) => one.range),
      ]) {
        expect(lines[line - 1]?.slice(column - 1).trim()).not.toBe("");
        expect(endLine > line || endColumn > column).toBe(true);
        expect(endColumn).toBeLessThanOrEqual((lines[endLine - 1]?.length ?? 0) + 2);
      }
    }
  });

  const fixed = Object.entries(WRONG_FILES).flatMap(([name, text]) =>
    findings(text).flatMap(({ fix, path, message }) => (fix === null ? [] : [{ name, text, fix, path, message }])),
  );

  it.each(fixed)("is mended by its replacement: $name, $path", ({ text, fix, path, message }) => {
    const { range, text: written } = fix;
    const lines = text.split("\n");
    const first = lines[range.line - 1] ?? "";
    const last = lines[range.endLine - 1] ?? "";
    lines.splice(
      range.line - 1,
      range.endLine - range.line + 1,
      first.slice(0, range.column - 1) + written + last.slice(range.endColumn - 1),
    );
    const left = findings(lines.join("\n")).map((one) => `${one.path} ${one.message}`);
    expect(left).not.toContain(`${path} ${message}`);
  });
});

describe("a secret", () => {
  const secrets = [KEY_OF_STRIPE, "hunter2hunter2", "correct horse battery staple"];

  it("is printed by no format", () => {
    const files = Object.values(WRONG_FILES).filter((text) => secrets.some((secret) => text.includes(secret)));
    expect(files.length).toBeGreaterThan(3);
    for (const text of files) {
      const found = findings(text);
      const output = findingsText(found, { file: "wrangler.toml", text }, plainLook) + JSON.stringify(found);
      for (const secret of secrets) expect(output).not.toContain(secret);
    }
  });
});
