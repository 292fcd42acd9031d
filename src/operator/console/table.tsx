// A table whose rows are cards on a phone.

import type { Child } from "hono/jsx";

interface TableProps {
  /** The id of its heading. */
  readonly labelledBy: string;
  /** Names, and classes if any; the first column names the row. */
  readonly columns: readonly (readonly [name: string, className?: string])[];
  readonly rows: readonly (readonly Child[])[];
}

export function DataTable({ labelledBy, columns, rows }: TableProps) {
  return (
    <table class="cards" aria-labelledby={labelledBy}>
      <thead>
        <tr>
          {columns.map(([name, className]) => (
            <th scope="col" class={className}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([first, ...cells]) => (
          <tr>
            <th scope="row">{first}</th>
            {cells.map((cell, at) => (
              <td class={cellClass(cell, columns[at + 1]?.[1])} data-label={columns[at + 1]?.[0]}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A card has no room for a cell that says nothing. */
export function cellClass(cell: Child, className?: string): string | undefined {
  return cell === "–" ? `none ${className ?? ""}` : className;
}

interface PagesProps {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly isFirst: boolean;
  readonly cursor: string | null;
  /** The cursor of the page before, of a list that can be read in both directions. */
  readonly previous?: string | null;
  /** The cursor of its last page. */
  readonly last?: string | null;
}

/** To the first page of a list, the one before, the next and the last. */
export function PageLinks({ path, query, isFirst, cursor, previous = null, last = null }: PagesProps) {
  const links = [
    isFirst ? null : (["First page", {}, undefined] as const),
    previous === null ? null : (["Previous page", { cursor: previous }, "prev"] as const),
    cursor === null ? null : (["Next page", { cursor }, "next"] as const),
    cursor === null || last === null ? null : (["Last page", { cursor: last }, undefined] as const),
  ];
  return (
    <nav class="pages" aria-label="Pages">
      {links.map((link) => {
        if (link === null) return null;
        const [name, more, rel] = link;
        return (
          <a class="button" rel={rel} href={`${path}?${new URLSearchParams({ ...query, ...more }).toString()}`}>
            {name}
          </a>
        );
      })}
    </nav>
  );
}
