// Requests and answers of all kinds that HTTP/1.1 knows, for the differential tests: drawn from a seed, so that a run can be
// had again.

import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { HeaderPair } from "../../support/http.ts";
import { CASE_HEADER, type WireAnswer } from "./wire-origin.ts";
import type { WireCase } from "./wire-ways.ts";

export interface CaseKind {
  readonly methods: readonly string[];
  /** Every target begins with it. */
  readonly prefix: string;
  /** Further headers of each request. */
  headers(): readonly HeaderPair[];
  readonly statuses: readonly number[];
}

/** As many cases, from this seed. */
export function wireCases(kind: CaseKind, count: number, seed: number): readonly WireCase[] {
  return fc.sample(requestOf(kind), { numRuns: count, seed }).map((drawn) => {
    const id = randomUUID();
    return {
      ...drawn,
      id,
      headers: [["Host", "api.example.com"], [CASE_HEADER, id], ...kind.headers(), ...drawn.headers],
    };
  });
}

const segment = fc.constantFrom(
  ..."a,B,0,~,%7e,%7E,%41,%20,+,%2f,%2F,%5c,\\,.,..,%2e,%2E%2e,;x=1,:,@,!$&'()*,=,[x],{x},|,^,`,\",<>,%,%zz,%ff,%00,%c3%a9".split(
    ",",
  ),
  "é",
  "",
  "a,b",
);
const path = fc.array(segment, { maxLength: 4 }).map((segments) => segments.map((one) => `/${one}`).join(""));
const query = fc.constantFrom(
  "",
  "",
  "?",
  "?a=1&b=2",
  "?a=%20+b",
  "?a=b c",
  "?'\"<>",
  "?é",
  "?%zz",
  "?a=/../b",
  "#f",
  "?q#f",
  "??",
);

/** Latin-1: what of it is no ASCII is a byte of its own. */
const value = fc.constantFrom(
  "a",
  "",
  "a, b",
  "a  b",
  'a;b="c"',
  "caf\xc3\xa9",
  "caf\xe9",
  "\xff\xfe",
  "x".repeat(2_000),
  "\ta",
  "*/*",
);

