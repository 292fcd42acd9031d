// The forms of a path that routes are matched against. Routers disagree on which paths are equal, and a route must protect
// every path for which the origin's router would run the handler. So a path that is not plain has several forms, and the
// request is protected if any of them matches. The origin gets, and the fingerprint covers, the path as the runtime gave it.
//
//   a step before the router  none, removes parameters (Spring), or decodes all, merges slashes and resolves dots (nginx)
//   the router decodes        nothing (Express, Koa), each segment separately (Fastify, Go, Spring), the whole path (Django,
//                             WSGI), or the whole path twice
//   and then uses the path    unchanged, up to the first of ; ? # NUL, with slashes merged, in its plainest form, or with
//                             empty segments as parameters
//
// Not covered: overlong UTF-8, because no current decoder turns %c0%af into a slash (RFC 3629, section 3); and a second name
// for the same resource (`/orders.json`), which needs a route of its own.

/** A path with nothing to decode or remove, like most paths. The URL parser has already resolved its dot segments. */
const IS_PLAIN = /^(?:\/[^/%;\\]+)+$/;

/** Marks an empty segment, which some routers take for an empty parameter: Fastify, `/orders/` for `/orders/:id`. */
const EMPTY = "\0";

/**
 * The most characters of a path that is not plain. Up to this length, finding all forms takes at most 6 ms (measured), so no
 * client can keep an isolate busy. RFC 9110, section 4.1, recommends support for URIs of this length; few servers accept longer
 * ones.
 */
const MAX_ODD_PATH_LENGTH = 8_000;

/** Every form of a path, with the path as written first. A plain path has only one. `null`: it is not plain, and too long. */
export function pathForms(path: string): readonly string[] | null {
  if (IS_PLAIN.test(path)) return [path];
  if (path.length > MAX_ODD_PATH_LENGTH) return null;
  const forms = new Set([path]);
  for (const passed of new Set([path, withoutParameters(path), resolved(decodedPath(path))])) {
    const whole = decodedPath(passed);
    for (const decoding of new Set([passed, decodedBySegment(passed), whole, decodedPath(whole)])) {
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

/** A path's plainest form: decoded once, with slashes merged and without dot segments, parameters and trailing slash. */
export function plainestPath(path: string): string {
  return IS_PLAIN.test(path) ? path : resolved(withoutParameters(decodedPath(path)));
}

function withoutParameters(path: string): string {
  return path.replaceAll(/;[^/\\]*/g, "");
}

/** The path with slashes merged, dot segments resolved, and no slash at the end. */
function resolved(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split(/[/\\]/)) {
    if (segment === "" || segment === ".") continue;
    if (segment === "..") segments.pop();
    else segments.push(segment);
  }
  return `/${segments.join("/")}`;
}

/** Like `decodedPath`, except that an encoded slash stays encoded, so segments stay as they are. */
function decodedBySegment(path: string): string {
  return path
    .split(/%2f/i)
    .map((part) => decodedPath(part))
    .join("%2f");
}

/** The escapes of one character: ASCII, or valid UTF-8 (RFC 3629, section 4). So decoding a match never throws. */
const ESCAPES =
  /%[0-7][0-9a-f]|%(?:c[2-9a-f]|d[0-9a-f])%[89ab][0-9a-f]|%(?:e0%[ab][0-9a-f]|ed%[89][0-9a-f]|e[1-9abcef]%[89ab][0-9a-f])%[89ab][0-9a-f]|%(?:f0%[9ab][0-9a-f]|f[1-3]%[89ab][0-9a-f]|f4%8[0-9a-f])(?:%[89ab][0-9a-f]){2}/gi;

/**
 * Decodes valid escapes, character by character, and leaves invalid ones. `decodeURIComponent` rejects the whole text for one
 * invalid escape, and catching an exception for each of thousands of characters would take tens of milliseconds.
 */
export function decodedPath(path: string): string {
  return path.replace(ESCAPES, (escapes) => decodeURIComponent(escapes));
}
