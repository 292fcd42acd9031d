// Parses the query of a list request. An unknown parameter is refused: a filter with a typo would list everything.

import { CALLER_DIGITS } from "../kernel/record/request-note.ts";
import { type EpochMs, epochMs, KEY_HASH_DIGITS } from "../kernel/record/units.ts";
import { parseMoment } from "./list-texts.ts";
import type { RecordFilter } from "./operator.ts";
import { ID_PREFIX, LIST_LIMITS, type ParsedRequest, RECORD_STATES } from "./request-schema.ts";

export interface ListRequest {
  readonly filter: RecordFilter;
  readonly limit: number;
  readonly cursor: string | null;
}

const PARAMETERS = ["state", "route", "since", "until", "key", "id", "caller", "status", "limit", "cursor"];
const CALLER = new RegExp(`^[0-9a-f]{${CALLER_DIGITS}}$`);
const { defaultLimit, maxLimit, maxRouteLength, maxKeyLength } = LIST_LIMITS;

/** Why a cursor has no page. */
export const NO_PAGE = "The list has grown too much since this page, or cursor does not come from a list.";

export function parseListRequest(query: URLSearchParams, now = epochMs(Date.now())): ParsedRequest<ListRequest> {
  const unknown = [...query.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return refuse(`Unknown parameter: write one of ${PARAMETERS.join(", ")}.`);
  const repeated = PARAMETERS.find((name) => name !== "state" && query.getAll(name).length > 1);
  if (repeated !== undefined) return refuse(`${repeated} is given more than once: write it once.`);

  const words = query.getAll("state").flatMap((value) => value.split(","));
  const states = RECORD_STATES.filter((state) => words.includes(state));
  if (words.some((word) => !RECORD_STATES.some((state) => state === word))) {
    return refuse(`state must be one or more of ${RECORD_STATES.join(", ")}, separated by commas.`);
  }
  const route = query.get("route");
  if (route !== null && (route === "" || route.length > maxRouteLength)) {
    return refuse(`route must be the path of a route as configured, of at most ${maxRouteLength} characters.`);
  }
  const key = query.get("key");
  if (key !== null && (key === "" || key.length > maxKeyLength)) {
    return refuse(`key must be an idempotency key: 1 to ${maxKeyLength} characters, without quotes.`);
  }
  const idPrefix = query.get("id");
  if (idPrefix !== null && !ID_PREFIX.test(idPrefix)) {
    return refuse("id must be the first 8 to 64 digits (0-9, a-f) of a record's id.");
  }
  if (key !== null && idPrefix !== null) return refuse("key and id cannot be combined: write one of them.");
  const [since, until] = [momentIn(query, "since", now), momentIn(query, "until", now)];
  if (!since.ok) return since;
  if (!until.ok) return until;
  if (since.value !== null && until.value !== null && since.value > until.value) {
    return refuse("since must not be after until: records between them are listed.");
  }
  const caller = query.get("caller");
  if (caller !== null && !CALLER.test(caller)) {
    return refuse(`caller must be the ${CALLER_DIGITS} digits (0-9, a-f) that records show for it.`);
  }
  const status = query.get("status");
  if (status !== null && !/^[1-5]\d\d$/.test(status)) return refuse("status must be an HTTP status: write 201.");
  const limit = query.get("limit") ?? String(defaultLimit);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > maxLimit) {
    return refuse(`limit must be a whole number from 1 to ${maxLimit}.`);
  }
  const filter = {
    states,
    route,
    since: since.value,
    until: until.value,
    key,
    idPrefix,
    caller,
    status: status === null ? null : Number(status),
  };
  return { ok: true, value: { filter, limit: Number(limit), cursor: query.get("cursor") } };
}

function momentIn(query: URLSearchParams, name: "since" | "until", now: EpochMs): ParsedRequest<EpochMs | null> {
  const text = query.get(name);
  if (text === null) return { ok: true, value: null };
  const value = parseMoment(text, now);
  if (value !== null) return { ok: true, value };
  return refuse(`${name} must be a time or a duration ago: write "2026-11-23T08:30:00Z", "5m" or "24h".`);
}

/** Why no list can find these records; `null` if one can. `isPerKey`: every key has its own object. */
export function whyNotListed(isPerKey: boolean, { key, idPrefix }: RecordFilter): string | null {
  if (!isPerKey || key !== null || (idPrefix?.length ?? 0) >= KEY_HASH_DIGITS) return null;
  return `Every key has its own object (shards = "per-key"), and those cannot be listed: give a key, or the first ${KEY_HASH_DIGITS} digits of an id.`;
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
