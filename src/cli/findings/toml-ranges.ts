// The places of a TOML file. What the text means is read elsewhere (smol-toml, as wrangler reads it); this is the same text once
// more, as a tree with positions.

import { type AST, parseTOML } from "toml-eslint-parser";

import { SourceRanges, type TextRange, type PathStep } from "./source-ranges.ts";

export class TomlRanges extends SourceRanges {
  /** Without places if the text is not TOML. */
  constructor(text: string) {
    super();
    const top = treeOf(text)?.body[0];
    if (top === undefined) return;
    for (const node of top.body) {
      if (node.type === "TOMLTable") this.#addTable(node);
      else this.#addPair(node, []);
    }
  }

  #addTable({ resolvedKey, key, kind, loc, body }: AST.TOMLTable): void {
    const brackets = kind === "array" ? 2 : 1;
    const { line, column } = loc.start;
    const header = {
      line,
      column: column + 1,
      endLine: key.loc.end.line,
      endColumn: key.loc.end.column + brackets + 1,
    };
    let names = 0;
    for (const [index, step] of resolvedKey.entries()) {
      const name = typeof step === "number" ? undefined : key.keys[names];
      if (name !== undefined) names += 1;
      const found = { key: name === undefined ? header : rangeOf(name.loc), value: header, head: header };
      this.add(resolvedKey.slice(0, index + 1), found);
    }
    for (const pair of body) this.#addPair(pair, resolvedKey);
  }

  #addPair({ key, value }: AST.TOMLKeyValue, table: readonly PathStep[]): void {
    const path = [...table];
    for (const [index, part] of key.keys.entries()) {
      path.push(part.type === "TOMLBare" ? part.name : part.value);
      const isLast = index === key.keys.length - 1;
      const written = rangeOf(part.loc);
      const whole = isLast ? rangeOf(value.loc) : written;
      // What is missing in JSON text is missing in the text.
      const isText = isLast && value.type === "TOMLValue";
      this.add(path, { key: written, value: whole, head: isText ? whole : written });
    }
    this.#addContent(value, path);
  }

  #addContent(value: AST.TOMLContentNode, path: readonly PathStep[]): void {
    if (value.type === "TOMLInlineTable") for (const pair of value.body) this.#addPair(pair, path);
    if (value.type !== "TOMLArray") return;
    for (const [index, element] of value.elements.entries()) {
      const at = [...path, index];
      const range = rangeOf(element.loc);
      this.add(at, { key: range, value: range, head: range });
      this.#addContent(element, at);
    }
  }
}

function treeOf(text: string): AST.TOMLProgram | null {
  try {
    return parseTOML(text);
  } catch {
    return null;
  }
}

function rangeOf({ start, end }: AST.SourceLocation): TextRange {
  return { line: start.line, column: start.column + 1, endLine: end.line, endColumn: end.column + 1 };
}
