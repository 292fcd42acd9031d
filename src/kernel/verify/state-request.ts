// The verification of one request whose route asks about a resource's state: the values of the request are put in their places here, in the
// Worker, so a record stores literals alone. A value that cannot stand there in exactly one way gives no verification: then the outcome waits
// for a person.

import { storedVerification } from "../request/origin-key.ts";
import { paramNames } from "../config/path-pattern.ts";
import type { Route } from "../config/resolved.ts";
import { isPlainInPath } from "../record/verification-answer.ts";
import type { HeaderPairs, HeadersView } from "../request/headers.ts";
import { NO_VALUES, readBodyValues, readPart } from "../request/key-places.ts";
import type { Verification } from "../request/message.ts";
import { originUrl } from "../request/origin.ts";
import { pathForms } from "../request/path.ts";
import type { WaitingCaller } from "../request/time-slicer.ts";
import { isStrongTag, type StoredValue } from "./judge-state.ts";
import {
  type AnswerCondition,
  type LiteralValue,
  type PathPiece,
  type RequestPlaceholder,
  type AnswerPredicate,
  type RequestPlace,
  placeName,
  placesOf,
  type StateRule,
  type StateTest,
} from "./state-rule.ts";
import { MAX_VERIFICATION_MS, originKeyText } from "./verification-request.ts";

/** The parts of a request that may be named. */
export interface NamedRequest {
  readonly key: string;
  readonly url: URL;
  /** As the client sent them. */
  readonly headers: HeadersView;
  /** `null`: it is not held. */
  readonly body: Uint8Array | null;
  readonly caller: WaitingCaller | null;
}

/** `forwarded`: the headers that the origin gets. `null`: this request cannot be asked about. */
export async function stateVerification(
  route: Route,
  rule: StateRule,
  request: NamedRequest,
  forwarded: HeaderPairs,
): Promise<Verification | null> {
  const places = placesOf(rule);
  const values = await valuesAt(places, route, request);
  if (values === null) return null;
  const target = pathWith(rule.path, values);
  const test = target === null ? null : testWith(rule.test, values);
  if (target === null || test === null) return null;
  const { missing, settleMs, answer } = rule;
  const { timeoutMs, idleTimeoutMs, maxResponseBodyBytes } = route.rules;
  return {
    origin: route.origin,
    url: originUrl(route.origin, new URL(target, request.url)),
    headers: [
      ...forwarded.filter(([name]) => !NOT_ASKED_WITH.has(name.toLowerCase())),
      // A cache that has an answer of before the attempt would say that nothing happened, and a compressed answer cannot be judged.
      ["Cache-Control", "no-cache"],
      ["Accept-Encoding", "identity"],
    ],
    timeoutMs: Math.min(timeoutMs, MAX_VERIFICATION_MS),
    idleTimeoutMs: Math.min(idleTimeoutMs, MAX_VERIFICATION_MS),
    maxBytes: maxResponseBodyBytes,
    state: { test, missing, settleMs, answer },
    ...(places.some(({ kind }) => kind === "key") ? { namesKey: true as const } : null),
  };
}

const NOT_ASKED_WITH: ReadonlySet<string> = new Set(["cache-control", "pragma", "accept-encoding"]);

/** The values of a request, by the names of their places. */
export type PlacedValues = ReadonlyMap<string, string>;

/** `null`: one of them is not there, or not in exactly one way. */
async function valuesAt(
  places: readonly RequestPlace[],
  route: Route,
  { key, url, headers, body, caller }: NamedRequest,
): Promise<PlacedValues | null> {
  // Each once: a field that is looked for twice would count as one that is there twice.
  const distinct = [...new Map(places.map((place) => [placeName(place), place])).values()];
  const parts = distinct.filter((place) => place.kind !== "key" && place.kind !== "path");
  const needsBody = parts.some(({ kind }) => kind === "json" || kind === "form");
  if (needsBody && body === null) return null;
  const inBody =
    needsBody && body !== null ? await readBodyValues({ keyFrom: parts }, headers, body, caller) : NO_VALUES;
  const params = distinct.some(({ kind }) => kind === "path") ? paramsIn(route.path, url.pathname) : null;
  const values = new Map<string, string>();
  for (const place of distinct) {
    let value: string | null;
    if (place.kind === "key") value = originKeyText(route, key);
    else if (place.kind === "path") value = params?.get(place.name) ?? null;
    else {
      const part = readPart(place, { headers, search: url.search }, inBody);
      value = part.kind === "text" ? part.text : null;
    }
    if (value === null) return null;
    values.set(placeName(place), value);
  }
  return values;
}

