// Requests of all kinds in HTTP/1.1, each with its answer, for the differential tests. Drawn from a seed, so that a run can be
// repeated.

import { randomUUID } from "node:crypto";
import fc from "fast-check";
import type { HeaderPair } from "../http.ts";
import { answerOf } from "./wire-answers.ts";
import { type Content, framedContent, linesOf, value } from "./wire-content.ts";
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
  const drawn = fc.sample(requestOf(kind), { numRuns: count, seed });
  return drawn.map(({ method, target, headers, body, answer }) => {
    const id = randomUUID();
    const lines: HeaderPair[] = [["Host", "api.example.com"], [CASE_HEADER, id], ...kind.headers(), ...headers];
    return { id, method, target, headers: lines, body, answer };
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
    [["X_Forwarded_Host", "claimed.example"]],
    [["X_Forwarded_For", "192.0.2.1"]],
    [["Idempotency_Attempt", "7"]],
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

const content: fc.Arbitrary<Content> = fc.oneof(fc.constant({ headers: [], body: "" }), framedContent, framedContent);

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
      after: "is a WebSocket" as const,
    },
  },
  {
    headers: UPGRADE,
    body: "",
    answer: { bytes: "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", after: "stays" as const },
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
