// Text on a terminal: colours, width, and escaping, so that text from outside cannot control the terminal.

import { styleText } from "node:util";

export type TextStyle = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export interface TerminalLook {
  /** In columns. */
  readonly width: number;
  paint(style: TextStyle, text: string): string;
}

/** For output that is not a terminal: no colours, nothing shortened. */
export const plainLook: TerminalLook = { width: Number.POSITIVE_INFINITY, paint: (_, text) => text };

/** Colours in any case: `--color always`. */
export const paintedLook: TerminalLook = {
  width: Number.POSITIVE_INFINITY,
  paint: (style, text) => styleText(style, text, { validateStream: false }),
};

/** Colours only on a terminal, and not where NO_COLOR is set: Node's own rules. */
export function lookOf(stream: NodeJS.WriteStream): TerminalLook {
  return {
    width: stream.isTTY ? stream.columns : Number.POSITIVE_INFINITY,
    paint: (style, text) => styleText(style, text, { stream }),
  };
}

/** Characters that control a terminal or hide text: C0 and C1, DEL, changes of direction, zero width, all line ends. */
const STEERING = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** One line with control characters escaped: a key or a server's text must not move the cursor. */
export function printableText(text: string): string {
  return text.replace(STEERING, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same line by line. */
export function printableLines(text: string): string {
  return text.split("\n").map(printableText).join("\n");
}

/** JSON on one line. A terminal gets control characters escaped, anything else gets the exact text. */
export function jsonLine(value: unknown, stream: { readonly isTTY?: boolean } = process.stdout): string {
  const text = JSON.stringify(value);
  return stream.isTTY === true ? text.replace(STEERING, jsonEscape) : text;
}

function jsonEscape(character: string): string {
  return Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
    .join("");
}

/** At most `width` characters; an ellipsis shows that text is missing. */
export function shortenText(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/**
 * Rows as lines, each column as wide as its widest cell. Every cell becomes printable, so that no table depends on which of its columns
 * come from outside. Cells must not be painted yet: escape codes have a length.
 */
export function alignColumns(cells: readonly (readonly string[])[]): readonly string[] {
  const rows = cells.map((row) => row.map(printableText));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** A table whose headings are dim. */
export function paintHead(look: TerminalLook, [head = "", ...rows]: readonly string[]): readonly string[] {
  return [look.paint("dim", head), ...rows];
}
