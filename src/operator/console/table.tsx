// A table whose rows are cards on a phone.

import type { Child } from "hono/jsx";

interface TableProps {
  /** The id of its heading. */
  readonly labelledBy: string;
  /** Names, and classes if any; the first column names the row. */
  readonly columns: readonly (readonly [name: string, className?: string])[];
  readonly rows: readonly (readonly Child[])[];
}

export function Table({ labelledBy, columns, rows }: TableProps) {
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
              <td class={columns[at + 1]?.[1]} data-label={columns[at + 1]?.[0]}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface PagesProps {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly isFirst: boolean;
  readonly cursor: string | null;
}

/** To the first page of a list, and to the next. */
export function Pages({ path, query, isFirst, cursor }: PagesProps) {
  const to = (more: Readonly<Record<string, string>>): string =>
    `${path}?${new URLSearchParams({ ...query, ...more }).toString()}`;
  return (
    <nav class="pages" aria-label="Pages">
      {isFirst ? null : (
        <a class="button" href={to({})}>
          First page
        </a>
      )}
      {cursor === null ? null : (
        <a class="button" rel="next" href={to({ cursor })}>
          Next page
        </a>
      )}
    </nav>
  );
}
