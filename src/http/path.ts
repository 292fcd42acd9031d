// Under which path a request is matched. Origins differ in what they take for the same path: many decode escapes, merge
// slashes, ignore a trailing one or a `;parameter`. A request is therefore matched as written and in its plainest form,
// and either match protects it. What is sent to the origin, and digested, is always the path as it came.

/** What has nothing to take away, as most paths. The URL parser has resolved dot segments (RFC 3986, section 5.2.4). */
const IS_PLAIN = /^(?:\/|(?:\/[^/%;\\]+)+)$/;

/** A path's plainest form: escapes decoded once, slashes merged, dot segments, parameters and trailing slash gone. */
export function plainestPath(path: string): string {
  if (IS_PLAIN.test(path)) return path;
  const segments: string[] = [];
  for (const part of decoded(path).split(/[/\\]/)) {
    const segment = part.split(";")[0] ?? "";
    if (segment === "" || segment === ".") continue;
    if (segment === "..") segments.pop();
    else segments.push(segment);
  }
  return `/${segments.join("/")}`;
}

/** Decodes what is valid and leaves the rest; `decodeURIComponent` gives up on the whole. ASCII goes first, one by one. */
export function decoded(path: string): string {
  const ascii = path.replace(/%[0-7][0-9a-f]/gi, (escape) =>
    String.fromCodePoint(Number.parseInt(escape.slice(1), 16)),
  );
  return ascii.replace(/(?:%[89a-f][0-9a-f])+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}
