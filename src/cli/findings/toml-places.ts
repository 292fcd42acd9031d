// Where in a TOML file the key and the value of each path are, for messages that show the line. Decides nothing about them. What the
// text means is read elsewhere (smol-toml, as wrangler reads it); this is the same text once more, as a tree with positions.

import { type AST, parseTOML } from "toml-eslint-parser";

/** Lines and columns count from 1, in UTF-16 code units as editors count; `endColumn` is the first after it. */
export interface Range {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

export interface Place {
  readonly key: Range;
  /** Of a table with a header: the header. */
  readonly value: Range;
  /** Where to point at for what is missing inside. */
  readonly head: Range;
}

/** What a path leads to. `isWhole`: to itself; otherwise to the nearest table around it that the file has. */
export interface Found extends Place {
  readonly isWhole: boolean;
}

type Step = string | number;

export class TomlPlaces {
  readonly #places = new Map<string, Place>();

  /** Without places if the text is not TOML. */
  constructor(text: string) {
    const top = treeOf(text)?.body[0];
    if (top === undefined) return;
    for (const node of top.body) {
      if (node.type === "TOMLTable") this.#addTable(node);
      else this.#addPair(node, []);
    }
  }

  /** Null for what stands nowhere, and for everything at the top that is missing. */
  find(path: readonly Step[]): Found | null {
    for (let length = path.length; length > 0; length -= 1) {
      const place = this.#places.get(nameOf(path.slice(0, length)));
      if (place !== undefined) return { ...place, isWhole: length === path.length };
    }
    return null;
  }

  #add(path: readonly Step[], place: Place): void {
    const name = nameOf(path);
    // A table may be opened more than once; its first place counts.
    if (!this.#places.has(name)) this.#places.set(name, place);
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
      const place = { key: name === undefined ? header : rangeOf(name.loc), value: header, head: header };
      this.#add(resolvedKey.slice(0, index + 1), place);
    }
    for (const pair of body) this.#addPair(pair, resolvedKey);
  }

  #addPair({ key, value }: AST.TOMLKeyValue, table: readonly Step[]): void {
    const path = [...table];
    for (const [index, part] of key.keys.entries()) {
      path.push(part.type === "TOMLBare" ? part.name : part.value);
      const isLast = index === key.keys.length - 1;
      const written = rangeOf(part.loc);
      const whole = isLast ? rangeOf(value.loc) : written;
      // What is missing in JSON text is missing in the text.
      const isText = isLast && value.type === "TOMLValue";
      this.#add(path, { key: written, value: whole, head: isText ? whole : written });
    }
    this.#addContent(value, path);
  }

  #addContent(value: AST.TOMLContentNode, path: readonly Step[]): void {
    if (value.type === "TOMLInlineTable") for (const pair of value.body) this.#addPair(pair, path);
    if (value.type !== "TOMLArray") return;
    for (const [index, element] of value.elements.entries()) {
      const at = [...path, index];
      const range = rangeOf(element.loc);
      this.#add(at, { key: range, value: range, head: range });
      this.#addContent(element, at);
    }
  }
}

/** Steps of a path as problems write it: `ROUTES[2].key_format.min`, `."odd name"`. */
export function stepsOf(path: string): readonly Step[] {
  return [...path.matchAll(/\[(\d+)\]|\.?("(?:[^"\\]|\\.)*"|[^.[\]"]+)/g)].map(([, index, name = ""]) => {
    if (index !== undefined) return Number(index);
    const unquoted: unknown = name.startsWith('"') ? JSON.parse(name) : name;
    return String(unquoted);
  });
}

function treeOf(text: string): AST.TOMLProgram | null {
  try {
    return parseTOML(text);
  } catch {
    return null;
  }
}

function rangeOf({ start, end }: AST.SourceLocation): Range {
  return { line: start.line, column: start.column + 1, endLine: end.line, endColumn: end.column + 1 };
}

function nameOf(path: readonly Step[]): string {
  return JSON.stringify(path);
}