const requestHeader: fc.Arbitrary<readonly HeaderPair[]> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom("X-One", "x-one", "X_ONE", "Accept", "User-Agent", "Referer", "Via", "X-Forwarded-For"),
      value,
    )
    .map((line) => [line]),
  fc.tuple(value, value).map(([one, other]): HeaderPair[] => [
    ["X-Twice", one],
    ["x-twice", other],
  ]),
  fc.constantFrom<HeaderPair[]>(
    [["Cookie", "a=1; b=2"]],
    [
      ["Cookie", "a=1"],
      ["Cookie", "b=2"],
    ],
    [["Authorization", "Bearer x"]],
    [["Accept-Encoding", "gzip, br"]],
    [["Accept-Encoding", "identity"]],
    [["Range", "bytes=0-1"]],
    [["If-None-Match", 'W/"a", "b"']],
    [["If-Modified-Since", "Thu, 01 Jan 2026 00:00:00 GMT"]],
    [["Content-Type", "application/json"]],
    [["Content-Encoding", "gzip"]],
    [["Expect", "100-continue"]],
    [["TE", "trailers"]],
    [["Connection", "keep-alive"]],
    [
      ["Connection", "close, X-Hop"],
      ["X-Hop", "1"],
    ],
    [["Keep-Alive", "timeout=5"]],
    [["Proxy-Authorization", "Basic x"]],
    [["Proxy-Connection", "keep-alive"]],
    [["Max-Forwards", "3"]],
    [["X-Forwarded-Host", "claimed.example"]],
    [["X-Forwarded-Proto", "https"]],
    [["Forwarded", "host=claimed.example"]],
    [["Idempotency-Attempt", "7"]],
    [["CF-Connecting-IP", "192.0.2.1"]],
    [["CDN-Loop", "elsewhere"]],
    [["Date", "Thu, 01 Jan 2026 00:00:00 GMT"]],
    [["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]],
    [["Upgrade", "h2c"]],
    [["Trailer", "X-Late"]],
  ),
);

interface Content {
  readonly headers: readonly HeaderPair[];
  readonly body: string;
}

const text = fc.constantFrom("", "x", '{"amount":1}', "\0\x01\xff\r\n\r\n", "long ".repeat(2_000));

function chunksOf(pieces: readonly string[], extension: string, trailer: string): string {
  const chunks = pieces
    .filter((piece) => piece !== "")
    .map((piece) => `${piece.length.toString(16)}${extension}\r\n${piece}\r\n`);
  return `${chunks.join("")}0\r\n${trailer}\r\n`;
}

/** A body under either framing, empty ones among them. */
const framedContent: fc.Arbitrary<Content> = fc.oneof(
  text.map((body): Content => ({ headers: [["Content-Length", String(body.length)]], body })),
  fc
    .tuple(fc.array(text, { maxLength: 3 }), fc.constantFrom("", ";a=b"), fc.constantFrom("", "X-Late: yes\r\n"))
    .map((drawn): Content => ({ headers: [["Transfer-Encoding", "chunked"]], body: chunksOf(...drawn) })),
);

const content: fc.Arbitrary<Content> = fc.oneof(fc.constant({ headers: [], body: "" }), framedContent, framedContent);

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

/** Says that the connection ends: one that ended without a word might be taken for the next request meanwhile. */
const CLOSE: HeaderPair = ["Connection", "close"];

type AnswerContent = Content & Pick<WireAnswer, "then">;

function answerContent(method: string, status: number): fc.Arbitrary<AnswerContent> {
  const ending = fc.constantFrom<WireAnswer["then"]>("stays", "stays", "ends");
  const ended = ([{ headers, body }, then]: [Content, WireAnswer["then"]]): AnswerContent =>
    then === "ends" ? { headers: [...headers, CLOSE], body, then } : { headers, body, then };
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
    text.map((body): AnswerContent => ({ headers: [], body, then: "ends" })),
    fc.constantFrom<AnswerContent>(
      {
        headers: [
          ["Content-Encoding", "gzip"],
          ["Content-Length", String(GZIPPED.length)],
        ],
        body: GZIPPED,
        then: "stays",
      },
      {
        headers: [
          ["Content-Encoding", "br"],
          ["Content-Length", "3"],
        ],
        body: "bad",
        then: "stays",
      },
      {
        headers: [
          ["Content-Encoding", "gzip"],
          ["Transfer-Encoding", "chunked"],
        ],
        body: chunksOf([GZIPPED], "", ""),
        then: "stays",
      },
      // Cut short.
      { headers: [["Content-Length", "9"]], body: "half", then: "ends" },
      { headers: [["Content-Length", "9"]], body: "half", then: "is reset" },
      { headers: [["Transfer-Encoding", "chunked"]], body: "9\r\nhalf", then: "ends" },
      { headers: [["Transfer-Encoding", "chunked"]], body: "9\r\nhalf", then: "is reset" },
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

function answerOf(method: string, statuses: readonly number[]): fc.Arbitrary<WireAnswer> {
  const drawn = fc.constantFrom(...statuses).chain((status) =>
    fc.record({
      before: interim,
      status: fc.constant(status),
      phrase: reason,
      headers: fc.array(responseHeader, { maxLength: 3 }),
      ending: answerContent(method, status),
    }),
  );
  return drawn.map(({ before, status, phrase, headers, ending: { headers: framing, body, then } }) => {
    const head = `HTTP/1.1 ${status} ${phrase}\r\n${linesOf([...headers.flat(), ...framing])}\r\n`;
    return { bytes: before + head + body, then };
  });
}

const UPGRADE: readonly HeaderPair[] = [
  ["Connection", "Upgrade"],
  ["Upgrade", "websocket"],
  ["Sec-WebSocket-Version", "13"],
  ["Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="],
];

/** A WebSocket that is opened, and one that is refused. */
const upgrade: fc.Arbitrary<Content & { readonly answer: WireAnswer }> = fc.constantFrom(
  {
    headers: UPGRADE,
    body: "",
    answer: {
      bytes: `HTTP/1.1 101 Switching\r\n${linesOf([
        ["Connection", "Upgrade"],
        ["Upgrade", "websocket"],
        ["X-Answer", "yes"],
      ])}`,
      then: "is a WebSocket" as const,
    },
  },
  {
    headers: UPGRADE,
    body: "",
    answer: { bytes: "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", then: "stays" as const },
  },
);

type Drawn = Omit<WireCase, "id">;

function requestOf({ methods, prefix, statuses }: CaseKind): fc.Arbitrary<Drawn> {
  const target = fc.tuple(path, query).map(([before, after]) => `${prefix}${before}${after}`);
  const headers = fc.array(requestHeader, { maxLength: 4 }).map((lines) => lines.flat());
  const usual = fc.constantFrom(...methods).chain((method) =>
    fc
      .tuple(target, headers, content, answerOf(method, statuses))
      .map(([to, lines, { headers: framing, body }, answer]): Drawn => ({
        method,
        target: to,
        headers: [...lines, ...framing],
        body,
        answer,
      })),
  );
  if (!methods.includes("GET")) return usual;
  const upgrades = fc.tuple(target, upgrade).map(([to, { headers: lines, body, answer }]): Drawn => ({
    method: "GET",
    target: to,
    headers: lines,
    body,
    answer,
  }));
  return fc.oneof({ weight: 30, arbitrary: usual }, { weight: 1, arbitrary: upgrades });
}

function linesOf(headers: readonly HeaderPair[]): string {
  return headers.map(([name, text]) => `${name}: ${text}\r\n`).join("");
}
