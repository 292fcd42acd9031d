// Sets members of a JSON text in place: a value is replaced, a member added or removed, and every other byte stays as it was. What two readers could read in two
// ways is left alone. Pure.

import type { SetMember } from "../../kernel/request-feature.ts";
import { afterSpace, beforeSpace, findPlaces, type JsonPlace, nameBefore } from "../../kernel/request/json-places.ts";

/** The text with the members set, one after the other. Pauses after each slice of its work. */
export function* setMembers(text: string, members: readonly SetMember[]): Generator<undefined, string> {
  let current = text;
  for (const { tokens, json } of members) {
    const places = yield* findPlaces(current, [tokens.slice(0, -1), tokens]);
    if (typeof places === "string") return text;
    const [object = null, member = null] = places;
    if (object === null || object === "ambiguous" || object.kind !== "object" || member === "ambiguous") continue;
    if (member === null) {
      if (json !== null) current = added(current, object, `${JSON.stringify(tokens.at(-1))}:${json}`);
    } else {
      const { from, to } = json === null ? wholeMember(current, member) : member;
      current = current.slice(0, from) + (json ?? "") + current.slice(to);
    }
  }
  return current;
}

/** As the first member. */
function added(text: string, { from }: JsonPlace, member: string): string {
  const at = from + 1;
  const isEmpty = text.charAt(afterSpace(text, at)) === "}";
  return `${text.slice(0, at)}${member}${isEmpty ? "" : ","}${text.slice(at)}`;
}

/** From its name to its value, with the comma behind it; with the one before it if it is the last. */
function wholeMember(text: string, value: JsonPlace): Pick<JsonPlace, "from" | "to"> {
  const from = nameBefore(text, value) ?? value.from;
  const next = afterSpace(text, value.to);
  if (text[next] === ",") return { from, to: next + 1 };
  const before = beforeSpace(text, from) - 1;
  return text[before] === "," ? { from: before, to: value.to } : { from, to: value.to };
}