/** The parameters of a path by their names; `null`: it can be read in another way, so nobody knows what the origin took them for. */
export function paramsIn(pattern: string, pathname: string): ReadonlyMap<string, string> | null {
  if (pathForms(pathname)?.length !== 1) return null;
  const segments = pathname.slice(1).split("/");
  const params = new Map<string, string>();
  for (const [index, { name, text }] of paramNames(pattern).entries()) {
    const segment = segments[index];
    if (name === null) {
      // A wildcard stands for any segment, and one at the end for all that follow.
      if (text !== "*" && segment !== text) return null;
    } else if (segment !== undefined && segment !== "") params.set(name, segment);
  }
  const isOpen = pattern.endsWith("/*");
  return segments.length > paramNames(pattern).length && !isOpen ? null : params;
}

/** What a value may have as a whole segment of a path, or as the whole value of a parameter: nothing that any server takes for syntax or trims. */
const WHOLE_IN_PATH = /^[\x21-\x7e]{1,255}$/;
const WHOLE_IN_QUERY = /^[\w.:@+/=-]{1,255}$/;
/** As a part of a value, which the origin may read as a language of its own. */
const PART_OF_VALUE = /^[\w.-]{1,128}$/;

/** `null`: a value cannot stand where it should. */
export function pathWith(path: readonly PathPiece[], values: PlacedValues): string | null {
  const texts: string[] = [];
  for (const piece of path) {
    if (typeof piece === "string") {
      texts.push(piece);
      continue;
    }
    const value = values.get(placeName(piece.place)) ?? "";
    const inPath = piece.in === "path";
    const isSafe = inPath
      ? WHOLE_IN_PATH.test(value) && isPlainInPath(value)
      : (piece.whole ? WHOLE_IN_QUERY : PART_OF_VALUE).test(value);
    if (!isSafe) return null;
    // A segment goes back as its client wrote it: some servers tell `:` from `%3A`.
    texts.push(inPath && piece.place.kind === "path" ? value : encodeURIComponent(value));
  }
  return texts.join("");
}

/** `null`: a value can be equal to nothing. */
export function testWith(
  test: StateTest<LiteralValue | RequestPlaceholder>,
  values: PlacedValues,
): StateTest<StoredValue> | null {
  if (test.kind === "list") {
    const [match, complete] = [conditionsWith(test.match, values), conditionsWith(test.complete, values)];
    return match === null || complete === null ? null : { ...test, match, complete };
  }
  const happened = test.happened === null ? [] : conditionsWith(test.happened, values);
  const notHappened = test.notHappened === null ? [] : conditionsWith(test.notHappened, values);
  if (happened === null || notHappened === null) return null;
  return {
    kind: "resource",
    happened: test.happened === null ? null : happened,
    notHappened: test.notHappened === null ? null : notHappened,
  };
}

function conditionsWith(
  predicate: AnswerPredicate<LiteralValue | RequestPlaceholder>,
  values: PlacedValues,
): AnswerPredicate<StoredValue> | null {
  const stored: AnswerCondition<StoredValue>[] = [];
  for (const { at, oneOf } of predicate) {
    if (oneOf === "absent") stored.push({ at, oneOf });
    else {
      const all = oneOf.map((one) =>
        typeof one === "object" ? { text: values.get(placeName(one.place)) ?? "" } : one,
      );
      const texts = all.flatMap((one) => (typeof one === "object" ? [one.text] : []));
      if (texts.some((text) => text === "" || (at === "header:etag" && !isStrongTag(text)))) return null;
      stored.push({ at, oneOf: all });
    }
  }
  return stored;
}

/**
 * The second chance: the claim's own question about a state, since a duplicate may have other values, with the caller's credential. An origin
 * that the route no longer has does not get it.
 */
export function secondOf(
  claims: Verification | null,
  text: string | null,
  callers: Verification | null,
): Verification | null {
  if (callers === null) return null;
  if (claims?.state !== undefined && originText(claims) !== originText(callers)) return null;
  const second = claims?.state === undefined ? callers : { ...claims, headers: callers.headers };
  // A verification equal to the claim's carries no other credential.
  return storedVerification(second) === text ? null : second;
}

function originText({ origin }: Verification): string {
  return JSON.stringify(origin.kind === "url" ? { kind: origin.kind, url: new URL(origin.url).origin } : origin);
}
