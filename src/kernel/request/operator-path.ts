// Decides whether a request's path is the operator path. Only the exact spelling is. Any other spelling that some server may
// read as the operator path is refused and never forwarded, because an operator's token may come with it. So this errs on the
// safe side: servers differ in how often they decode, what counts as a slash, what they drop from a segment, and in case.

import { decodedPath, plainestPath } from "./path.ts";

/** `plain`: the operator path or a path below it. `form`: another spelling that a server could read as that. */
export type OperatorPathMatch = "plain" | "form" | "none";

/** How often to decode, because `%2525` is an escape for a server that decodes more than once. No server decodes this often. */
const MAX_DECODINGS = 8;

/** A path that every server splits into the same segments, because there is nothing to decode, merge or resolve. */
const IS_SIMPLE = /^(?:\/[^/%;\\.][^/%;\\]*)*\/?$/;

/**
 * Makes the matcher for one operator path. The matcher takes a request's URL as the runtime gives it (workerd: `Host` and target
 * as the client sent them) and the path parsed from it.
 */
export function operatorPathMatcher(operatorPath: string): (url: string, path: string) => OperatorPathMatch {
  const wanted = segmentsOf(operatorPath);
  const begin = `/${wanted[0] ?? ""}`;
  return (url, path) => {
    if (IS_SIMPLE.test(path) && !path.toLowerCase().startsWith(begin)) return "none";
    if (!formsOf(path).some((form) => leadsTo(segmentsOf(form), wanted))) return "none";
    const isBelow = path === operatorPath || path.startsWith(`${operatorPath}/`);
    return isBelow && path === plainestPath(path) && path === writtenPath(url) ? "plain" : "form";
  };
}

/** The path of a URL as written, with its dot segments. */
function writtenPath(url: string): string {
  return /^[a-z]+:\/\/[^/?#\\]*([^?#]*)/i.exec(url)?.[1] ?? "";
}

/** The path, the path decoded once, decoded twice, and so on. */
function formsOf(path: string): readonly string[] {
  const forms = [path];
  for (let last = path; forms.length <= MAX_DECODINGS;) {
    const next = decodedPath(withoutOddEscapes(last));
    if (next === last) break;
    forms.push(next);
    last = next;
  }
  return forms;
}

/** Replaces overlong UTF-8 and escapes like `%u002f` with the characters that careless decoders read them as. */
function withoutOddEscapes(text: string): string {
  return text
    .replace(/%c([01])%([89ab][0-9a-f])/gi, (_, high: string, low: string) =>
      String.fromCodePoint((Number(high) << 6) | (Number.parseInt(low, 16) & 0x3f)),
    )
    .replace(/%u([0-9a-f]{4})/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
}

/**
 * The path's segments in lower case and one Unicode form, without what some file system or framework drops: parameters,
 * everything after a NUL, trailing dots. It makes a few passes over the whole text, because a path may have tens of thousands of
 * segments.
 */
function segmentsOf(text: string): readonly string[] {
  const written = text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[;?#\0][^/\\]*/g, "")
    .replaceAll(/[\p{Cc}\p{Cf}\s]/gu, "");
  const segments: string[] = [];
  for (const part of written.split(/[/\\]/)) {
    const segment = part.endsWith(".") ? withoutEndDots(part) : part;
    if (segment !== "") segments.push(segment);
  }
  return segments;
}

/** The segment without its trailing dots. Two or more dots alone are a step up: `..`. */
function withoutEndDots(part: string): string {
  let end = part.length;
  while (end > 0 && part[end - 1] === ".") end -= 1;
  return end === 0 && part.length > 1 ? ".." : part.slice(0, end);
}

/**
 * Whether the segments lead to `wanted`: at their beginning, or anywhere after a step up, because how far a step goes depends
 * on whether a server counts empty segments.
 */
function leadsTo(segments: readonly string[], wanted: readonly string[]): boolean {
  const up = segments.indexOf("..");
  for (let at = 0; at !== -1; at = segments.indexOf(wanted[0] ?? "", at + 1)) {
    const isBegin = at === 0 || (up !== -1 && at > up);
    if (isBegin && wanted.every((segment, index) => segments[at + index] === segment)) return true;
  }
  return false;
}
