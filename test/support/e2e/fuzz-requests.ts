// Malformed and odd requests for fuzzing the running gateway: generators of header lines, targets, methods and bodies, and an
// independent check of which of them an origin may read as protected.

import fc from "fast-check";
import type { HeaderPair } from "../http.ts";

export interface FuzzRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderPair[];
  readonly body: FuzzBody;
}

export type FuzzBody =
  | { readonly kind: "none" }
  | { readonly kind: "whole"; readonly bytes: Uint8Array; readonly chunked: boolean }
  /** Sent as it is, under these framing headers. */
  | { readonly kind: "raw"; readonly framing: readonly HeaderPair[]; readonly bytes: Uint8Array }
  /** Announced to be longer than it is, and then the connection is reset. */
  | { readonly kind: "truncated"; readonly bytes: Uint8Array; readonly chunked: boolean };

/** Latin-1, without what would end the line: the bytes of a header value as they are sent. */
const anyValue = fc.uint8Array({ maxLength: 40 }).map((bytes) =>
  Buffer.from(bytes)
    .toString("latin1")
    .replaceAll(/[\r\n]/g, " "),
);

const visible = fc.stringMatching(/^[\x21-\x7e]{1,40}$/);

/** What may stand behind `Idempotency-Key:`. */
export const keyValue: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.uuid() },
  visible,
  anyValue,
  visible.map((text) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`),
  visible.map((text) => `"${text}"`),
  visible.map((text) => `"${text}`),
  fc.tuple(visible, visible).map(([one, other]) => `"${one}", "${other}"`),
  fc.tuple(visible, visible).map(([one, other]) => `"${one}";p=${other}`),
  visible.map((text) => `(${text})`),
  visible.map((text) => `:${Buffer.from(text).toString("base64")}:`),
  fc.constantFrom(
    "",
    '""',
    '" "',
    "?1",
    "1",
    "1.5",
    "é",
    '"é"',
    "a b",
    "a,b",
    "@1",
    "\t",
    '"\\"',
    "__proto__",
    "null",
    "../x",
  ),
  fc.integer({ min: 200, max: 9_000 }).map((length) => "k".repeat(length)),
);

/** Header names with a meaning for a component in between, above all itty-durable and the platform. */
const meaningfulName = fc.constantFrom(
  "do-content",
  "do-name",
  "do-target",
  "do-action",
  "x-itty-durable",
  "x-itty",
  "idempotency-attempt",
  "Idempotency-Attempt",
  "idempotent-replayed",
  "idempotency-expires",
  "idempotency-status",
  "cf-connecting-ip",
  "cf-ray",
  "cf-worker",
  "cf-ew-via",
  "mf-custom-url",
  "x-forwarded-host",
  "x-original-url",
  "x-rewrite-url",
  "x-http-method-override",
  "authorization",
  "cookie",
  "te",
  "trailer",
  "keep-alive",
  "proxy-authorization",
  "accept-encoding",
  "content-type",
  "range",
  "if-none-match",
);

const meaningfulValue = fc.constantFrom(
  "[]",
  '["destroy"]',
  '[{"reset":true}]',
  "shard-0-of-4",
  "https://itty-durable/do/call/destroy",
  "/do/call/destroy",
  "GET",
  "999",
  "true",
  "gzip, br",
  "bytes=0-1",
  "*",
);

const connectionLines = fc.constantFrom<readonly HeaderPair[]>(
  [
    ["Connection", "Upgrade"],
    ["Upgrade", "websocket"],
  ],
  [
    ["Connection", "Upgrade"],
    ["Upgrade", "websocket"],
    ["Sec-WebSocket-Version", "13"],
    ["Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="],
  ],
  [
    ["Connection", "Upgrade, HTTP2-Settings"],
    ["Upgrade", "h2c"],
    ["HTTP2-Settings", ""],
  ],
  [["Connection", "close, idempotency-attempt"]],
  [["Connection", "close, idempotency-key, authorization"]],
  [["Connection", "close, content-length, host, transfer-encoding"]],
  [["Expect", "100-continue"]],
  [["Expect", "nonsense"]],
);

const otherLines: fc.Arbitrary<readonly HeaderPair[]> = fc.array(
  fc.tuple(meaningfulName, fc.oneof(meaningfulValue, anyValue)),
  { maxLength: 4 },
);

const keyLines: fc.Arbitrary<readonly HeaderPair[]> = fc.array(
  fc.tuple(fc.constantFrom("Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"), keyValue),
  { minLength: 1, maxLength: 2 },
);

export const headerLines: fc.Arbitrary<readonly HeaderPair[]> = fc
  .tuple(keyLines, otherLines, fc.option(connectionLines, { nil: [], freq: 3 }))
  .map((lines) => lines.flat());

const segment = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "p",
      "P",
      "%70",
      "%50",
      "%2570",
      "free",
      "do",
      "call",
      "inspect",
      "destroy",
      "exchange",
      "x",
    ),
  },
  fc.constantFrom(
    "",
    ".",
    "..",
    "%2e",
    "%2e%2e",
    "%2E.",
    "%2f",
    "%5c",
    "\\",
    "%00",
    ";",
    ";a=b",
    "p;a=b",
    "%3b",
    "*",
    "%",
    "%zz",
    "%ff",
    "%c3%a9",
  ),
  fc.constantFrom(".well-known", "idempotency", "?p", "#", "p#x", "p?x", "@", "a@b", ":80", "cdn-cgi", "__scheduled"),
);

