// Under which paths a request is matched. Routers differ in what they take for the same path, and a route has to protect
// whatever the origin's router would run its handler for. So a path that is not plain has several forms, and a match of
// any of them protects. What is sent to the origin, and digested, is the path as the runtime gave it.
//
//   what comes first     nothing, parameters taken off (Spring), or all decoded, slashes merged, dots resolved (nginx)
//   the router decodes   nothing (Express, Koa), each segment by itself (Fastify, Go, Spring), all of it (Django, WSGI),
//                        or all of it twice
//   and takes that       as it is, up to the first of ; ? # NUL, with slashes merged, in its plainest form, or with
//                        empty segments for parameters
//
// Not among them: overlong UTF-8 (no decoder of today takes %c0%af for a slash, RFC 3629, section 3), and a second name
// for the same resource (`/orders.json`), which wants a route of its own.

/** What has nothing to decode and nothing to take away, as most paths. The URL parser has resolved its dot segments. */
const IS_PLAIN = /^(?:\/[^/%;\\]+)+$/;

/** Stands for an empty segment, which some routers take for an empty parameter: Fastify, `/orders/` for `/orders/:id`. */
const EMPTY = "\0";

/**
 * The length up to which all forms of a path are found in 6 ms at most (measured), so that nobody can keep an isolate
 * busy. Everybody has to take URIs of this length, and few take longer ones (RFC 9110, section 4.1).
 */
const LONGEST_ODD_PATH = 8_000;

/** Every form of a path, the path as written first; most are plain and have no other. `null`: it is odd, and too long. */
export function pathForms(path: string): readonly string[] | null {
  if (IS_PLAIN.test(path)) return [path];
  if (path.length > LONGEST_ODD_PATH) return null;
  const forms = new Set([path]);
  for (const passed of new Set([path, withoutParameters(path), resolved(decoded(path))])) {
    const whole = decoded(passed);
    for (const decoding of new Set([passed, decodedBySegment(passed), whole, decoded(whole)])) {
      for (const taken of new Set([decoding, decoding.replace(/[;?#\0].*$/s, "")])) {
        forms.add(taken);
        forms.add(taken.replaceAll(/\/+(?=\/)|(?<=.)\/$/g, ""));
        forms.add(resolved(taken));
        forms.add(resolved(withoutParameters(taken)));
        forms.add(taken.replaceAll(/\/(?=\/|$)/g, `/${EMPTY}`));
      }
    }
  }
  return [...forms];
}

/** A path's plainest form: escapes decoded once, slashes merged, dot segments, parameters and trailing slash gone. */
export function plainestPath(path: string): string {
  return IS_PLAIN.test(path) ? path : resolved(withoutParameters(decoded(path)));
}

function withoutParameters(path: string): string {
  return path.replaceAll(/;[^/\\]*/g, "");
}

/** Slashes merged, dot segments resolved, and no slash at the end. */
function resolved(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split(/[/\\]/)) {
    if (segment === "" || segment === ".") continue;
    if (segment === "..") segments.pop();
    else segments.push(segment);
  }
  return `/${segments.join("/")}`;
}

/** As `decoded`, but an encoded slash stays within its segment, and encoded. */
function decodedBySegment(path: string): string {
  return path
    .split(/%2f/i)
    .map((part) => decoded(part))
    .join("%2f");
}

/** One character's escapes: ASCII, or the valid UTF-8 of another (RFC 3629, section 4), so that decoding it never throws. */
const ESCAPES =
  /%[0-7][0-9a-f]|%(?:c[2-9a-f]|d[0-9a-f])%[89ab][0-9a-f]|%(?:e0%[ab][0-9a-f]|ed%[89][0-9a-f]|e[1-9abcef]%[89ab][0-9a-f])%[89ab][0-9a-f]|%(?:f0%[9ab][0-9a-f]|f[1-3]%[89ab][0-9a-f]|f4%8[0-9a-f])(?:%[89ab][0-9a-f]){2}/gi;

/**
 * Decodes what is valid, character by character, and leaves the rest; `decodeURIComponent` gives up on the whole, and to be thrown
 * at for each of thousands of characters would take tens of milliseconds.
 */
export function decoded(path: string): string {
  return path.replace(ESCAPES, (escapes) => decodeURIComponent(escapes));
}
