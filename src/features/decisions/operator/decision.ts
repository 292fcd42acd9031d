// One decision: which record, what is done to it, and why. A response that it gives is checked as resolve checks it. Pure.

import * as v from "valibot";

import type { OperatorChange } from "../../../kernel/record/timeline.ts";
import { KEY_HASH_DIGITS, keyHashOf } from "../../../kernel/record/units.ts";
import { keyHash } from "../../../kernel/request/record-name.ts";
import { type GivenResponse, givenResponse } from "../../../operator/given-response.ts";
import type { ParsedRequest } from "../../../operator/request-schema.ts";
import { decisionSchema, type WrittenDecision } from "./decision-schema.ts";

export interface RecordDecision {
  readonly action: OperatorChange;
  readonly reason: string;
  /** Only with `resolve`: what retries get from now on. */
  readonly response: GivenResponse | null;
  /** As it was written. */
  readonly written: WrittenDecision;
  /** How it names its record: by the id, or by the digest of a key, with which the ids of its records begin. */
  readonly begin: string;
}

/** `reason`: of a decision without its own. */
export async function parseDecision(json: unknown, reason: string | undefined): Promise<ParsedRequest<RecordDecision>> {
  const read = v.safeParse(decisionSchema, json);
  if (!read.success) return refuse(read.issues[0].message);
  const written = read.output;
  const { key, id, decision: action, reason: own = reason, ...response } = written;
  const begin = id ?? (key === undefined ? undefined : await keyHash(key));
  if (begin === undefined || (key !== undefined && id !== undefined)) return refuse("Write either key or id.");
  if (own === undefined) return refuse("reason is missing: write why this is decided.");
  if (action !== "resolve") {
    const [extra] = Object.keys(response);
    return extra === undefined
      ? { ok: true, value: { written, begin, action, reason: own, response: null } }
      : refuse(`${extra} is only for resolve: leave it out, or write "decision":"resolve".`);
  }
  const { status, ...rest } = response;
  if (status === undefined) return refuse('resolve needs the response that retries get: write "status":201.');
  const given = givenResponse({ status, ...rest });
  return given.ok
    ? { ok: true, value: { written, begin, action, reason: own, response: given.value } }
    : refuse(given.reason);
}

/** The first two of these, by their places, that may name one record; `null`: none. A key and an id of this key may. */
export function namedTwice(begins: readonly string[]): readonly [first: number, again: number] | null {
  const places = new Map<string, number>();
  const ofKey = new Map<string, number>();
  for (const [at, begin] of begins.entries()) {
    const key = keyHashOf(begin);
    const first = begin.length === KEY_HASH_DIGITS ? ofKey.get(key) : (places.get(begin) ?? places.get(key));
    if (first !== undefined) return [first, at];
    places.set(begin, at);
    if (!ofKey.has(key)) ofKey.set(key, at);
  }
  return null;
}

/** A decision has no member `response`, of which resolve speaks. */
function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason: reason.replaceAll("response.", "") };
}
