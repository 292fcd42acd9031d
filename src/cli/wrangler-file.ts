// Reads a wrangler.toml for the commands that check it. Decides how an unusable file is reported; knows no setting.

import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { parse, TomlError, type TomlTable } from "smol-toml";

/** `unreadable`: the file does not exist or may not be read. `invalid`: it is not TOML. Messages name the file. */
export type WranglerFile =
  | { readonly kind: "read"; readonly toml: TomlTable; readonly text: string }
  | { readonly kind: "unreadable"; readonly message: string }
  | { readonly kind: "invalid"; readonly message: string; readonly text: string; readonly error: TomlError };

export function readWranglerFile(file: string): WranglerFile {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "unreadable", message: `${file}: cannot be read (${reason})` };
  }
  try {
    return { kind: "read", toml: parse(text), text };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split("\n")[0]?.replace("Invalid TOML document: ", "");
    return {
      kind: "invalid",
      message: `${file}:${error.line}:${error.column}: not valid TOML: ${reason}`,
      text,
      error,
    };
  }
}

/** The file that Wrangler reads instead of this wrangler.toml, because it looks for JSON first; `null`: none is beside it. */
export function jsonBeside(file: string): string | null {
  if (basename(file) !== "wrangler.toml") return null;
  return ["wrangler.json", "wrangler.jsonc"].find((name) => existsSync(join(dirname(file), name))) ?? null;
}

/** How many problems there are, in words. */
export function problemCount(problems: number): string {
  return problems === 1 ? "1 problem" : `${problems} problems`;
}
