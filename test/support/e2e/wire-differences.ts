// The differences between two ways: in what the origin received, and in what the client received. Each difference is one
// fact, so that the list of allowances can name it. An allowance that no difference needs is an error.

import type { HeaderPair } from "../http.ts";
import type { Seen, WireCase, WireResponse } from "./wire-ways.ts";
import type { WireRequest } from "./wire-origin.ts";

export interface Difference {
  readonly at: "origin" | "client";
  /** `header x-answer`, `order`, `spelling`, `body`, `status` … */
  readonly what: string;
  readonly one: unknown;
  readonly other: unknown;
}

/** A difference that is intended or unavoidable. The reason is the text in the docs. */
export interface Allowance {
  readonly reason: string;
  allows(difference: Difference, of: WireCase): boolean;
}

export function differencesOf(one: Seen, other: Seen): readonly Difference[] {
  return [
    ...compare("origin", "calls", one.requests.length, other.requests.length),
    ...(one.requests[0] !== undefined && other.requests[0] !== undefined
      ? ofRequests(one.requests[0], other.requests[0])
      : []),
    ...ofResponses(one.response, other.response),
  ];
}

function ofRequests(one: WireRequest, other: WireRequest): readonly Difference[] {
  return [
    ...compare("origin", "method", one.method, other.method),
    ...compare("origin", "target", one.target, other.target),
    ...compare("origin", "body", one.body, other.body),
    ...compare("origin", "trailers", one.trailers, other.trailers),
    ...ofHeaders("origin", one.headers, other.headers),
  ];
}

function ofResponses(one: WireResponse | null, other: WireResponse | null): readonly Difference[] {
  if (one === null || other === null) return compare("client", "answer", one?.status ?? null, other?.status ?? null);
  return [
    ...compare("client", "status", one.status, other.status),
    ...compare("client", "reason", one.statusText, other.statusText),
    ...compare("client", "interim", one.interim, other.interim),
    ...compare("client", "body", one.body, other.body),
    ...compare("client", "complete", one.complete, other.complete),
    ...ofHeaders("client", one.headers, other.headers),
  ];
}

function ofHeaders(
  at: Difference["at"],
  one: readonly HeaderPair[],
  other: readonly HeaderPair[],
): readonly Difference[] {
  const lower = (lines: readonly HeaderPair[]): readonly string[] => lines.map(([name]) => name.toLowerCase());
  const names = new Set([...lower(one), ...lower(other)]);
  const values = (lines: readonly HeaderPair[], name: string): readonly string[] =>
    lines.filter(([candidate]) => candidate.toLowerCase() === name).map(([, value]) => value);
  const others = new Set(lower(other));
  const both = new Set(lower(one).filter((name) => others.has(name)));
  const common = (lines: readonly HeaderPair[]): readonly string[] => [
    ...new Set(lower(lines).filter((name) => both.has(name))),
  ];
  const spellings = (lines: readonly HeaderPair[]): readonly string[] =>
    [...new Set(lines.map(([name]) => name).filter((name) => both.has(name.toLowerCase())))].toSorted();
  return [
    ...[...names].flatMap((name) => compare(at, `header ${name}`, values(one, name), values(other, name))),
    ...compare(at, "order", common(one), common(other)),
    ...compare(at, "spelling", spellings(one), spellings(other)),
  ];
}

function compare(at: Difference["at"], what: string, one: unknown, other: unknown): readonly Difference[] {
  return JSON.stringify(one) === JSON.stringify(other) ? [] : [{ at, what, one, other }];
}

export interface Judgement {
  /** Differences without an allowance, each with its case. */
  readonly defects: readonly { readonly of: WireCase; readonly difference: Difference }[];
  /** Reasons of allowances that no difference has needed. */
  readonly dead: readonly string[];
}

export function judge(
  compared: readonly { readonly of: WireCase; readonly differences: readonly Difference[] }[],
  allowances: readonly Allowance[],
): Judgement {
  const used = new Set<Allowance>();
  const defects = compared.flatMap(({ of, differences }) =>
    differences.flatMap((difference) => {
      const allowance = allowances.find((one) => one.allows(difference, of));
      if (allowance === undefined) return [{ of, difference }];
      used.add(allowance);
      return [];
    }),
  );
  return { defects, dead: allowances.filter((one) => !used.has(one)).map(({ reason }) => reason) };
}
