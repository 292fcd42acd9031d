// Where in a file the key and the value of each path are, for messages that show the line. Decides nothing about them; toml-places.ts
// and json-places.ts fill it from a tree with positions. What the text means is read elsewhere, as Wrangler reads it.

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
export interface FoundPlace extends Place {
  readonly isWhole: boolean;
}

export type Step = string | number;

export class Places {
  readonly #places = new Map<string, Place>();

  /** Null for what stands nowhere, and for everything at the top that is missing. */
  find(path: readonly Step[]): FoundPlace | null {
    for (let length = path.length; length > 0; length -= 1) {
      const place = this.#places.get(nameOf(path.slice(0, length)));
      if (place !== undefined) return { ...place, isWhole: length === path.length };
    }
    return null;
  }

  /** A table may be opened more than once; its first place counts. */
  protected add(path: readonly Step[], place: Place): void {
    const name = nameOf(path);
    if (!this.#places.has(name)) this.#places.set(name, place);
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

/** A part of one line; `at` counts from 0. */
export function spanOf(line: number, at: number, text: string): Range {
  return { line, column: at + 1, endLine: line, endColumn: at + 1 + text.length };
}

function nameOf(path: readonly Step[]): string {
  return JSON.stringify(path);
}
