// Reads `verify` as a table. What could let a second effect through is refused here; what only the origin's owner can know is named in README.md
// beside it.

import { formatDuration, HOUR_MS, parseDuration, SECOND_MS } from "../config/units.ts";
import { isPointer, TOKEN } from "../config/values.ts";
import { isSuccessStatus } from "../record/verdict.ts";
import { parsePath, requestPlaceOf, refuseMember, WrongMember } from "./state-path.ts";
import {
  type AnswerCondition,
  type AnswerPredicate,
  type LiteralValue,
  placeName,
  type RequestPlaceholder,
  type StateAnswer,
  type StateRule,
  type StateTest,
} from "./state-rule.ts";

/** The table as the configuration writes it; its members are checked here. */
export interface WrittenState {
  readonly path: string;
  readonly happened?: unknown;
  readonly not_happened?: unknown;
  readonly list?: unknown;
  readonly match?: unknown;
  readonly complete?: unknown;
  readonly once?: unknown;
  readonly missing?: unknown;
  readonly settle?: unknown;
  readonly answer?: unknown;
}

const DEFAULT_SETTLE_MS = 10 * SECOND_MS;
const MAX_SETTLE_MS = 24 * HOUR_MS;

/** Each is looked for in every answer. */
const MAX_CONDITIONS = 16;

/** A refusal, and the member that it is about; `null`: the table as a whole. */
export type StateReading =
  | { readonly ok: true; readonly value: StateRule }
  | { readonly ok: false; readonly member: string | null; readonly message: string };

export function parseState(written: WrittenState): StateReading {
  try {
    return { ok: true, value: readState(written) };
  } catch (error) {
    if (!(error instanceof WrongMember)) throw error;
    return { ok: false, member: error.member, message: error.message };
  }
}

function readState(written: WrittenState): StateRule {
  const isList = written.list !== undefined;
  const path = parsePath(written.path);
  const test = isList ? listOf(written) : resourceOf(written);
  const { missing = "open", once = false } = written;
  if (missing !== "open" && missing !== "not_happened")
    refuseMember("missing", 'must be "open" or "not_happened": write "open"');
  if (isList && missing !== "open") refuseMember("missing", "a list that is not there says nothing: leave it out");
  if (typeof once !== "boolean") refuseMember("once", "must be true or false: write true");
  const decides = test.kind === "list" ? test.match : (test.happened ?? test.notHappened);
  if (!once && decides !== null && !hasPlaceholder(decides)) {
    refuseMember(
      test.kind === "list" ? "match" : test.happened === null ? "not_happened" : "happened",
      "names no value of the request, so another operation's effect would count as this one's: write a value such as " +
        '["{json:/reference}"], or once = true if this can happen only once to the resource that the path names',
    );
  }
  if (!once && test.kind === "resource" && test.notHappened !== null && !hasPlaceholder(test.notHappened)) {
    refuseMember(
      "not_happened",
      "names no value of the request, so it may hold after this operation and another one: write a value of the request, or " +
        "once = true if this can happen only once to the resource that the path names",
    );
  }
  if (isList && !hasPlaceholder(test.kind === "list" ? test.match : []))
    refuseMember(
      "match",
      'must name a value of the request, which tells its element from others: write { "/reference" = ["{json:/reference}"] }',
    );
  const settleMs = settleOf(written, isList);
  return { path, test, missing, settleMs, answer: answerOf(written.answer, isList) };
}

function resourceOf(written: WrittenState): StateTest<LiteralValue | RequestPlaceholder> {
  for (const member of ["match", "complete"] as const)
    if (written[member] !== undefined) refuseMember(member, 'is for a list: write list = "/data" too, or leave it out');
  const happened = predicateOf(written.happened, "happened", "any");
  const notHappened = predicateOf(written.not_happened, "not_happened", "any");
  if (happened === null && notHappened === null)
    refuseMember(
      null,
      'says nothing of the answer: write happened = { "/status" = ["completed"] } and not_happened, or list and match',
    );
  for (const { at, oneOf } of happened ?? []) {
    const other = notHappened?.find((one) => one.at === at);
    const both = other === undefined ? null : shared(oneOf, other.oneOf);
    if (both !== null)
      refuseMember("not_happened", `has ${both} at "${at}", as happened has: leave it out of one of them`);
  }
  return { kind: "resource", happened, notHappened };
}

