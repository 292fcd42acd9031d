// Reads the path pattern of a route: the part of Hono's syntax on which both of Hono's routers agree. Which of the two
// serves depends on all routes together, so a pattern that they read differently must never pass. Matches no requests:
// Hono does.

import { type ParsedSetting, refuseValue } from "./units.ts";

/** One segment of a pattern. A `plain` expression certainly matches inside one segment; another may match a slash. */
export type PathSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "param" }
  | { readonly kind: "expression"; readonly source: string; readonly plain: boolean }
  | { readonly kind: "wildcard" };

/** A pattern without optional parts. `tail`: it ends in `/*`, which matches the path before it and all below it. */
export interface PathPattern {
  readonly segments: readonly PathSegment[];
  readonly tail: boolean;
}

const PARAM = /^:([A-Za-z_][A-Za-z0-9_-]*)(?:\{(.+)\})?(\?)?$/s;

/** Characters that no literal may contain: decoded URLs never contain them, or one of the routers takes them for syntax. */
const NOT_LITERAL = /[\s?#%\\{}|*<>"^`[\]\p{Cc}]/u;

/** An expression made only of these pieces cannot match a slash or the end of a line, and cannot reach beyond its segment. */
const PLAIN = /^(?:[A-Za-z0-9_\-+?*(){},|]|\?:|\\[dw.\-+]|\[(?:\^\/)?(?:[A-Za-z0-9_.+~-]|\\[dw.-])*\])+$/;

/**
 * The alternatives of a pattern: one, or two where the last parameter is optional (`/a/:b?` is `/a` and `/a/:b`).
 * Refuses patterns that Hono would accept, but read in two ways.
 */
export function parsePathPattern(path: string): ParsedSetting<readonly PathPattern[]> {
  const meant = meantPath(path);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    return refuseValue(`is a URL, and routes are paths: write "${meant}", and the host in origin`, meant);
  }
  if (/[?#]/.test(path) && !/[{*]|\/:/.test(path)) {
    return refuseValue(`is compared with the path alone, without query and fragment: write "${meant}"`, meant);
  }
  if (IN_BRACES.test(path)) {
    return refuseValue(`parameters have a colon here, and no braces: write "${meant}"`, meant);
  }
  if (/^\^|\$$/.test(path))
    return refuseValue('is compared as a path pattern, not as a regular expression: write "/v1/*"');
  if (!path.startsWith("/")) return refuseValue(`must start with "/": write "${meant}"`, meant);
  // Hono's regular-expression router keeps its own marks in this form.
  if (/[@#][0-9]/.test(path))
    return refuseValue('must not contain "@" or "#" before a digit: write a parameter, ":name", there');
  // Both routers read a pattern without parameters and wildcards as plain text, colons included ("/jobs:run").
  const isText = !/\*|\/:/.test(path);
  const texts = splitSegments(path.slice(1));
  const segments: PathSegment[] = [];
  let optional = false;
  for (const [index, text] of texts.entries()) {
    const last = index === texts.length - 1;
    const neighbours = neighbourProblem(segments.at(-1), text);
    if (neighbours !== null) return refuseValue(neighbours);
    if (text === "*" && last) return { ok: true, value: [{ segments, tail: true }] };
    if (text === "" && !last) return refuseValue('has an empty segment ("//"): write one slash');
    const segment = parseSegment(text, last, isText);
    if (!segment.ok) return segment;
    segments.push(segment.value);
    optional = text.startsWith(":") && text.endsWith("?");
  }
  const whole: PathPattern = { segments, tail: false };
  if (!optional) return { ok: true, value: [whole] };
  return { ok: true, value: [withoutLast(segments), whole] };
}

/** What is left of `/a/:b?` and the like without the parameter. After `/a/*` it is the path before it too, and all below it. */
function withoutLast(segments: readonly PathSegment[]): PathPattern {
  const shorter = segments.slice(0, -1);
  if (shorter.at(-1)?.kind === "wildcard") return { segments: shorter.slice(0, -1), tail: true };
  return { segments: shorter.length === 0 ? [{ kind: "literal", text: "" }] : shorter, tail: false };
}

/** A parameter of OpenAPI. */
const IN_BRACES = /\/\{(\w+)\}(?=\/|$)/;

/** The path that a URL, a path without its first slash, or one of OpenAPI (`/orders/{id}`) means. */
function meantPath(written: string): string {
  const path = written
    .replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "")
    .replace(/[?#].*$/s, "")
    .replaceAll(new RegExp(IN_BRACES, "g"), "/:$1");
  return path.startsWith("/") ? path : `/${path}`;
}

function parseSegment(text: string, last: boolean, isText: boolean): ParsedSetting<PathSegment> {
  if (text === "*") return { ok: true, value: { kind: "wildcard" } };
  if (text.startsWith(":")) return parseParam(text, last);
  if (text === "." || text === "..")
    return refuseValue(`"${text}" never arrives, because clients resolve it: write the real path`);
  if (text.includes("*"))
    return refuseValue('"*" can stand only for a whole segment: write "/v1/*" or "/v1/:name/items"');
  if (text.includes("%"))
    return refuseValue('is compared with the decoded path: write the character itself instead of "%…"');
  if (text.includes(":") && !isText)
    return refuseValue('":" is special and allowed only at the start of a segment: write "/:name"');
  const bad = NOT_LITERAL.exec(text);
  if (bad !== null)
    return refuseValue(`must not contain ${JSON.stringify(bad[0])} here: write "/v1/payments", "/:name" or "/v1/*"`);
  return { ok: true, value: { kind: "literal", text } };
}

function parseParam(text: string, last: boolean): ParsedSetting<PathSegment> {
  const match = PARAM.exec(text);
  if (match === null) return refuseValue(`"${text}" is not a parameter: write ":name", ":name{[0-9]+}" or ":name?"`);
  const source = match[2];
  if (match[3] !== undefined && !last)
    return refuseValue('only the last parameter can be optional: write ":name" here');
  if (source === undefined) return { ok: true, value: { kind: "param" } };
  // Hono splits an optional pattern at every slash, those in an expression included.
  if (match[3] !== undefined && /[/:]/.test(source)) {
    return refuseValue('an optional parameter\'s expression cannot contain "/" or ":": write two routes');
  }
  const problem = expressionProblem(source);
  if (problem !== null) return refuseValue(problem);
  return { ok: true, value: { kind: "expression", source, plain: PLAIN.test(source) } };
}

/** Why a segment cannot follow the one before it. */
function neighbourProblem(previous: PathSegment | undefined, text: string): string | null {
  if (previous === undefined || previous.kind === "literal" || previous.kind === "param") return null;
  if (previous.kind === "wildcard") {
    return text === "*" ? 'two wildcards in a row are read in two ways: write "/:name/*" instead of "/*/*"' : null;
  }
  // To find where an expression ends, one router backtracks and the other does not.
  if (!previous.plain) {
    return `{${previous.source}} may match slashes, so it is allowed only at the end: write [^/] for its characters`;
  }
  // One router looks ahead for the text of the next segment, and takes that text for an expression.
  if (/[+$()]/.test(text) && !text.startsWith(":"))
    return `"${text}" cannot follow an expression: write ":name" before it`;
  return null;
}

/** Why Hono's two routers would read the expression differently, or not at all. */
function expressionProblem(source: string): string | null {
  const expression = compile(`^(?:${source})$`);
  // An expression such as ")(" compiles only within a group.
  if (expression === null || compile(source) === null) {
    return `{${source}} is not a regular expression: write ":name{[0-9]+}"`;
  }
  if (expression.test("")) return `{${source}} also matches an empty text: write "+" instead of "*", or ":name?"`;
  if (source.includes("/") && source.includes("}"))
    return `{${source}} contains both "/" and "}": write "+" instead of a count`;
  const bare = source.replace(/\\./gs, "").replace(/\[[^\]]*\]/g, "");
  if (/[\^$]/.test(bare)) return `{${source}} is anchored by the router: leave "^" and "$" out`;
  let depth = 0;
  for (const character of bare) {
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (character === "|" && depth === 0) return `{${source}} is ambiguous: write {(?:${source})}`;
  }
  return null;
}

function compile(source: string): RegExp | null {
  try {
    return new RegExp(source);
  } catch {
    return null;
  }
}

/** The segments of a valid pattern, each with the name of its parameter, if it is one. */
export function paramNames(path: string): readonly { readonly name: string | null; readonly text: string }[] {
  return splitSegments(path.slice(1)).map((text) => ({ name: PARAM.exec(text)?.[1] ?? null, text }));
}

/** Splits at slashes outside braces. */
function splitSegments(path: string): readonly string[] {
  const segments: string[] = [];
  let depth = 0;
  let segment = "";
  for (const character of path) {
    if (character === "{") depth += 1;
    if (character === "}") depth -= 1;
    if (character === "/" && depth === 0) {
      segments.push(segment);
      segment = "";
    } else {
      segment += character;
    }
  }
  return [...segments, segment];
}
