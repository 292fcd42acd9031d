// A list's filter, from the address of its page: the same names and forms as the API's. What is left empty in a form is not
// asked for.

import { type ListRequest, parseListRequest } from "../list-request.ts";

const CONDITIONS = ["key", "route", "older_than", "state"] as const;

export interface ReadFilter {
  /** What was asked for, for links to other pages of the same list. */
  readonly query: Readonly<Record<string, string>>;
  /** `null` where something cannot be read; `problem` says what. */
  readonly request: ListRequest | null;
  readonly problem: string | null;
}

export function readFilter(search: URLSearchParams): ReadFilter {
  const asked = CONDITIONS.map((name) => [name, search.getAll(name).join(",").trim()] as const);
  const query = Object.fromEntries(asked.filter(([, value]) => value !== ""));
  const cursor = search.get("cursor");
  const parsed = parseListRequest(new URLSearchParams({ ...query, ...(cursor === null ? {} : { cursor }) }));
  return parsed.ok ? { query, request: parsed.value, problem: null } : { query, request: null, problem: parsed.reason };
}
