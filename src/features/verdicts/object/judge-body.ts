// What the bodies of results say by a route's rules. What cannot be read in exactly one way says nothing: the status decides, so that it is a result. A
// refusal that nobody has read would let a second attempt start.

import { pointerTokens } from "../../../kernel/config/values.ts";
import type { RouteRules } from "../../../kernel/config/resolved.ts";
import type { AnswerHead, BodyVerdict, JudgeBody } from "../../../kernel/judge-body.ts";
import { matchesStatus } from "../../../kernel/record/outbox.ts";
import type { BodyRule, BodyValue } from "../../../kernel/record/verdict.ts";
import { NULL_BODY_STATUSES } from "../../../kernel/request/headers.ts";
import type { JsonValue } from "../../../kernel/request/json-pointer.ts";
import { findPlaces, type FoundPlace, textOfJson, valueAt } from "../../../kernel/request/json-places.ts";
import { bodySlicer } from "../../../kernel/request/key-places.ts";

export const judgeBody: JudgeBody = ({ status, headers }, { verdicts = [] }: Pick<RouteRules, "verdicts">) => {
  const rules = verdicts.filter(({ statuses }) => matchesStatus(status, statuses));
  if (rules.length === 0 || NULL_BODY_STATUSES.has(status)) return null;
  if (!isPlainJson(headers)) return "unreadable";
  return (body) => bodySlicer.run(judgeJson(body, rules));
};

function isPlainJson(headers: AnswerHead["headers"]): boolean {
  const values = (wanted: string): readonly string[] =>
    headers.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value.trim().toLowerCase()] : []));
  const [type = "", other] = values("content-type");
  const isPlain = values("content-encoding").every((coding) => coding === "identity");
  // A client that reads it as it is labelled reads other text.
  const isOtherCharset = /;\s*charset\s*=\s*(?!"?utf-?8"?\s*(?:;|$))/.test(type);
  return isPlain && other === undefined && !isOtherCharset && /^application\/(?:[^;\s]+\+)?json\s*(?:;|$)/.test(type);
}

/** By the first rule that holds. Behind one whose value is ambiguous nobody can say which rule is the first. Pauses after each slice of its work. */
export function* judgeJson(
  body: Uint8Array,
  rules: readonly BodyRule[],
): Generator<undefined, BodyVerdict | "unreadable"> {
  const text = textOfJson(body);
  if (text === null) return "unreadable";
  const places = yield* findPlaces(
    text,
    rules.map(({ at }) => pointerTokens(at)),
  );
  if (typeof places === "string") return "unreadable";
  for (const [index, { at, equals, is }] of rules.entries()) {
    const holds = holdsAt(text, places[index] ?? null, equals);
    if (holds === "unreadable") return holds;
    if (holds) return is === "result" ? { is } : { is, at };
  }
  return { is: "result" };
}

function holdsAt(text: string, place: FoundPlace, equals: readonly BodyValue[] | null): boolean | "unreadable" {
  if (place === null) return false;
  if (place === "ambiguous") return "unreadable";
  const value = valueAt(text, place);
  if (equals === null) return value.kind !== "literal" || value.text !== "null";
  if (value.kind === "imprecise") return equals.some((one) => typeof one === "number") ? "unreadable" : false;
  return equals.some((one) => isValue(one, value));
}

/** Of the same kind: `"1"` is not 1. */
function isValue(wanted: BodyValue, value: JsonValue): boolean {
  switch (value.kind) {
    case "string":
      return wanted === value.text;
    case "number":
      // Each finite number of JavaScript has its canonical form as text; -0 is 0.
      return typeof wanted === "number" && String(wanted) === value.text;
    case "literal":
      return typeof wanted === "boolean" && String(wanted) === value.text;
    case "imprecise":
    case "long":
    case "container":
    case "repeated":
      return false;
  }
}