/** A value that both conditions take. */
function shared(
  one: readonly (LiteralValue | RequestPlaceholder)[] | "absent",
  other: readonly (LiteralValue | RequestPlaceholder)[] | "absent",
): string | null {
  if (one === "absent" || other === "absent") return one === other ? '"absent"' : null;
  const others = new Set(other.map((value) => JSON.stringify(value)));
  const both = one.find((value) => others.has(JSON.stringify(value)));
  return both === undefined ? null : typeof both === "object" ? `{${placeName(both.place)}}` : JSON.stringify(both);
}

function listOf(written: WrittenState): StateTest<LiteralValue | RequestPlaceholder> {
  const { list } = written;
  for (const member of ["happened", "not_happened"] as const)
    if (written[member] !== undefined)
      refuseMember(member, "is for one resource, and this is a list: write match and complete");
  if (typeof list !== "string" || (list !== "" && !isPointer(list)))
    refuseMember("list", 'must be the JSON pointer of an array: write "/data", or "" if the whole body is one');
  const match = predicateOf(written.match, "match", "json");
  const complete = predicateOf(written.complete, "complete", "any", "may be absent");
  if (match === null)
    refuseMember("match", 'is needed with list: write match = { "/reference" = ["{json:/reference}"] }');
  if (complete === null)
    refuseMember(
      "complete",
      'is needed with list, because a page that was cut says nothing of the others: write complete = { "/has_more" = [false] }',
    );
  const lost = list === "" ? complete.find(({ at }) => !/^(?:header:|\/(?:0|[1-9]\d*)(?:\/|$))/.test(at)) : undefined;
  if (lost !== undefined)
    refuseMember(
      "complete",
      `"${lost.at}" is never there, because the whole body is an array: write { "header:link" = "absent" }`,
    );
  return { kind: "list", list, match, complete };
}

/** `null`: it is not written. */
function predicateOf(
  written: unknown,
  member: string,
  places: "any" | "json",
  absence: "may be absent" | "needs a value" = "needs a value",
): AnswerPredicate<LiteralValue | RequestPlaceholder> | null {
  if (written === undefined) return null;
  const example = `write ${member} = { "/status" = ["completed"] }`;
  if (typeof written !== "object" || written === null || Array.isArray(written))
    refuseMember(member, `must be a table: ${example}`);
  const entries = Object.entries(written);
  if (entries.length === 0) refuseMember(member, `must not be empty, because it would hold always: ${example}`);
  if (entries.length > MAX_CONDITIONS)
    refuseMember(member, `must have at most ${MAX_CONDITIONS} entries: leave some out`);
  const conditions = entries.map(([at, oneOf]) => conditionOf(at, oneOf, member, places));
  if (absence === "needs a value" && conditions.every(({ oneOf }) => oneOf === "absent"))
    refuseMember(
      member,
      "must name a value, because an error page has none of these members either: write one that only the resource has",
    );
  if (new Set(conditions.map(({ at }) => at)).size < conditions.length)
    refuseMember(member, "names one header twice: write it once");
  return conditions;
}

function conditionOf(
  at: string,
  oneOf: unknown,
  member: string,
  places: "any" | "json",
): AnswerCondition<LiteralValue | RequestPlaceholder> {
  const isHeader = at.startsWith("header:") && TOKEN.test(at.slice(7));
  if (!isPointer(at) && !(isHeader && places === "any")) {
    const header = places === "any" ? ', or "header:NAME"' : "";
    refuseMember(member, `"${at}" is not a place in the answer: write a JSON pointer, "/status"${header}`);
  }
  const place = isHeader ? at.toLowerCase() : at;
  if (oneOf === "absent") return { at: place, oneOf };
  if (!Array.isArray(oneOf) || oneOf.length === 0)
    refuseMember(member, `must be a list of values at "${at}", or "absent": write ["completed"]`);
  return { at: place, oneOf: oneOf.map((value: unknown) => valueOf(value, member, isHeader)) };
}

