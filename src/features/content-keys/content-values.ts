// The values of a request that make its key: each as a text that only equal values have. Two values that some reader takes for different ones never
// have one text, and a value that readers may take for either of two is refused.

import type { KeyPart } from "../../kernel/config/key-source.ts";
import { findInForm, findInQuery } from "../../kernel/request/form-fields.ts";
import { scanJson } from "../../kernel/request/json.ts";
import { certainNodeAt, valueOf } from "../../kernel/request/json-pointer.ts";
import type { JsonNode } from "../../kernel/request/json.ts";
import { type InvalidKey, invalidKey, MAX_VALUE_LENGTH } from "../../kernel/request/key.ts";
import {
  ABSENT,
  bodySlicer,
  fieldValue,
  FORM,
  jsonValue,
  type KeyPlaces,
  mayBeJson,
  mediaType,
  type PartValue,
  unreadableFor,
  unreadJson,
  usableValue,
  wrongKey,
} from "../../kernel/request/key-places.ts";
import type { WaitingCaller } from "../../kernel/request/time-slicer.ts";

export type MemberValues =
  | { readonly kind: "texts"; readonly texts: readonly string[] }
  /** A value is missing. */
  | { readonly kind: "absent" }
  | InvalidKey;

/** The texts of all members, if all are there. `body`: `null` if no member is in it. */
export async function readMembers(
  members: readonly KeyPart[],
  places: KeyPlaces,
  body: Uint8Array | null,
  caller: WaitingCaller | null,
): Promise<MemberValues> {
  const values = await bodySlicer.run(valuesAt(members, places, body ?? new Uint8Array()), caller);
  const texts: string[] = [];
  let isComplete = true;
  for (const value of values) {
    if (value.kind === "invalid") return value;
    if (value.kind === "absent") isComplete = false;
    else texts.push(value.text);
  }
  return isComplete ? { kind: "texts", texts } : ABSENT;
}

function* valuesAt(
  members: readonly KeyPart[],
  { headers, search }: KeyPlaces,
  body: Uint8Array,
): Generator<undefined, readonly PartValue[]> {
  const type = mediaType(headers);
  const ofType = ({ kind }: KeyPart): boolean =>
    (kind === "json" && mayBeJson(type)) || (kind === "form" && type === FORM);
  const inBody = body.byteLength > 0 && members.some(ofType);
  const unreadable = inBody ? unreadableFor(headers, "no key can be made from it") : null;
  if (unreadable !== null) return [invalidKey(unreadable)];
  const root = inBody && members.some((one) => one.kind === "json") ? yield* scanJson(body, "compared") : null;
  const names = members.flatMap(({ kind, name }) => (kind === "form" ? [name] : []));
  const fields = inBody && names.length > 0 ? yield* findInForm(body, names, MAX_VALUE_LENGTH) : new Map();
  return members.map((part): PartValue => {
    switch (part.kind) {
      case "header": {
        const text = headers.get(part.name);
        return text === null || text === "" ? ABSENT : usableValue(text, part);
      }
      case "query":
        return field(findInQuery(search, [part.name], MAX_VALUE_LENGTH).get(part.name), part);
      case "form":
        return ofType(part) ? field(fields.get(part.name), part) : ABSENT;
      case "json":
        if (root === null || !ofType(part)) return ABSENT;
        return typeof root === "string"
          ? unreadJson(root, part, headers, body)
          : jsonText(certainNodeAt(root, part.tokens), part);
      case "graphql":
        return ABSENT;
    }
  });
}

/** An empty value names nothing: two operations without a reference would be one. */
function field(value: Parameters<typeof fieldValue>[0], part: KeyPart): PartValue {
  return value?.kind === "text" && value.text === "" ? ABSENT : fieldValue(value, part);
}

/** In the canonical form, in which text and numbers differ. `null` and an empty text name nothing. */
function jsonText(node: JsonNode | "ambiguous" | null, part: KeyPart): PartValue {
  if (node === "ambiguous")
    return wrongKey(part, "can be read in more than one way: send each name once, in one case.");
  if (node === null || isNothing(node)) return ABSENT;
  if (node.canonical !== null) return { kind: "text", text: node.canonical };
  if (node.kind === "array" || node.kind === "object") {
    return wrongKey(part, "has a value in it that not all programs read alike.");
  }
  return jsonValue([valueOf(node, MAX_VALUE_LENGTH)], part);
}

function isNothing(node: JsonNode): boolean {
  return (node.kind === "literal" && node.text === "null") || (node.kind === "string" && node.text === "");
}