/** Escapes side by side: of some the bytes are no UTF-8, and of some of these the origin does not mind. */
const escapes = fc
  .array(fc.constantFrom("p", "%70", "%2f", "%2e", "%5c", "%3b", "%ff", "%c3", "do"), { minLength: 2, maxLength: 4 })
  .map((pieces) => pieces.join(""));

const path = fc
  .array(fc.oneof({ weight: 5, arbitrary: segment }, escapes), { minLength: 1, maxLength: 6 })
  .map((segments) => `/${segments.join("/")}`);

export const target: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: path },
  fc.constantFrom(
    "/do/call/inspect",
    "/do/call/destroy",
    "https://itty-durable/do/call/destroy",
    "https://itty-durable/do/get-prop/state",
    "http://key-shard/exchange",
    "https://key-shard/1/exchange",
    "//do//call/destroy",
    "//itty-durable/do/call/destroy",
    "/p/../do/call/destroy",
    "/p/%2e%2e/do/call/destroy",
    "/.well-known/idempotency",
    "/.well-known/../p/x",
    "/.well-known/idempotency/..",
    "*",
    "p/x",
    "",
    "https://",
    "http://[::1/p/x",
    "http://a b/p/x",
    "file:///p/x",
    "data:text/plain,x",
  ),
  path.map((text) => `http://itty-durable${text}`),
  path.map((text) => `https://user:pass@gateway.example${text}`),
  fc.tuple(path, anyValue).map(([text, tail]) => text + tail.replaceAll(" ", "")),
  fc.integer({ min: 1_000, max: 20_000 }).map((length) => `/p/${"x".repeat(length)}`),
);

/** Values of the `Host` header; the first is a well-behaved client's. */
export const host: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constant("gateway.example") },
  fc.constantFrom(
    "itty-durable",
    "key-shard",
    "itty-durable:443",
    "a b",
    "[::1",
    "a:99999",
    "a/do/call/destroy",
    "a?b",
    "a#b",
    "@",
    "",
  ),
);

export const method: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("POST", "PATCH", "PUT", "DELETE") },
  fc.constantFrom(
    "GET",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "PROPFIND",
    "PURGE",
    "QUERY",
    "MKCOL",
    "ALL",
    "post",
    "Post",
    "PoST",
  ),
  fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}$/),
);

const bytes = fc.uint8Array({ maxLength: 300 });

export const body: fc.Arbitrary<FuzzBody> = fc.oneof(
  fc.constant<FuzzBody>({ kind: "none" }),
  fc.record({ kind: fc.constant("whole"), bytes, chunked: fc.boolean() }),
  fc.record({ kind: fc.constant("truncated"), bytes, chunked: fc.boolean() }),
  fc.record({
    kind: fc.constant("raw"),
    framing: fc.constantFrom<readonly HeaderPair[]>(
      [["Transfer-Encoding", "chunked"]],
      [["Transfer-Encoding", "gzip, chunked"]],
      [["Transfer-Encoding", "identity"]],
      [
        ["Transfer-Encoding", "chunked"],
        ["Content-Length", "5"],
      ],
      [
        ["Content-Length", "5"],
        ["Content-Length", "6"],
      ],
      [["Content-Length", "-1"]],
      [["Content-Length", "0x5"]],
      [["Content-Length", "99999999999999999999"]],
      [["Content-Length", "3"]],
    ),
    bytes: fc.oneof(
      bytes,
      fc
        .constantFrom(
          "5\r\nhello\r\n0\r\n\r\n",
          "zz\r\nhello\r\n",
          "5\r\nhel",
          "ffffffffffffffffff\r\nx",
          "-5\r\nhello\r\n0\r\n\r\n",
          "5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n",
          "0\r\n\r\nPOST /p/smuggled HTTP/1.1\r\n\r\n",
        )
        .map((text) => Buffer.from(text)),
    ),
  }),
);

/**
 * Whether some origin reads the path as one below `/p` or `/do`: as it is written, with its escapes decoded, in one go or
 * segment by segment, with slashes merged, dot segments resolved and parameters ignored, whatever the letters' case.
 * Written independently of the gateway's rule: if this returns true, the request must have been protected.
 */
export function isProtectedPath(url: string): boolean {
  const written = url.split("?", 1)[0] ?? "";
  const whole = decodeAscii(written);
  const bySegment = written.split("/").map(decodeAscii);
  const plain = whole.replaceAll("\\", "/").replaceAll(/;[^/]*/g, "");
  return [written, whole, resolveDots(plain), ...bySegment.slice(1, 2).map((first) => `/${first}`)].some((form) =>
    /^\/(p|do)([/;]|$)/i.test(form),
  );
}

/** Whether any origin may read the path as a protected one: it contains one, at some place and in some encoding. */
export function resemblesProtectedPath(url: string): boolean {
  const decoded = decodeAscii(decodeAscii(decodeAscii(url.split("?", 1)[0] ?? "")));
  return /(^|[/\\;?#\0])(p|do)([/\\;?#\0]|$)/i.test(decoded);
}

function decodeAscii(text: string): string {
  return text.replaceAll(/%([0-7][0-9a-fA-F])/g, (_escape, hex: string) =>
    String.fromCodePoint(Number.parseInt(hex, 16)),
  );
}

function resolveDots(plain: string): string {
  const resolved: string[] = [];
  for (const part of plain.split("/").filter((one) => one !== "" && one !== ".")) {
    if (part === "..") resolved.pop();
    else resolved.push(part);
  }
  return `/${resolved.join("/")}`;
}
