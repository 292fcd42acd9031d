// Reads the body of a shape as the settings write it: any JSON value, in whose strings placeholders stand for values. Knows no shape and no code.

import type { ShapeNode } from "../../kernel/config/problem-shape.ts";
import { isPointer } from "../../kernel/config/values.ts";

/** As the key of an object of a built-in shape: it stands for the JSON text of its member. No file can write it. */
export const JSON_TEXT = Symbol("JSON text");

/** A placeholder, or what was meant as one. */
const PLACEHOLDER = /\{([^{}]*)\}/g;

/** The values of a problem, whatever the shape says. */
export const OWN_VALUES: ReadonlySet<string> = new Set([
  "code",
  "status",
  "title",
  "detail",
  "retryable",
  "retryAfter",
  "instance",
]);

export interface ParsedBody {
  readonly node: ShapeNode;
  /** The values in it, by their names. */
  readonly names: readonly string[];
}

export function parseShapeBody(body: unknown): ParsedBody {
  const names: string[] = [];
  return { node: parseNode(body, names), names };
}

function parseNode(value: unknown, names: string[]): ShapeNode {
  if (typeof value === "string") return parseText(value, names);
  if (Array.isArray(value)) return { kind: "list", items: value.map((item) => parseNode(item, names)) };
  if (typeof value === "object" && value !== null) {
    if (JSON_TEXT in value) return { kind: "json-text", of: parseNode(value[JSON_TEXT], names) };
    const members = Object.entries(value).map(([name, member]) => [name, parseNode(member, names)] as const);
    return { kind: "object", members };
  }
  // A date of TOML has become text on its way into a variable.
  return { kind: "literal", value: typeof value === "number" || typeof value === "boolean" ? value : null };
}

function parseText(text: string, names: string[]): ShapeNode {
  const pieces: (string | { readonly name: string })[] = [];
  let from = 0;
  for (const { 0: whole, 1: written = "", index } of text.matchAll(PLACEHOLDER)) {
    const isOptional = written.endsWith("?");
    const name = isOptional ? written.slice(0, -1) : written;
    names.push(name);
    if (whole === text) return { kind: "value", name, isOptional };
    if (index > from) pieces.push(text.slice(from, index));
    pieces.push({ name });
    from = index + whole.length;
  }
  if (pieces.length === 0) return { kind: "literal", value: text };
  if (from < text.length) pieces.push(text.slice(from));
  return { kind: "text", pieces };
}

/** The pointers among the names of values. */
export function pointersIn(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name) => name.startsWith("json:")).map((name) => name.slice("json:".length)))];
}

/** Whether a value has this name, in a shape with these words. */
export function isValueName(name: string, words: readonly string[]): boolean {
  if (name.startsWith("json:")) return isPointer(name.slice("json:".length));
  return OWN_VALUES.has(name) || words.includes(name);
}
