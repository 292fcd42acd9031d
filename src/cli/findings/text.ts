// Findings as text for people, as rustc prints them: what and where, the line with the exact place underlined, and what to write
// instead. No value of a secret is ever printed: these texts end up in logs.

import { secretStart } from "../check/secrets.ts";
import type { ConfigFinding, Severity } from "./findings.ts";
import { type TerminalLook, printableText, type TextStyle } from "../look.ts";
import type { TextRange } from "./source-ranges.ts";

/** The file that findings are about. */
export interface CheckedSource {
  readonly file: string;
  readonly text: string;
}

const STYLES: Readonly<Record<Severity, TextStyle>> = { error: "red", warning: "yellow", note: "cyan" };

/** Columns that are shown of a line; more would wrap. */
const MAX_SHOWN = 120;

/** One block of lines for each finding, with an empty line between two. */
export function findingsText(findings: readonly ConfigFinding[], source: CheckedSource, look: TerminalLook): string {
  const hidden = findings.flatMap(({ code, range }) => (code === "secret-in-file" && range !== null ? [range] : []));
  const printer = new Printer(source, hidden, look);
  return findings.map((finding) => printer.print(finding)).join("\n\n");
}

interface Mark {
  readonly range: TextRange;
  readonly label: string;
  readonly sign: "^" | "-" | "~";
  readonly style: TextStyle;
}

class Printer {
  readonly #file: string;
  readonly #lines: readonly string[];
  readonly #hidden: readonly TextRange[];
  readonly #look: TerminalLook;

  constructor({ file, text }: CheckedSource, hidden: readonly TextRange[], look: TerminalLook) {
    this.#file = file;
    this.#lines = text.split(/\r?\n/);
    this.#hidden = hidden;
    this.#look = look;
  }

  print({ severity, code, path, message, help, range, related, fix }: ConfigFinding): string {
    const style = STYLES[severity];
    const marks = range === null ? [] : [{ range, label: "", sign: "^", style } as const];
    const others = related.map((one) => ({ range: one.range, label: one.label, sign: "-", style: "cyan" }) as const);
    const last = Math.max(0, ...[...marks, ...others].map((mark) => mark.range.line), fix?.range.line ?? 0);
    const margin = String(last).length;
    const place = range === null ? this.#file : `${this.#file}:${range.line}:${range.column}`;
    const what = path === "" ? message : `${path}: ${message}`;
    return [
      `${this.#paint(style, `${severity}[${code}]`)}${this.#look.paint("bold", `: ${printableText(what)}`)}`,
      `${" ".repeat(margin)}${this.#paint("cyan", "-->")} ${place}`,
      ...(marks.length === 0 ? [] : this.#snippet([...marks, ...others], margin)),
      ...(help === null ? [] : [`${this.#paint("green", "help")}: ${printableText(help)}`]),
      ...(fix === null ? [] : this.#fixed(fix, margin)),
    ].join("\n");
  }

  /** The marked lines in their order, each with its marks below. */
  #snippet(marks: readonly Mark[], margin: number): readonly string[] {
    const lines = [...new Set(marks.map(({ range }) => range.line))].toSorted((one, other) => one - other);
    const rows = [this.#bar(margin)];
    for (const [index, line] of lines.entries()) {
      const before = lines[index - 1];
      if (before !== undefined && line > before + 1) rows.push(`${" ".repeat(margin)}${this.#paint("cyan", "...")}`);
      const own = marks.filter(({ range }) => range.line === line);
      rows.push(...this.#marked(line, this.#lines[line - 1] ?? "", own, margin));
    }
    return [...rows, this.#bar(margin)];
  }

  #marked(number: number, line: string, marks: readonly Mark[], margin: number): readonly string[] {
    const [first] = marks;
    const start = Math.max(0, Math.min((first?.range.column ?? 1) - 1 - MAX_SHOWN / 3, line.length - MAX_SHOWN));
    const shown = (from: number, to: number): string =>
      printableText(
        this.#safe(number, line, Math.max(start, from), Math.min(to, start + MAX_SHOWN)).replaceAll("\t", "    "),
      );
    const [before, after] = [start > 0 ? "…" : "", line.length > start + MAX_SHOWN ? "…" : ""];
    const text = `${before}${shown(0, line.length)}${after}`;
    const gutter = `${String(number).padStart(margin)} |`;
    return [
      `${this.#paint("cyan", gutter)} ${text}`.trimEnd(),
      ...marks.map(({ range, label, sign, style }) => {
        const end = range.endLine === range.line ? range.endColumn - 1 : line.trimEnd().length;
        const indent = " ".repeat((before + shown(0, range.column - 1)).length);
        const width = Math.max(1, shown(range.column - 1, end).length);
        const signs = this.#paint(style, `${sign.repeat(width)}${label === "" ? "" : ` ${label}`}`);
        return `${this.#bar(margin)} ${indent}${signs}`;
      }),
    ];
  }

  /** The line as it should be. */
  #fixed({ range, text }: NonNullable<ConfigFinding["fix"]>, margin: number): readonly string[] {
    // What spans lines is said in words.
    if (range.line !== range.endLine) return [];
    const line = this.#lines[range.line - 1] ?? "";
    const fixed = line.slice(0, range.column - 1) + text + line.slice(range.endColumn - 1);
    const mark: Mark = {
      range: { ...range, endColumn: range.column + text.length },
      label: "",
      sign: "~",
      style: "green",
    };
    // Another value of the line may be a secret.
    if (secretStart(line) !== null) return [];
    if (this.#hidden.some((one) => one.line <= range.line && range.line <= one.endLine)) return [];
    return [this.#bar(margin), ...this.#marked(range.line, fixed, [mark], margin)];
  }

  /** A part of a line, with dots for secrets. */
  #safe(number: number, line: string, from: number, to: number): string {
    let safe = "";
    for (let at = from; at < to; at += 1) safe += this.#isHidden(number, at + 1) ? "•" : (line[at] ?? "");
    return safe;
  }

  #isHidden(line: number, column: number): boolean {
    // Also in a file that nothing could be read from.
    const start = secretStart(this.#lines[line - 1] ?? "");
    if (start !== null && column > start) return true;
    return this.#hidden.some(
      (range) =>
        (line > range.line || (line === range.line && column >= range.column)) &&
        (line < range.endLine || (line === range.endLine && column < range.endColumn)),
    );
  }

  #bar(margin: number): string {
    return this.#paint("cyan", `${" ".repeat(margin)} |`);
  }

  #paint(style: TextStyle, text: string): string {
    return this.#look.paint(style, text);
  }
}
