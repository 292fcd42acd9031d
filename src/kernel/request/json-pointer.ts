// Parts of a JSON text, found by JSON pointers (RFC 6901): single values, and what of the text counts when requests are compared.

import type { BodySelection } from "../config/resolved.ts";
import { pointerTokens } from "../config/values.ts";
import { type JsonMember, type JsonNode, scanJson, type UnreadJson } from "./json.ts";

/** Stands in a pointer for each element of an array. */
export const EACH = Symbol("each");

export type JsonPointer = readonly (string | typeof EACH)[];

export type JsonValue =
  | { readonly kind: "string"; readonly text: string }
  /** Its spelling does not matter: equal numbers have equal texts. */
  | { readonly kind: "number"; readonly text: string }
  /** A number that a double cannot tell from its neighbours, and that is not whole: readers may take either. */
  | { readonly kind: "imprecise" }
  /** A string or number with more characters than were asked for. */
  | { readonly kind: "long" }
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "container" }
  /** The name is there twice, in the value's object or in one around it. Readers may take either. */
  | { readonly kind: "repeated" };

/** A value, and which of the pointers leads to it. */
export interface FoundValue {
  readonly pointer: number;
  /** Which element of the array for which `EACH` stands; 0 without it. */
  readonly element: number;
  readonly value: JsonValue;
}

/** Whether a name also stands for those that differ from it by case alone: some servers take either. */
export type NameCase = "exact" | "any case";

/** Elements after this many are not looked at, because each is a value in memory. */
export const MAX_ELEMENTS = 1000;

/** A text that is at least so long may have so many members that each pointer takes a slice. */
const LONG_BYTES = 16 * 1024;

/** The values at `pointers`, as far as there are any; strings with at most `maxLength` characters. Pauses after each slice of its work. */
export function* findInJson(
  body: Uint8Array,
  pointers: readonly JsonPointer[],
  maxLength: number,
  nameCase: NameCase = "exact",
): Generator<undefined, readonly FoundValue[] | UnreadJson> {
  const root = yield* scanJson(body, "searched");
  if (typeof root === "string") return root;
  const found: FoundValue[] = [];
  for (const [number, pointer] of pointers.entries()) {
    if (number > 0 && body.byteLength > LONG_BYTES) yield;
    const ends = [...endsOf({ node: root, element: 0 }, pointer, nameCase)];
    found.push(
      ...ends.map(({ node, element }) => ({ pointer: number, element, value: valueOf(node, maxLength) }) as const),
    );
  }
  return found;
}

/** Where a pointer leads; `null` where a name on its way is there twice. */
interface End {
  readonly node: JsonNode | null;
  readonly element: number;
}

function* endsOf({ node, element }: End, [token, ...rest]: JsonPointer, nameCase: NameCase): Generator<End, void> {
  if (token === undefined || node === null) {
    yield { node, element };
  } else if (token === EACH) {
    const elements = node.kind === "array" ? node.elements.slice(0, MAX_ELEMENTS) : [];
    for (const [index, one] of elements.entries()) yield* endsOf({ node: one, element: index }, rest, nameCase);
  } else {
    const [child, other] = childrenOf(node, token, nameCase);
    if (child !== undefined) yield* endsOf({ node: other === undefined ? child : null, element }, rest, nameCase);
  }
}

/** What is at a pointer's end; `null`: nothing, `repeated`: a name on its way is there twice. */
export function nodeAt(root: JsonNode, tokens: readonly string[]): JsonNode | "repeated" | null {
  let node = root;
  for (const token of tokens) {
    const [child, other] = childrenOf(node, token);
    if (other !== undefined) return "repeated";
    if (child === undefined) return null;
    node = child;
  }
  return node;
}

/** What is at one token of a pointer: one value, more in an object that has the name more than once, or none. */
function childrenOf(node: JsonNode, token: string, nameCase: NameCase = "exact"): readonly JsonNode[] {
  if (node.kind === "array") {
    const element = /^(?:0|[1-9]\d*)$/.test(token) ? node.elements[Number(token)] : undefined;
    return element === undefined ? [] : [element];
  }
  if (node.kind !== "object") return [];
  const isNamed = ({ name }: JsonMember): boolean =>
    name === token || (nameCase === "any case" && differByCase(name, token));
  return node.members.filter(isNamed).map(({ node: child }) => child);
}

