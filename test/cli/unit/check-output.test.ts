// What `onceway check` prints about wrong files, as their authors see it: the whole text without colours.

import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { findingsText } from "../../../src/cli/findings/text.ts";
import { type ConfigFinding, findingsOf } from "../../../src/cli/findings/findings.ts";
import { pathSteps } from "../../../src/cli/findings/source-ranges.ts";
import { plainLook } from "../../../src/cli/look.ts";
import { parseWranglerText } from "../../../src/cli/wrangler-file.ts";
import { checkWranglerConfig } from "../../../src/cli/check/file.ts";
import { expectApproved } from "../../support/words.ts";
import { KEY_OF_STRIPE, WRONG_FILES } from "./wrong-files.ts";
import { WRONG_JSON_FILES } from "./wrong-json-files.ts";

function findings(text: string, file = "wrangler.toml"): readonly ConfigFinding[] {
  const read = parseWranglerText(file, text);
  if (read.kind === "read") return findingsOf(checkWranglerConfig(read.table), read);
  return read.kind === "invalid" ? [read.finding] : [];
}

/** What is wrong in TOML can be as wrong in JSON, unless the file is no TOML at all. */
const IN_JSON = Object.fromEntries(
  Object.entries(WRONG_FILES).flatMap(([name, text]) =>
    parseWranglerText("wrangler.toml", text).kind === "read"
      ? [[name, `// ${name}\n${JSON.stringify(parse(text), null, 2)}\n`]]
      : [],
  ),
);

interface WrongFile {
  readonly name: string;
  readonly file: string;
  readonly text: string;
}

const ALL: readonly WrongFile[] = [
  ...Object.entries(WRONG_FILES).map(([name, text]) => ({ name, file: "wrangler.toml", text })),
  ...Object.entries({ ...IN_JSON, ...WRONG_JSON_FILES }).map(([name, text]) => ({
    name: `${name}, in JSON`,
    file: "wrangler.jsonc",
    text,
  })),
];

describe("the output for a file", () => {
  it.each([
    ["check-toml", WRONG_FILES, "wrangler.toml"],
    ["check-json", WRONG_JSON_FILES, "wrangler.jsonc"],
  ] as const)("is the approved one: %s", async (document, files, file) => {
    const said = Object.entries(files).map(([name, text]) => {
      const found = findings(text, file);
      expect([name, found.length]).not.toEqual([name, 0]);
      return { asked: name, words: findingsText(found, { file, text }, plainLook) };
    });
    await expectApproved(document, said);
  });
});

describe("each problem", () => {
  it.each(ALL)("says what to do, and where it is: $name", ({ file, text }) => {
    const lines = text.split("\n");
    for (const { help, range, related, code } of findings(text, file)) {
      expect({ code, help }).not.toEqual({ code, help: null });
      for (const { line, column, endLine, endColumn } of [
        ...(range === null ? [] : [range]),
        ...related.map((one) => one.range),
      ]) {
        if (text.trim() !== "") expect(lines[line - 1]?.slice(column - 1).trim()).not.toBe("");
        expect(endLine > line || endColumn > column).toBe(true);
        expect(endColumn).toBeLessThanOrEqual((lines[endLine - 1]?.length ?? 0) + 2);
      }
    }
  });

  const fixed = ALL.flatMap((wrong) =>
    findings(wrong.text, wrong.file).flatMap(({ fix, path, message }) =>
      fix === null ? [] : [{ ...wrong, fix, path, message }],
    ),
  );

  it.each(fixed)("is mended by its replacement: $name, $path", ({ file, text, fix, path, message }) => {
    const { range, text: written } = fix;
    const lines = text.split("\n");
    const first = lines[range.line - 1] ?? "";
    const last = lines[range.endLine - 1] ?? "";
    lines.splice(
      range.line - 1,
      range.endLine - range.line + 1,
      first.slice(0, range.column - 1) + written + last.slice(range.endColumn - 1),
    );
    const left = findings(lines.join("\n"), file).map((one) => `${one.path} ${one.message}`);
    expect(left).not.toContain(`${path} ${message}`);
  });
});

describe("a file in JSON", () => {
  it.each(Object.entries(IN_JSON))("has the same problems as in TOML: %s", (name, text) => {
    const shape = (found: readonly ConfigFinding[]): readonly string[] =>
      found.map(({ severity, code, path }) => `${severity} ${code} ${path}`).toSorted();
    const inToml = findings(WRONG_FILES[name] ?? "");
    expect(shape(findings(text, "wrangler.jsonc"))).toEqual(shape(inToml));
  });

  it.each(Object.entries(IN_JSON))("has them where their names are: %s", (_name, text) => {
    const lines = text.split("\n");
    for (const { path, range } of findings(text, "wrangler.jsonc")) {
      if (range === null) continue;
      const names = pathSteps(path).filter((step) => typeof step === "string");
      // At the value, on the line of its name, or at the nearest that is there.
      const line = lines[range.line - 1] ?? "";
      const isEntry = /^\s*(?:[{[]|"[^"]*",?$)/.test(line);
      expect([isEntry || names.some((name) => line.includes(JSON.stringify(name))), line]).toEqual([true, line]);
    }
  });

  it.each(ALL.filter(({ file }) => file !== "wrangler.toml"))("has advice in JSON: $name", ({ text, file }) => {
    for (const { message, help, fix } of findings(text, file)) {
      const prose = `${message}\n${help ?? ""}`.replaceAll(/"(?:[^"\\]|\\.)*"/g, '"…"');
      expect(prose).not.toMatch(/\[\[?[A-Za-z]| = /);
      expect(fix?.text ?? "").not.toContain(" = ");
    }
  });
});

describe("a secret", () => {
  const secrets = [KEY_OF_STRIPE, "hunter2hunter2", "correct horse battery staple"];

  it("is printed by no format", () => {
    const files = ALL.filter(({ text }) => secrets.some((secret) => text.includes(secret)));
    expect(files.length).toBeGreaterThan(8);
    for (const { file, text } of files) {
      const found = findings(text, file);
      const output = findingsText(found, { file, text }, plainLook) + JSON.stringify(found);
      for (const secret of secrets) expect(output).not.toContain(secret);
    }
  });
});
