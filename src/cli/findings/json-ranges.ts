// The places of a wrangler.json or wrangler.jsonc, from the tree of the parser with which Wrangler reads it.

import type { Node } from "jsonc-parser";

import { SourceRanges, type TextRange, type PathStep } from "./source-ranges.ts";

export class JsonRanges extends SourceRanges {
  readonly #lineStarts: readonly number[];

  constructor(text: string, root: Node) {
    super();
    this.#lineStarts = lineStartsOf(text);
    this.#addContent(root, []);
  }

  #addContent(node: Node, path: readonly PathStep[]): void {
    for (const [index, child] of (node.children ?? []).entries()) {
      if (child.type === "property") this.#addMember(child, path);
      else this.#addValue(child, [...path, index], this.#openingOf(child));
    }
  }

  #addMember({ children: [name, value] = [] }: Node, path: readonly PathStep[]): void {
    if (name !== undefined && value !== undefined)
      this.#addValue(value, [...path, String(name.value)], this.rangeOf(name));
  }

  #addValue(value: Node, path: readonly PathStep[], key: TextRange): void {
    // What is missing in JSON text is missing in the text.
    const head = value.type === "string" ? this.rangeOf(value) : key;
    this.add(path, { key, value: this.#shown(value, key), head });
    this.#addContent(value, path);
  }

  /** All of a value, but of what holds objects on several lines only its name or its bracket, as a header of TOML. */
  #shown(node: Node, key: TextRange): TextRange {
    const whole = this.rangeOf(node);
    return whole.line !== whole.endLine && holdsObjects(node) ? key : whole;
  }

  /** What stands on one line, or the bracket that begins it. */
  #openingOf(node: Node): TextRange {
    const whole = this.rangeOf(node);
    return whole.line === whole.endLine ? whole : this.rangeOf({ offset: node.offset, length: 1 });
  }

  rangeOf({ offset, length }: Pick<Node, "offset" | "length">): TextRange {
    const [start, end] = [this.#positionOf(offset), this.#positionOf(offset + length)];
    return { ...start, endLine: end.line, endColumn: end.column };
  }

  #positionOf(offset: number): Pick<TextRange, "line" | "column"> {
    const after = this.#lineStarts.findIndex((start) => start > offset);
    const line = after < 0 ? this.#lineStarts.length : after;
    return { line, column: offset - (this.#lineStarts[line - 1] ?? 0) + 1 };
  }
}

function holdsObjects(node: Node): boolean {
  return node.type === "object" || (node.children ?? []).some((child) => child.type === "object");
}

function lineStartsOf(text: string): readonly number[] {
  return [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
}