function valueOf(value: unknown, member: string, isHeader: boolean): LiteralValue | RequestPlaceholder {
  if (typeof value === "string") {
    if (!/[{}]/.test(value)) return value;
    const inside = /^\{([^{}]+)\}$/.exec(value)?.[1];
    if (inside === undefined)
      refuseMember(member, `"${value}" must be text, or one place in braces: write "{json:/reference}"`);
    return { place: requestPlaceOf(inside, member) };
  }
  if (isHeader) refuseMember(member, 'a header is text: write ["completed"]');
  if (typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value)))
    return value;
  return refuseMember(member, 'must have text, exact numbers, true and false: write ["completed"]');
}

function settleOf({ settle }: WrittenState, isList: boolean): number {
  if (settle === undefined) {
    if (isList) refuseMember("settle", 'is needed with list, because lists lag behind: write how long at most, "1m"');
    return DEFAULT_SETTLE_MS;
  }
  if (typeof settle === "string" && /^0+(?:ms|s|m|h|d)$/.test(settle)) return 0;
  const parsed = parseDuration(settle);
  if (!parsed.ok) return refuseMember("settle", parsed.message);
  if (parsed.value > MAX_SETTLE_MS)
    refuseMember("settle", `must not exceed ${formatDuration(MAX_SETTLE_MS)}: leave not_happened to operators instead`);
  return parsed.value;
}

const ANSWER_ADVICE =
  'write "resource", "item", "none", or { body = "item", status = 201, location = "/v1/orders/{/id}" }';

function answerOf(written: unknown, isList: boolean): StateAnswer {
  if (written === undefined) refuseMember("answer", `is needed, because the first answer is lost: ${ANSWER_ADVICE}`);
  const table: Readonly<Record<string, unknown>> =
    typeof written === "object" && written !== null ? { ...written } : { body: written };
  const { body, status = 200, location = null, ...others } = table;
  const [other] = Object.keys(others);
  if (other !== undefined) refuseMember("answer", `unknown member ${other}: ${ANSWER_ADVICE}`);
  if (body !== "resource" && body !== "item" && body !== "none")
    refuseMember("answer", `must say what retries get: ${ANSWER_ADVICE}`);
  if (body === "item" && !isList) refuseMember("answer", '"item" is an element of a list: write "resource", or list');
  if (body === "resource" && isList)
    refuseMember("answer", '"resource" would be the whole list: write "item" or "none"');
  if (typeof status !== "number" || !Number.isInteger(status) || !isSuccessStatus(status))
    refuseMember("answer", "status must say that it took effect: write a number from 200 to 299");
  if (
    location !== null &&
    (typeof location !== "string" ||
      !/^\/(?:[\x21-\x7e](?<![{}\\#])|\{(?:\/(?:[^~/{}]|~[01])*)+\})*$/.test(location) ||
      location.startsWith("//"))
  )
    refuseMember(
      "answer",
      'location must be a path, with {/POINTER} for members of the body: write "/v1/orders/{/id}"',
    );
  if (body === "none" && (status !== 200 || location !== null))
    refuseMember(
      "answer",
      '"none" has no status and no location, because retries get 409 response-not-kept: leave them out',
    );
  if (status === 204 || status === 205)
    refuseMember("answer", `a response with status ${status} has no body: write 200 or 201`);
  return { body, status, location };
}

function hasPlaceholder(predicate: AnswerPredicate<LiteralValue | RequestPlaceholder>): boolean {
  return predicate.some(({ oneOf }) => oneOf !== "absent" && oneOf.some((value) => typeof value === "object"));
}