/** Whether two different names differ by case alone. */
function differByCase(one: string, other: string): boolean {
  return one.length === other.length && one !== other && one.toLowerCase() === other.toLowerCase();
}

export function valueOf(node: JsonNode | null, maxLength: number): JsonValue {
  if (node === null) return { kind: "repeated" };
  switch (node.kind) {
    case "string":
      return node.text.length > maxLength ? { kind: "long" } : { kind: "string", text: node.text };
    case "number":
      if (node.canonical !== null) return { kind: "number", text: node.canonical };
      if (node.text.length > maxLength) return { kind: "long" };
      // Whole numbers without an exponent are exact in any reader that keeps them at all.
      return /^-?\d+$/.test(node.text) ? { kind: "number", text: node.text } : { kind: "imprecise" };
    case "literal":
      return { kind: "literal", text: node.text };
    case "array":
    case "object":
      return { kind: "container" };
  }
}

/** Stands for an element that does not count, so that its array keeps its length, or for a missing value. No JSON text has it there. */
const NOTHING = "!";

/**
 * Pauses after each slice of its work. Returns what counts: for `except` the canonical text without those values; for `only` the values,
 * or the mark that one is missing. Returns `null` if the whole text counts: with `only`, if there is nothing at any pointer, or if an
 * object has another name that differs from a selected one by case alone, since some readers would take either.
 */
export function* selectJson(root: JsonNode, { kind, pointers }: BodySelection): Generator<undefined, string | null> {
  const paths = pointers.map(pointerTokens);
  if (kind === "except") {
    if (root.kind === "array" || root.kind === "object") yield;
    return without(root, placesOf(paths));
  }
  const values: (string | null)[] = [];
  for (const path of paths) {
    if (values.length > 0 && (root.canonical?.length ?? 0) > LONG_BYTES) yield;
    const value = certainNodeAt(root, path);
    if (value === "ambiguous") return null;
    values.push(value?.canonical ?? null);
  }
  return values.every((value) => value === null) ? null : values.map((value) => value ?? NOTHING).join(",");
}

/**
 * What is at a pointer's end; `null`: nothing. `ambiguous`: a name on its way is there twice, or beside or instead of one that differs by case
 * alone, which some readers would take.
 */
export function certainNodeAt(root: JsonNode, path: readonly string[]): JsonNode | null | "ambiguous" {
  let node = root;
  for (const token of path) {
    if (node.kind === "object" && node.members.some(({ name }) => differByCase(name, token))) return "ambiguous";
    const [child, other] = childrenOf(node, token);
    if (other !== undefined) return "ambiguous";
    if (child === undefined) return null;
    node = child;
  }
  return node;
}

/** Where pointers lead, by their tokens; `null` at their ends. */
type Places = Map<string, Places | null>;

function placesOf(paths: readonly (readonly string[])[]): Places {
  const root: Places = new Map();
  for (const path of paths) {
    let places = root;
    for (const [depth, token] of path.entries()) {
      const next = places.get(token) ?? new Map();
      places.set(token, depth === path.length - 1 ? null : next);
      places = next;
    }
  }
  return root;
}

/** The canonical text without what is at the places. Whether an object had such a member leaves no trace. */
function without(node: JsonNode, places: Places): string | null {
  switch (node.kind) {
    case "array": {
      const elements = node.elements.map(({ canonical }) => canonical);
      for (const [token, next] of places) {
        const [element] = childrenOf(node, token);
        if (element !== undefined) elements[Number(token)] = next === null ? NOTHING : without(element, next);
      }
      return `[${elements.join(",")}]`;
    }
    case "object": {
      const members = node.members.flatMap(({ name, written, node: value }) => {
        const next = places.get(name);
        if (next === null) return [];
        return [`${written}:${next === undefined ? value.canonical : without(value, next)}`];
      });
      return `{${members.join(",")}}`;
    }
    case "string":
    case "number":
    case "literal":
      return node.canonical;
  }
}
