// Why a server gave no answer, in words that say what to do, instead of the codes of Node and OpenSSL.

/** Codes of errors that end a connection before a request is sent, and what they mean. */
const BEFORE_SENDING: readonly (readonly [code: RegExp, meaning: string])[] = [
  [/^ECONNREFUSED$/, "nothing listens there: check the URL, and that the server is running"],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, "there is no host of that name: check the URL"],
  [/^(?:EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/, "no network leads there: check the URL"],
  [/^(?:EPROTO|ERR_SSL_)/, "it speaks no TLS there: write http://, or the port of HTTPS"],
  [
    /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT)/,
    "its certificate is not trusted: name the file of your authority in NODE_EXTRA_CA_CERTS",
  ],
];

export interface UnreachedTarget {
  /** One line. */
  readonly reason: string;
  /** Certainly nothing of the request has reached a server. */
  readonly isUnsent: boolean;
}

export function unreachedTarget(error: unknown): UnreachedTarget {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const text = (cause instanceof Error ? cause.message : String(cause)).trim();
  const code: unknown = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const meaning = typeof code === "string" ? BEFORE_SENDING.find(([form]) => form.test(code))?.[1] : undefined;
  if (meaning === undefined) return { reason: text.replaceAll(/\s+/g, " "), isUnsent: false };
  // What OpenSSL says names a line of its source.
  const what = /openssl/i.test(text) ? String(code) : text;
  return { reason: `${what}: ${meaning}`, isUnsent: true };
}
