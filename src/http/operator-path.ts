// Whether a request's path is the operators'. It is only as it is written; every other text that some reader may take for it is
// nobody's and goes nowhere, since an operator's token may come with it. So this errs on one side: readers differ in how
// often they decode, in what they take for a slash, in what they drop from a segment, and whether letters' case counts.

import { decoded, plainestPath } from "./path.ts";

/** `forms`: something that can be taken for the operator path, and is not it. */
export type OperatorPathMatch = "plain" | "form" | "none";

/** An escaped escape is an escape to whoever decodes twice; nobody decodes as often as this. */
const MOST_DECODINGS = 8;

/** A path that every reader takes for the same segments: nothing to decode, to merge, to resolve. */
const IS_SIMPLE = /^(?:\/[^/%;\\.][^/%;\\]*)*\/?$/;

/** Asked with a request's URL as the runtime gives it (workerd: `Host` and target as they came), and the path parsed from it. */
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

/** The path as it stands in a URL, with dot segments and all. */
function writtenPath(url: string): string {
  return /^[a-z]+:\/\/[^/?#\\]*([^?#]*)/i.exec(url)?.[1] ?? "";
}

/** The path, and what it is once decoded, twice decoded, and so on. */
function formsOf(path: string): readonly string[] {
  const forms = [path];
  for (let last = path; forms.length <= MOST_DECODINGS;) {
    const next = decoded(withoutOddEscapes(last));
    if (next === last) break;
    forms.push(next);
    last = next;
  }
  return forms;
}

/** Overlong UTF-8 and `%u002f`, which careless decoders take for the ASCII that they hide. */
function withoutOddEscapes(text: string): string {
  return text
    .replace(/%c([01])%([89ab][0-9a-f])/gi, (_, high: string, low: string) =>
      String.fromCodePoint((Number(high) << 6) | (Number.parseInt(low, 16) & 0x3f)),
    )
    .replace(/%u([0-9a-f]{4})/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
}

/**
 * In one case and form, without what some file system or framework drops: parameters, what follows a NUL, trailing dots. In a few
 * passes over the whole text, since a path may have tens of thousands of segments.
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

/** Of dots alone, two or more are a step upwards. */
function withoutEndDots(part: string): string {
  let end = part.length;
  while (end > 0 && part[end - 1] === ".") end -= 1;
  return end === 0 && part.length > 1 ? ".." : part.slice(0, end);
}

/** From the beginning, or behind a step upwards: what that takes away depends on whether empty segments count. */
function leadsTo(segments: readonly string[], wanted: readonly string[]): boolean {
  const up = segments.indexOf("..");
  for (let at = 0; at !== -1; at = segments.indexOf(wanted[0] ?? "", at + 1)) {
    const isBegin = at === 0 || (up !== -1 && at > up);
    if (isBegin && wanted.every((segment, index) => segments[at + index] === segment)) return true;
  }
  return false;
}
