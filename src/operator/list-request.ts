// What a request for a list asks for, read from its query. An unknown parameter is refused: a filter with a typo would list
// everything.

import { parseDuration } from "../config/units.ts";
import type { RecordFilter, RecordState } from "./operator.ts";

export interface ListRequest {
  readonly filter: RecordFilter;
  readonly limit: number;
  readonly cursor: string | null;
}

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

const PARAMETERS = ["state", "route", "older_than", "key", "id", "limit", "cursor"];
const STATES: readonly RecordState[] = ["started", "failed", "unknown", "completed"];
const DEFAULT_LIMIT = 50;
const MOST_LIMIT = 500;

/** Of a route, in characters: it travels in a header, percent-encoded. */
const LONGEST_ROUTE = 512;
const LONGEST_KEY = 255;

export function parseListRequest(query: URLSearchParams): Parsed<ListRequest> {
  const unknown = [...query.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return refuse(`There is no such parameter: write one of ${PARAMETERS.join(", ")}.`);
  const repeated = PARAMETERS.find((name) => name !== "state" && query.getAll(name).length > 1);
  if (repeated !== undefined) return refuse(`${repeated} is given more than once: write it once.`);

  const words = query.getAll("state").flatMap((value) => value.split(","));
  const states = STATES.filter((state) => words.includes(state));
  if (words.some((word) => !STATES.some((state) => state === word))) {
    return refuse(`state must be one of ${STATES.join(", ")}, or some of them with commas.`);
  }
  const route = query.get("route");
  if (route !== null && (route === "" || route.length > LONGEST_ROUTE)) {
    return refuse(`route must be the path of a route as configured, of at most ${LONGEST_ROUTE} characters.`);
  }
  const key = query.get("key");
  if (key !== null && (key === "" || key.length > LONGEST_KEY)) {
    return refuse(`key must be an idempotency key: 1 to ${LONGEST_KEY} characters, without quotes around it.`);
  }
  const idPrefix = query.get("id");
  if (idPrefix !== null && !isIdPrefix(idPrefix)) {
    return refuse("id must be the beginning of a record's id: 8 to 64 digits of 0-9 and a-f.");
  }
  if (key !== null && idPrefix !== null) return refuse("key and id are two ways to name records: write one of them.");
  const age = query.get("older_than");
  const duration = age === null ? null : parseDuration(age);
  if (duration?.ok === false) return refuse('older_than must be a duration: write "30s", "5m", "24h" or "7d".');
  const limit = query.get("limit") ?? String(DEFAULT_LIMIT);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST_LIMIT) {
    return refuse(`limit must be a whole number from 1 to ${MOST_LIMIT}.`);
  }
  const filter = { states, route, olderThanMs: duration?.value ?? null, key, idPrefix };
  return { ok: true, value: { filter, limit: Number(limit), cursor: query.get("cursor") } };
}

/** Its shard follows from the first eight digits. */
export function isIdPrefix(text: string): boolean {
  return /^[0-9a-f]{8,64}$/.test(text);
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
