// Finds the operations of an OpenAPI description that routes protect. Reads plain data, and changes nothing.

import { parsePathPattern, type PathPattern, type PathSegment } from "../kernel/config/path-pattern.ts";
import type { Route } from "../kernel/config/resolved.ts";

/** Part of a description, as JSON or YAML gives it. */
export type DescriptionMembers = Readonly<Record<string, unknown>>;

/** One operation that a route protects. */
export interface ProtectedOperation {
  /** `POST /v1/payments`. */
  readonly name: string;
  /** Its place: `["paths", "/v1/payments", "post"]`, or that of a path item that the path refers to. */
  readonly at: readonly string[];
  readonly route: Route;
  readonly operation: DescriptionMembers;
  readonly pathItem: DescriptionMembers;
}

export interface FoundOperation {
  readonly operations: readonly ProtectedOperation[];
  /** The routes that protect no operation of the description. */
  readonly idle: readonly Route[];
  /** Why an operation could not be looked at. */
  readonly notes: readonly string[];
}

interface PathOperations {
  readonly at: readonly string[];
  readonly item: DescriptionMembers;
}

const METHODS: ReadonlySet<string> = new Set(["post", "put", "patch", "delete", "get", "head", "options", "trace"]);

export function findOperations(description: DescriptionMembers, routes: readonly Route[]): FoundOperation {
  const operations: ProtectedOperation[] = [];
  const notes: string[] = [];
  const taken = new Set<string>();
  const paths = Object.entries(membersOf(description["paths"]));
  const shared = paths.map(([, item]) => membersOf(item)["$ref"]);
  for (const [path, item] of paths) {
    const place = pathOperationsOf(path, membersOf(item), description);
    if (typeof place === "string") {
      notes.push(place);
      continue;
    }
    const pathItem = place.item;
    const reference = membersOf(item)["$ref"];
    const isShared = reference !== undefined && shared.filter((one) => one === reference).length > 1;
    for (const [method, value] of Object.entries(pathItem)) {
      if (!METHODS.has(method)) continue;
      const operation = membersOf(value);
      const full = prefixOf(operation["servers"] ?? pathItem["servers"] ?? description["servers"]) + path;
      const route = routes.find((one) => one.methods.includes(method.toUpperCase()) && coversTemplate(one.path, full));
      if (route === undefined) continue;
      const at = [...place.at, method];
      const name = `${method.toUpperCase()} ${path}`;
      // What is added there holds for all paths that refer to it.
      if (isShared)
        notes.push(`${name}: its path item is also that of other paths, so what was added holds for them too`);
      if (!taken.has(at.join("\n"))) operations.push({ name, at, route, operation, pathItem });
      taken.add(at.join("\n"));
    }
  }
  const busy = new Set(operations.map(({ route }) => route));
  return { operations, idle: routes.filter((route) => !busy.has(route)), notes };
}

/** Where the operations of a path are: there, or where its `$ref` leads. A text says why that is not known. */
function pathOperationsOf(
  path: string,
  item: DescriptionMembers,
  description: DescriptionMembers,
): PathOperations | string {
  const reference = item["$ref"];
  if (typeof reference !== "string") return { at: ["paths", path], item };
  const at = stepsOf(reference);
  if (at === null) return `${path}: its path item is in another file (${reference}): bundle the description first`;
  return { at, item: membersAt(description, at) };
}

/** The steps of a reference into this document; `null`: into another one. */
export function stepsOf(reference: string): readonly string[] | null {
  if (!reference.startsWith("#/")) return null;
  return reference
    .slice(2)
    .split("/")
    .map((token) => decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function membersAt(description: DescriptionMembers, steps: readonly string[]): DescriptionMembers {
  return steps.reduce<DescriptionMembers>((one, step) => membersOf(one[step]), description);
}

export function membersOf(value: unknown): DescriptionMembers {
  return isMembers(value) ? value : {};
}

function isMembers(value: unknown): value is DescriptionMembers {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The path of the first server, which comes before the paths; its variables have their defaults. */
function prefixOf(servers: unknown): string {
  const [first]: readonly unknown[] = Array.isArray(servers) ? servers : [];
  const { url, variables } = membersOf(first);
  if (typeof url !== "string") return "";
  const filled = url.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const value = membersOf(membersOf(variables)[name])["default"];
    return typeof value === "string" ? value : "";
  });
  const path = filled.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, "");
  return path.startsWith("/") ? path.replace(/\/+$/, "") : "";
}

/** Whether a route's pattern matches the requests of a path template (`/payments/{id}`). */
export function coversTemplate(pattern: string, template: string): boolean {
  const parsed = parsePathPattern(pattern);
  const given = template.slice(1).split("/");
  return parsed.ok && parsed.value.some((one) => coversAll(one, given));
}

function coversAll({ segments, tail }: PathPattern, given: readonly string[]): boolean {
  if (tail ? given.length < segments.length : given.length !== segments.length) return false;
  return segments.every((segment, at) => coversSegment(segment, given[at] ?? ""));
}

/** A variable fits wherever a route takes more than one text: an expression is meant for it. */
function coversSegment(segment: PathSegment, given: string): boolean {
  const isVariable = given.includes("{");
  switch (segment.kind) {
    case "literal":
      return segment.text === given;
    case "param":
    case "wildcard":
      return given !== "";
    case "expression":
      return isVariable || new RegExp(`^(?:${segment.source})$`).test(given);
  }
}
