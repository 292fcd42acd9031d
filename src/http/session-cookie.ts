// The console's session cookie, as far as it concerns everybody else: a browser sends it with each request to the host, and
// whoever has it is an operator. So no origin gets it, and no scope, fingerprint or stored header is made of it.

/** Over plain http; over https with the prefix, which binds it to its host (RFC 6265bis, section 4.1.3.2). */
export const SESSION_COOKIE = "onceway";

/** With what stands before it. Two `Cookie` lines arrive joined by a comma, so a comma ends a value too, and may begin one. */
const SESSION_PAIR = new RegExp(`(^|[;,])[ \\t]*(?:__Host-|__Secure-)?${SESSION_COOKIE}[ \\t]*=[^;,]*`, "g");

/** The request as everybody else may see it: the same one, unless it carries a session. */
export function withoutSession(request: Request): Request {
  const cookies = request.headers.get("cookie");
  const others = cookies === null ? null : withoutSessionCookie(cookies);
  if (others === cookies) return request;
  const headers = new Headers(request.headers);
  headers.delete("cookie");
  if (others !== null) headers.set("cookie", others);
  return new Request(request, { headers });
}

/** The other cookies, byte for byte; `null` where there is none. */
export function withoutSessionCookie(cookies: string): string | null {
  if (!cookies.includes(SESSION_COOKIE)) return cookies;
  const others = cookies.replace(SESSION_PAIR, "");
  if (others === cookies) return cookies;
  // What stood behind the first one stands at the beginning now.
  const left = cookies.startsWith(others) ? others : others.replace(/^[;,][ \t]*/, "");
  return left.trim() === "" ? null : left;
}
