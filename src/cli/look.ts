// How text looks on a terminal: its colours, its width, and that nothing which came from outside can steer it.

import { styleText } from "node:util";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export interface Look {
  /** In columns. */
  readonly width: number;
  paint(style: Style, text: string): string;
}

/** Where nobody looks at a terminal: no colours, and no reason to cut anything. */
export const plainLook: Look = { width: Number.POSITIVE_INFINITY, paint: (_, text) => text };

/** Colours only on a terminal, and not where NO_COLOR is set: Node's own rules. */
export function lookOf(stream: NodeJS.WriteStream): Look {
  return {
    width: stream.isTTY ? stream.columns : Number.POSITIVE_INFINITY,
    paint: (style, text) => styleText(style, text, { stream }),
  };
}

/** One line in which control characters are written out: a key or a server's text must not move the cursor. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** At most `width` characters, the last of them an ellipsis where something is missing. */
export function shorten(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Rows as lines, each column as wide as its widest cell; cells may not be painted yet, since paint has a length. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
