// Finds and reads a project's configuration for the commands that need it: wrangler.json, wrangler.jsonc or wrangler.toml. Decides
// which of them counts, as Wrangler does, and how an unusable file is reported; knows no setting.

import { readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

import { parse, TomlError } from "smol-toml";

import type { SettingsTable } from "../kernel/config/table.ts";
import type { ConfigFinding, FileLanguage } from "./findings/findings.ts";
import { readJsonSyntax } from "./findings/json-syntax.ts";
import type { SourceRanges } from "./findings/source-ranges.ts";
import { TomlRanges } from "./findings/toml-ranges.ts";
import { syntaxFinding } from "./findings/toml-syntax.ts";

/** In the order in which Wrangler looks for them, each in this folder and all folders above, before it looks for the next. */
const NAMES = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"] as const;

/** `unreadable`: the file does not exist or may not be read. `invalid`: it is not in its language. Messages name the file. */
export type WranglerFile =
  | {
      readonly kind: "read";
      readonly table: SettingsTable;
      readonly text: string;
      readonly places: SourceRanges;
      readonly language: FileLanguage;
    }
  | { readonly kind: "unreadable"; readonly message: string }
  | { readonly kind: "invalid"; readonly message: string; readonly text: string; readonly finding: ConfigFinding };

export function readWranglerFile(file: string): WranglerFile {
  let text: string;
  try {
    text = textOf(readFileSync(file));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "unreadable", message: `${file}: cannot be read (${reason})` };
  }
  return parseWranglerText(file, text);
}

/** `file` says in which language `text` is. */
export function parseWranglerText(file: string, text: string): WranglerFile {
  if (languageOf(file) === "json") {
    const read = readJsonSyntax(text);
    if (!read.ok) return invalid(file, text, read.finding);
    return { kind: "read", table: read.table, text, places: read.places, language: "json" };
  }
  try {
    return { kind: "read", table: parse(text), text, places: new TomlRanges(text), language: "toml" };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return invalid(file, text, syntaxFinding(text, error));
  }
}

function invalid(file: string, text: string, finding: ConfigFinding): WranglerFile {
  const { line, column } = finding.range ?? { line: 1, column: 1 };
  return { kind: "invalid", message: `${file}:${line}:${column}: ${finding.message}`, text, finding };
}

/** By its name, as Wrangler tells them apart. */
export function languageOf(file: string): FileLanguage {
  return /\.jsonc?$/.test(file) ? "json" : "toml";
}

/** Throws for what Wrangler does not read. */
function textOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw new Error("it is UTF-16: save it as UTF-8");
  }
  return bytes.toString("utf8").replace(/^\uFEFF/, "");
}

/** What Wrangler reads in a folder where it is given no file; `null`: there is none. Relative to where this program runs. */
export function wranglerFileIn(folder: string): string | null {
  for (const name of NAMES) {
    const file = nearestAbove(folder, name);
    if (file !== null) return relative("", file);
  }
  return null;
}

/** The file of this name in this folder, or in the nearest one above that has it. */
export function nearestAbove(folder: string, name: string): string | null {
  const files = foldersFrom(resolve(folder)).map((above) => join(above, name));
  return files.find(isFile) ?? null;
}

/** What a command reads without an argument. */
export function usualFile(): string {
  return wranglerFileIn(".") ?? "wrangler.toml";
}

/** The file that Wrangler reads instead of this one; `null`: it reads this one, or only where it is named. */
export function readInstead(file: string): string | null {
  if (!NAMES.some((name) => name === basename(file))) return null;
  const other = wranglerFileIn(dirname(file));
  return other === null || resolve(other) === resolve(file) ? null : other;
}

/** Files beside this one that Wrangler does not read because of it. */
export function unreadBeside(file: string): readonly string[] {
  const at = NAMES.findIndex((name) => name === basename(file));
  if (at < 0 || readInstead(file) !== null) return [];
  return NAMES.slice(at + 1).filter((name) => isFile(join(dirname(file), name)));
}

function foldersFrom(folder: string): readonly string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersFrom(above)];
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** How many problems there are, in words. */
export function problemCount(problems: number): string {
  return problems === 1 ? "1 problem" : `${problems} problems`;
}
