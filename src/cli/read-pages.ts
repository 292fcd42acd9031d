// Reads the pages of a list up to a limit. Those of records show their progress on a terminal.

import type { GenericSchema } from "valibot";

import { LIST_LIMITS } from "../operator/request-schema.ts";
import {
  type ListFilter,
  type OperatorClient,
  pageQuery,
  type RecordConditions,
  type ShownRecords,
  type ShownSummary,
} from "./operator-client.ts";

/** Progress is shown only after this. */
const QUIET_MS = 1_000;

export interface ReadToEnd {
  readonly hasMore: boolean;
  /** As the last page said. */
  readonly total: ShownRecords["total"];
  readonly parts: ShownRecords["parts"];
  /** Shards that did not answer: their records were not read. */
  readonly unreachable: readonly string[];
}

/** Yields pages until `limit` records are read or there are no more. Cuts the last page to fit and skips empty ones. */
export async function* readPages(
  client: OperatorClient,
  conditions: RecordConditions,
  limit: number,
  pageLimit: number = LIST_LIMITS.maxLimit,
): AsyncGenerator<readonly ShownSummary[], ReadToEnd> {
  const progress = startProgress();
  let read = 0;
  let cursor: string | null = null;
  let pages = 0;
  let last: Pick<ShownRecords, "total" | "parts">;
  const unreachable = new Set<string>();
  try {
    do {
      const page = await client.list(conditions, Math.min(limit - read, pageLimit), cursor);
      last = page;
      cursor = page.cursor;
      pages += 1;
      for (const shard of page.unreachable) unreachable.add(shard);
      const records = page.records.slice(0, limit - read);
      read += records.length;
      progress.clear();
      if (records.length > 0) yield records;
      progress.show(`${read} records, ${pages} pages …`);
    } while (cursor !== null && read < limit);
  } finally {
    progress.clear();
  }
  return { hasMore: cursor !== null, total: last.total, parts: last.parts, unreachable: [...unreachable] };
}

/** A list of the API, such as a feature's. */
export interface PagedList<Page, Item> {
  readonly path: string;
  readonly schema: GenericSchema<unknown, Page>;
  readonly itemsOf: (page: Page) => readonly Item[];
}

/** Reads pages until there are so many items, or no more. `last`: the last page, which says what is not in the list. */
export async function readList<Page extends { readonly cursor: string | null }, Item>(
  client: Pick<OperatorClient, "read">,
  { path, schema, itemsOf }: PagedList<Page, Item>,
  filter: ListFilter,
  limit: number,
): Promise<{ readonly items: readonly Item[]; readonly last: Page }> {
  const items: Item[] = [];
  let last: Page | null = null;
  do {
    const query = pageQuery(filter, Math.min(limit - items.length, LIST_LIMITS.maxLimit), last?.cursor ?? null);
    last = await client.read(schema, `${path}?${query}`);
    items.push(...itemsOf(last));
  } while (last.cursor !== null && items.length < limit);
  return { items, last };
}

/** A line on stderr that is rewritten in place; shows nothing if stderr is not a terminal. */
export function startProgress(): { show(text: string): void; clear(): void } {
  const startedAt = Date.now();
  let isShown = false;
  return {
    show(text) {
      if (!process.stderr.isTTY || Date.now() - startedAt < QUIET_MS) return;
      process.stderr.write(`\r\u001b[K${text}`);
      isShown = true;
    },
    clear() {
      if (isShown) process.stderr.write("\r\u001b[K");
      isShown = false;
    },
  };
}
