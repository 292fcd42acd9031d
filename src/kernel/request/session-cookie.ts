// Removes the console's session cookie from requests. A browser sends it with every request to the host, and whoever has it is
// an operator. So no origin may get it, and no scope, fingerprint or stored header may contain it.

/** The name over plain HTTP. Over HTTPS it gets the prefix `__Host-`, which binds it to its host (RFC 6265bis, section 4.1.3.2). */
export const SESSION_COOKIE = "onceway";

/** The cookie and the separator before it. A comma separates cookies too, because two `Cookie` lines arrive joined by one. */
const SESSION_PAIR = new RegExp(`(^|[;,])[ \\t]*(?:__Host-|__Secure-)?${SESSION_COOKIE}[ \\t]*=[^;,]*`, "g");

/** The request without a session cookie: the same object if it has none. */
export function withoutSession(request: Request): Request {
  const cookies = request.headers.get("cookie");
  const others = cookies === null ? null : withoutSessionCookie(cookies);
  if (others === cookies) return request;
  const headers = new Headers(request.headers);
  headers.delete("cookie");
  if (others !== null) headers.set("cookie", others);
  return new Request(request, { headers });
}

/** The other cookies, byte for byte; `null` if there are none. */
export function withoutSessionCookie(cookies: string): string | null {
  if (!cookies.includes(SESSION_COOKIE)) return cookies;
  const others = cookies.replace(SESSION_PAIR, "");
  if (others === cookies) return cookies;
  // If the session cookie was the first, the rest now begins with a separator.
  const left = cookies.startsWith(others) ? others : others.replace(/^[;,][ \t]*/, "");
  return left.trim() === "" ? null : left;
}
