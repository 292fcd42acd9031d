// The session cookie. Over https its __Host- prefix binds it to this host and to encrypted connections (RFC 6265bis, section
// 4.1.3.2), so that no other host can set it. Over plain http there is only a session on loopback, under another name, so that
// neither is ever mistaken for the other.

import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { isLoopback } from "../../kernel/config/values.ts";
import { SESSION_COOKIE as NAME } from "../../kernel/request/session-cookie.ts";
import { SESSION_MS } from "./session.ts";

/** Whether a token and a session may travel on this connection. */
export function isPrivate(c: Context): boolean {
  return isEncrypted(c) || isLoopback(new URL(c.req.url).hostname);
}

export function sessionCookie(c: Context): string | undefined {
  return isEncrypted(c) ? getCookie(c, NAME, "host") : getCookie(c, NAME);
}

export function setSessionCookie(c: Context, value: string): void {
  const lasting = { ...attributes(c), maxAge: SESSION_MS / 1000 };
  if (isEncrypted(c)) setCookie(c, NAME, value, { ...lasting, prefix: "host" });
  else setCookie(c, NAME, value, lasting);
}

export function dropSessionCookie(c: Context): void {
  deleteCookie(c, isEncrypted(c) ? `__Host-${NAME}` : NAME, attributes(c));
}

function attributes(c: Context) {
  return { path: "/", httpOnly: true, sameSite: "Strict", secure: isEncrypted(c) } as const;
}

/**
 * A proxy in front may terminate TLS and says so in this header. A client that forges the header gets a cookie that its
 * browser does not store.
 */
function isEncrypted(c: Context): boolean {
  return new URL(c.req.url).protocol === "https:" || c.req.header("X-Forwarded-Proto") === "https";
}
