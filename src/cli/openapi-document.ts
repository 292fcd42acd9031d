// An OpenAPI description as text: reads it, and writes it with what was added, or the additions alone as an Overlay. Comments,
// order and style of a YAML file stay as they are, but for spaces, and aliases in operations that get more.

import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  type Node,
  parseDocument,
  Scalar,
  stringify,
  visit,
} from "yaml";
import { messageOf } from "./exit-codes.ts";
import type { Addition, JsonObject } from "./openapi-additions.ts";
import { type Members, membersOf } from "./openapi-operations.ts";

export interface Description {
  readonly document: Document;
  readonly members: Members;
  readonly isJson: boolean;
}

/** The description, or what is wrong with the text, with the line where that is known. */
export function readDescription(text: string): Description | { readonly problem: string } {
  // JSON is YAML.
  const isJson = text.trimStart().startsWith("{");
  const language = isJson ? "JSON" : "YAML";
  const document = parseDocument(text, { prettyErrors: true, merge: true });
  const [error] = document.errors;
  if (error?.code === "MULTIPLE_DOCS") return { problem: ": it holds several documents: keep the one with the paths" };
  if (error !== undefined) {
    const line = error.linePos?.[0];
    const where = line === undefined ? "" : `:${line.line}:${line.col}`;
    return {
      problem: `${where}: not valid ${language}: ${error.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "")}`,
    };
  }
  let read: unknown;
  try {
    read = document.toJS();
  } catch (failure) {
    return { problem: `: not valid ${language}: ${messageOf(failure)}` };
  }
  const members = membersOf(read);
  const { openapi, swagger, paths } = members;
  if (swagger !== undefined) return { problem: ": Swagger 2.0 is too old: convert it to OpenAPI 3 first" };
  if (!/^3\.\d/.test(String(openapi)))
    return { problem: ': no OpenAPI description: write openapi: "3.1.0" at its top' };
  if (Object.keys(membersOf(paths)).length === 0) return { problem: ": it has no paths" };
  return { document, members, isJson };
}

/** The description with all additions. */
export function mergedText({ document, isJson }: Description, additions: readonly Addition[]): string {
  for (const { at, update } of additions) merge(document, at, update);
  if (isJson) return `${JSON.stringify(document.toJS(), null, 2)}\n`;
  return document.toString({ lineWidth: 0 });
}

/** As the Overlay Specification says: objects are merged, lists are appended to, and everything else is replaced (1.0.0, section 4.4.3). */
function merge(document: Document, at: readonly string[], update: JsonObject): void {
  for (const [name, value] of Object.entries(update)) {
    own(document, [...at, name]);
    const place = keysIn(document, [...at, name]);
    const isThere = document.hasIn(place);
    if (Array.isArray(value) && isThere) for (const one of value) document.addIn(place, nodeOf(document, one));
    else if (isObject(value) && isThere) merge(document, [...at, name], value);
    else document.setIn(place, nodeOf(document, value));
  }
}

/**
 * Makes what leads to a place, and the place itself, stand there alone: an alias becomes what it stands for, and what has an anchor is
 * written out where aliases stand for it. Otherwise one operation's additions would be another's too.
 */
function own(document: Document, path: readonly string[]): void {
  for (let length = 1; length <= path.length; length += 1) {
    const place = keysIn(document, path.slice(0, length));
    const node: unknown = document.getIn(place, true);
    if (isAlias(node)) {
      document.setIn(place, copyOf(node.resolve(document)));
    } else if (isCollection(node) && node.anchor !== undefined) {
      const { anchor } = node;
      visit(document, {
        Alias: (_, alias) => {
          const copy = alias.source === anchor ? copyOf(node) : undefined;
          return isNode(copy) ? copy : undefined;
        },
      });
      delete node.anchor;
    }
    const map: unknown = document.getIn(place, true);
    // What is merged into it could otherwise be replaced, but not added to.
    if (isMap(map) && map.items.some(({ key }) => isScalar(key) && key.source === "<<"))
      document.setIn(place, document.createNode(map.toJS(document)));
  }
}

/** Without its anchors: a document has each once. */
function copyOf(node: ReturnType<Alias["resolve"]>): unknown {
  const copy: unknown = (node ?? new Scalar(null)).clone();
  if (isNode(copy)) visit(copy, { Value: (_, one) => void delete one.anchor });
  return copy;
}

/** Equal parts are written out: an alias would surprise who reads the file. */
function nodeOf(document: Document, value: unknown): Node {
  return document.createNode(value, { aliasDuplicateObjects: false });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The path by the keys that the document has: YAML reads `200:` as a number. */
function keysIn({ contents }: Document, path: readonly string[]): readonly unknown[] {
  let node: unknown = contents;
  return path.map((name) => {
    if (!isMap(node)) return name;
    const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === name);
    node = pair?.value;
    return pair === undefined ? name : isScalar(pair.key) ? pair.key.value : pair.key;
  });
}

/** The additions as an OpenAPI Overlay 1.0.0. */
export function overlayText({ members, isJson }: Description, additions: readonly Addition[]): string {
  const { title, version } = membersOf(members["info"]);
  const overlay = {
    overlay: "1.0.0",
    info: {
      title: `Idempotency keys of ${typeof title === "string" ? title : "the API"}`,
      version: typeof version === "string" ? version : "1",
    },
    actions: additions.map(({ at, update }) => ({ target: `$${at.map(jsonPathOf).join("")}`, update })),
  };
  return isJson
    ? `${JSON.stringify(overlay, null, 2)}\n`
    : stringify(overlay, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** A member as RFC 9535 writes it. */
function jsonPathOf(name: string): string {
  return `['${name.replaceAll(/['\\]/g, String.raw`\$&`)}']`;
}
