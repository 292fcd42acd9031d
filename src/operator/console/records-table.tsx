// Records as a table, or as cards on a phone.

import type { Child } from "hono/jsx";
import type { RecordSummary } from "../operator.ts";
import { StateBadge } from "./state.tsx";
import { cellClass } from "./table.tsx";
import { TimeText } from "./time.tsx";
import type { ConsoleView } from "./view.ts";

export interface RecordColumn {
  readonly name: string;
  readonly class?: string;
  readonly cell: (record: RecordSummary, now: number) => Child;
}

export const COLUMNS = {
  route: { name: "Route", class: "route", cell: (record) => <Requested record={record} /> },
  state: { name: "State", cell: ({ state }) => <StateBadge state={state} /> },
  layout: { name: "Layout", cell: ({ layout }) => <span class="mono">{layout}</span> },
  attempt: { name: "Attempt", class: "num", cell: ({ attempt }) => attempt },
  status: { name: "Status", class: "num", cell: ({ status }) => status ?? "–" },
  began: { name: "Started", class: "when", cell: ({ startedAt }, now) => <TimeText at={startedAt} now={now} /> },
  running: {
    name: "Running for",
    class: "when",
    cell: ({ startedAt }, now) => <TimeText at={startedAt} now={now} rel="for" />,
  },
  locked: {
    name: "Lock ends",
    class: "when",
    cell: ({ lockedUntil }, now) => <TimeText at={lockedUntil} now={now} rel="in" />,
  },
  undecided: {
    name: "Unknown since",
    class: "when",
    cell: ({ startedAt }, now) => <TimeText at={startedAt} now={now} />,
  },
  next: {
    name: "Next attempt",
    class: "when",
    cell: ({ nextAttemptAt }, now) =>
      nextAttemptAt === null ? "–" : <TimeText at={nextAttemptAt} now={now} rel="due" />,
  },
  expires: {
    name: "Expires",
    class: "when late",
    cell: ({ expiresAt }, now) => (expiresAt === null ? "–" : <TimeText at={expiresAt} now={now} rel="in" />),
  },
} as const satisfies Readonly<Record<string, RecordColumn>>;

/** The request's label and path, as far as they are noted; otherwise the route. */
function Requested({ record: { request, route } }: { readonly record: RecordSummary }) {
  if (request === null) return <span class="mono">{route}</span>;
  const { label, method, target } = request;
  return (
    <>
      {label === null ? null : `${label} `}
      <span class="mono" title={route}>
        {method} {target ?? route}
      </span>
    </>
  );
}

interface RecordsTableProps {
  readonly view: ConsoleView;
  readonly records: readonly RecordSummary[];
  readonly columns: readonly RecordColumn[];
  /** The id of its heading. */
  readonly labelledBy: string;
}

export function RecordsTable({ view, records, columns, labelledBy }: RecordsTableProps) {
  return (
    <table class="cards" aria-labelledby={labelledBy}>
      <thead>
        <tr>
          <th scope="col">Idempotency key</th>
          {columns.map((column) => (
            <th scope="col" class={column.class}>
              {column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {records.map((record) => (
          <tr>
            <th scope="row">
              <a class="mono" href={view.paths.record(record.id)}>
                {record.key}
              </a>
            </th>
            {columns.map((column) => {
              const cell = column.cell(record, view.now);
              return (
                <td class={cellClass(cell, column.class)} data-label={column.name}>
                  {cell}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
