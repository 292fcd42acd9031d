// Records as a table that fits the terminal. Ids are made to be copied, so they are never cut: without room for one, it gets
// its own line. Pure.

import { alignColumns, type TerminalLook, printableText, shortenText, type TextStyle } from "./look.ts";
import type { ShownSummary } from "./operator-client.ts";
import { fromNow, roughDuration } from "./times.ts";

const HEADINGS = ["STATE", "STATUS", "TRIES", "BEGAN", "REQUEST", "KEY"];
const ID_LENGTH = 64;
const GAP = 2;

/** Text cut shorter than this is useless. */
const MIN_TEXT = 12;

export const STATE_STYLES: Readonly<Record<ShownSummary["state"], TextStyle>> = {
  waiting: "cyan",
  started: "cyan",
  failed: "yellow",
  unknown: "red",
  completed: "green",
  remembered: "dim",
};

export function recordsTable(records: readonly ShownSummary[], now: number, look: TerminalLook): string {
  // Only accepted requests have one.
  const hasNext = records.some(({ nextAttemptAt }) => nextAttemptAt !== null);
  const headings = hasNext ? [...HEADINGS, "NEXT"] : HEADINGS;
  const cells = records.map((record) => [
    record.state,
    record.status === null ? "" : String(record.status),
    String(record.attempt),
    fromNow(record.startedAt, now),
    printableText(requestText(record)),
    printableText(record.key),
    ...(hasNext ? [record.nextAttemptAt === null ? "" : nextText(record.nextAttemptAt, now)] : []),
  ]);
  const natural = Math.max(...alignColumns([headings, ...cells]).map((line) => line.length));
  const isWide = natural + GAP + ID_LENGTH <= look.width;
  const lines = alignColumns(fit([headings, ...cells], natural - look.width));
  const textWidth = Math.max(...lines.map((line) => line.length));
  return lines
    .map((line, index) => {
      const record = records[index - 1];
      if (record === undefined) return look.paint("dim", isWide ? `${line.padEnd(textWidth + GAP)}ID` : line);
      const painted = line.replace(record.state, look.paint(STATE_STYLES[record.state], record.state));
      const padding = " ".repeat(textWidth - line.length + GAP);
      return isWide
        ? `${painted}${padding}${printableText(record.id)}`
        : `${painted}\n  ${look.paint("dim", printableText(record.id))}`;
    })
    .join("\n");
}

/** What the request was: its label, method and path, as far as they are noted; otherwise its route. */
export function requestText({ request, route }: Pick<ShownSummary, "request" | "route">): string {
  if (request === null) return route;
  const { method, target, label } = request;
  const line = `${method} ${target ?? route}`;
  return label === null ? line : `${label} ${line}`;
}

/** When the next attempt of an accepted request begins. One that is due waits for a place. */
export function nextText(iso: string, now: number): string {
  const dueMs = now - Date.parse(iso);
  return dueMs < 1000 ? fromNow(iso, now) : `due for ${roughDuration(dueMs)}`;
}

/** Shortens the two columns with free text, the wider one first. */
function fit(rows: readonly (readonly string[])[], excess: number): readonly (readonly string[])[] {
  if (excess <= 0) return rows;
  const widthOf = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const [request, key] = [HEADINGS.indexOf("REQUEST"), HEADINGS.indexOf("KEY")];
  let [requestWidth, keyWidth] = [widthOf(request), widthOf(key)];
  for (let left = excess; left > 0 && Math.max(requestWidth, keyWidth) > MIN_TEXT; left -= 1) {
    if (requestWidth > keyWidth) requestWidth -= 1;
    else keyWidth -= 1;
  }
  return rows.map((row) =>
    row.map((cell, column) =>
      column === request ? shortenText(cell, requestWidth) : column === key ? shortenText(cell, keyWidth) : cell,
    ),
  );
}
