// Checks that a `Host` header is a plain host. workerd joins it with the target to make a request's URL, so a
// header `x/_onceway/health?` would add a path, and two lines would become one host.

/**
 * An authority without credentials (RFC 9112, section 3.2; RFC 3986, section 3.2.2). Escapes and commas are not allowed, because
 * no name in use has them, the URL parser decodes escapes, and several lines arrive joined by a comma.
 */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+;=-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** Whether the header is a valid host. `null`, no header at all, is valid: a call from another Worker has none. */
export function isHost(host: string | null): boolean {
  return host === null || HOST.test(host);
}

/**
 * The host without its port, in lower case. It comes from the header as sent, because the URL parser would turn other spellings
 * into the same name.
 */
export function hostname(host: string | null): string | null {
  return host === null ? null : host.replace(/:\d*$/, "").toLowerCase();
}
