// Answers of all kinds for the differential tests, as bytes: statuses, phrases, headers, framings, content codings, bodies
// that are cut short, interim answers before them.

import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { HeaderPair } from "../http.ts";
import { chunksOf, type Content, framedContent, linesOf, text, value } from "./wire-content.ts";
import type { WireAnswer } from "./wire-origin.ts";

const responseHeader: fc.Arbitrary<readonly HeaderPair[]> = fc.oneof(
  fc.tuple(fc.constantFrom("X-One", "x-one", "X_ONE", "ETag", "Server", "Via", "Warning"), value).map((line) => [line]),
  fc.tuple(value, value).map(([one, other]): HeaderPair[] => [
    ["X-Twice", one],
    ["x-twice", other],
  ]),
  fc.constantFrom<HeaderPair[]>(
    [
      ["Set-Cookie", "a=1; Path=/"],
      ["Set-Cookie", "b=2"],
    ],
    [["Set-Cookie", ""]],
    [["Location", "/elsewhere"]],
    [["Location", "../x y"]],
    [["Location", ""]],
    [["Content-Type", "text/html; charset=utf-8"]],
    [["Cache-Control", "no-store"]],
    [["Vary", "*"]],
    [["Date", "Thu, 01 Jan 2026 00:00:00 GMT"]],
    [["Retry-After", "3"]],
    [["WWW-Authenticate", "Basic"]],
    [
      ["Link", "<a>; rel=next"],
      ["Link", "<b>; rel=prev"],
    ],
    [
      ["Connection", "X-Hop"],
      ["X-Hop", "1"],
    ],
    [["Keep-Alive", "timeout=5"]],
    [["Upgrade", "h2c"]],
    [["Trailer", "X-Late"]],
    [["Proxy-Authenticate", "Basic"]],
    [["Idempotency-Key", "faked"]],
    [["Idempotent-Replayed", "true"]],
    [["Idempotency-Expires", "Thu, 01 Jan 2026 00:00:00 GMT"]],
    [["X-Should-Retry", "true"]],
    [["Content-Range", "bytes 0-1/2"]],
  ),
);

const GZIPPED = gzipSync("coded ".repeat(100)).toString("latin1");

/** Announces the end of the connection; otherwise the runtime might reuse it for the next request. */
const CLOSE: HeaderPair = ["Connection", "close"];

type AnswerContent = Content & Pick<WireAnswer, "after">;

function answerContent(method: string, status: number): fc.Arbitrary<AnswerContent> {
  const ending = fc.constantFrom<WireAnswer["after"]>("stays", "stays", "ends");
  const ended = ([{ headers, body }, after]: [Content, WireAnswer["after"]]): AnswerContent =>
    after === "ends" ? { headers: [...headers, CLOSE], body, after } : { headers, body, after };
  if (method === "HEAD" || status === 204 || status === 304) {
    const framing = fc.constantFrom<HeaderPair[]>(
      [],
      [["Content-Length", "0"]],
      [["Content-Length", "4"]],
      [["Transfer-Encoding", "chunked"]],
    );
    // RFC 9110, section 8.6, and RFC 9112, section 6.1: neither with a 204.
    return fc
      .tuple(
        framing.map((headers) => ({ headers: status === 204 ? [] : headers, body: "" })),
        ending,
      )
      .map(ended);
  }
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(framedContent, ending).map(ended) },
    text.map((body): AnswerContent => ({ headers: [], body, after: "ends" })),
    fc.constantFrom<AnswerContent>(
      {
        headers: [
          ["Content-Encoding", "gzip"],
          ["Content-Length", String(GZIPPED.length)],
        ],
        body: GZIPPED,
        after: "stays",
      },
      {
        headers: [
          ["Content-Encoding", "br"],
          ["Content-Length", "3"],
        ],
        body: "bad",
        after: "stays",
      },
      {
        headers: [
          ["Content-Encoding", "gzip"],
          ["Transfer-Encoding", "chunked"],
        ],
        body: chunksOf([GZIPPED], "", ""),
        after: "stays",
      },
      // Cut short.
      { headers: [["Content-Length", "9"]], body: "half", after: "ends" },
      { headers: [["Content-Length", "9"]], body: "half", after: "is reset" },
      { headers: [["Transfer-Encoding", "chunked"]], body: "9\r\nhalf", after: "ends" },
      { headers: [["Transfer-Encoding", "chunked"]], body: "9\r\nhalf", after: "is reset" },
    ),
  );
}

const interim = fc.constantFrom(
  "",
  "",
  "",
  "",
  "HTTP/1.1 103 Early Hints\r\nLink: <a>; rel=preload\r\n\r\n",
  "HTTP/1.1 102 Processing\r\n\r\n",
);
const reason = fc.constantFrom("OK", "OK", "Very Fine", "", "caf\xc3\xa9", "caf\xe9");

export function answerOf(method: string, statuses: readonly number[]): fc.Arbitrary<WireAnswer> {
  const drawn = fc.constantFrom(...statuses).chain((status) =>
    fc.record({
      before: interim,
      status: fc.constant(status),
      phrase: reason,
      headers: fc.array(responseHeader, { maxLength: 3 }),
      ending: answerContent(method, status),
    }),
  );
  return drawn.map(({ before, status, phrase, headers, ending: { headers: framing, body, after } }) => {
    const head = `HTTP/1.1 ${status} ${phrase}\r\n${linesOf([...headers.flat(), ...framing])}\r\n`;
    return { bytes: before + head + body, after };
  });
}
