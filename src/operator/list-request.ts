// Parses the query of a list request. An unknown parameter is refused: a filter with a typo would list everything.

import { type EpochMs, epochMs, KEY_HASH_DIGITS } from "../kernel/record/units.ts";
import { parseMoment } from "./list-texts.ts";
import type { RecordFilter } from "./operator.ts";
import { pageOf, parseQuery, refuseQuery } from "./query.ts";
import { RECORDS_QUERY } from "./records-query.ts";
import type { ParsedRequest } from "./request-schema.ts";

export interface ListRequest {
  readonly filter: RecordFilter;
  readonly limit: number;
  readonly cursor: string | null;
}

/** Why a cursor has no page. */
export const NO_PAGE = "The list has grown too much since this page, or cursor does not come from a list.";

export function parseListRequest(query: URLSearchParams, now = epochMs(Date.now())): ParsedRequest<ListRequest> {
  const read = parseQuery(RECORDS_QUERY, query, "state");
  if (!read.ok) return read;
  const {
    state: states = [],
    route = null,
    key = null,
    id: idPrefix = null,
    caller = null,
    status = null,
  } = read.value;
  if (key !== null && idPrefix !== null) return refuseQuery("key and id cannot be combined: write one of them.");
  const [since, until] = [momentOf(read.value.since, now), momentOf(read.value.until, now)];
  if (since !== null && until !== null && since > until) {
    return refuseQuery("since must not be after until: records between them are listed.");
  }
  const filter = { states, route, since, until, key, idPrefix, caller, status };
  return { ok: true, value: { filter, ...pageOf(read.value) } };
}

function momentOf(text: string | undefined, now: EpochMs): EpochMs | null {
  return text === undefined ? null : parseMoment(text, now);
}

/** Why no list can find these records; `null` if one can. `isPerKey`: every key has its own object. */
export function whyNotListed(isPerKey: boolean, { key, idPrefix }: RecordFilter): string | null {
  if (!isPerKey || key !== null || (idPrefix?.length ?? 0) >= KEY_HASH_DIGITS) return null;
  return `Every key has its own object (shards = "per-key"), and those cannot be listed: give a key, or the first ${KEY_HASH_DIGITS} digits of an id.`;
}
