// Whether a `Host` header names a host. workerd makes a request's URL of it and the target, so that `Host: x/_onceway/health?`
// would be a path, and two lines would be one host.

/**
 * An authority without credentials (RFC 9112, section 3.2; RFC 3986, section 3.2.2). Neither escapes nor commas: no name in use
 * has them, the URL parser decodes the first, and several lines arrive joined by the second.
 */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+;=-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** `null`: there is none, as in a call from another Worker. */
export function isHost(host: string | null): boolean {
  return host === null || HOST.test(host);
}

/** The name alone, in lower case, as it was sent: the URL parser would make `ops` of other spellings too. */
export function hostname(host: string | null): string | null {
  return host === null ? null : host.replace(/:\d*$/, "").toLowerCase();
}
