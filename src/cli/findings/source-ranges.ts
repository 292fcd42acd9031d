// Where in a file the key and the value of each path are, for messages that show the line. Decides nothing about them; toml-ranges.ts
// and json-ranges.ts fill it from a tree with positions. What the text means is read elsewhere, as Wrangler reads it.

/** Lines and columns count from 1, in UTF-16 code units as editors count; `endColumn` is the first after it. */
export interface TextRange {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

export interface KeyRanges {
  readonly key: TextRange;
  /** Of a table with a header: the header. */
  readonly value: TextRange;
  /** Where to point at for what is missing inside. */
  readonly head: TextRange;
}

/** What a path leads to. `isWhole`: to itself; otherwise to the nearest table around it that the file has. */
export interface FoundRanges extends KeyRanges {
  readonly isWhole: boolean;
}

export type PathStep = string | number;

export class SourceRanges {
  readonly #ranges = new Map<string, KeyRanges>();

  /** Null for what stands nowhere, and for everything at the top that is missing. */
  find(path: readonly PathStep[]): FoundRanges | null {
    for (let length = path.length; length > 0; length -= 1) {
      const found = this.#ranges.get(nameOf(path.slice(0, length)));
      if (found !== undefined) return { ...found, isWhole: length === path.length };
    }
    return null;
  }

  /** A table may be opened more than once; its first place counts. */
  protected add(path: readonly PathStep[], ranges: KeyRanges): void {
    const name = nameOf(path);
    if (!this.#ranges.has(name)) this.#ranges.set(name, ranges);
  }
}

/** Steps of a path as problems write it: `ROUTES[2].key_format.min`, `."odd name"`. */
export function pathSteps(path: string): readonly PathStep[] {
  return [...path.matchAll(/\[(\d+)\]|\.?("(?:[^"\\]|\\.)*"|[^.[\]"]+)/g)].map(([, index, name = ""]) => {
    if (index !== undefined) return Number(index);
    const unquoted: unknown = name.startsWith('"') ? JSON.parse(name) : name;
    return String(unquoted);
  });
}

/** A part of one line; `at` counts from 0. */
export function spanOf(line: number, at: number, text: string): TextRange {
  return { line, column: at + 1, endLine: line, endColumn: at + 1 + text.length };
}

function nameOf(path: readonly PathStep[]): string {
  return JSON.stringify(path);
}
