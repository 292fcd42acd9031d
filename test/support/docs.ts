// The documentation as tests read it: every README.md, the changelog, and what is in docs/ and .github/, with their code blocks and the commands in them.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectDir } from "./wrangler.ts";

export interface CodeBlock {
  /** Of the fence: `sh`, `toml`, or nothing. */
  readonly language: string;
  readonly text: string;
}

export interface Page {
  /** From the project's root: `src/cli/README.md`. */
  readonly path: string;
  /** Its folder, from the root. */
  readonly folder: string;
  readonly text: string;
  readonly blocks: readonly CodeBlock[];
  /** What is not in a code block. */
  readonly prose: string;
}

const FENCE = /^( *)```(\w*)\n(.*?)^\1```$/gms;

export function readPage(path: string): Page {
  return pageOf(path, readFileSync(join(projectDir, path), "utf8"));
}

/** `text` is what the page says, wherever it was read. */
export function pageOf(path: string, text: string): Page {
  const blocks = [...text.matchAll(FENCE)].map(([, indent = "", language = "", code = ""]) => ({
    language,
    text: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
  return { path, folder: dirname(path), text, blocks, prose: text.replaceAll(FENCE, "") };
}

export function readPages(): readonly Page[] {
  const inFolders = ["src", "test"].flatMap((folder) =>
    readdirSync(join(projectDir, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /(?:^|\/)README\.md$/.test(name) && !name.includes("node_modules/"))
      .map((name) => `${folder}/${name}`),
  );
  const inDocs = readdirSync(join(projectDir, "docs")).map((name) => `docs/${name}`);
  const forContributors = [".github/CONTRIBUTING.md", ".github/SECURITY.md"];
  return ["README.md", "CHANGELOG.md", ...forContributors, ...inDocs.toSorted(), ...inFolders.toSorted()].map(readPage);
}

/** The block of a page that holds this text; it is there once. */
export function blockWith(path: string, text: string): string {
  const found = readPage(path).blocks.filter((block) => block.text.includes(text));
  const [block] = found;
  if (block === undefined || found.length > 1) throw new Error(`${path} has ${found.length} blocks with ${text}`);
  return block.text;
}

/** The commands of a shell block, one each, without comments. */
export function commandsOf({ text }: CodeBlock): readonly string[] {
  return text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s+)#\s.*$/, "").trim())
    .filter((line) => line !== "");
}
