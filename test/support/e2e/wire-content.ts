// The parts of requests and answers in the differential tests: header values and bodies, in each framing.

import fc from "fast-check";
import type { HeaderPair } from "../http.ts";

/** Latin-1: what of it is no ASCII is a byte of its own. */
export const value = fc.constantFrom(
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

export interface Content {
  readonly headers: readonly HeaderPair[];
  readonly body: string;
}

export const text = fc.constantFrom("", "x", '{"amount":1}', "\0\x01\xff\r\n\r\n", "long ".repeat(2_000));

export function chunksOf(pieces: readonly string[], extension: string, trailer: string): string {
  const chunks = pieces
    .filter((piece) => piece !== "")
    .map((piece) => `${piece.length.toString(16)}${extension}\r\n${piece}\r\n`);
  return `${chunks.join("")}0\r\n${trailer}\r\n`;
}

/** A body under either framing, empty ones among them. */
export const framedContent: fc.Arbitrary<Content> = fc.oneof(
  text.map((body): Content => ({ headers: [["Content-Length", String(body.length)]], body })),
  fc
    .tuple(fc.array(text, { maxLength: 3 }), fc.constantFrom("", ";a=b"), fc.constantFrom("", "X-Late: yes\r\n"))
    .map((drawn): Content => ({ headers: [["Transfer-Encoding", "chunked"]], body: chunksOf(...drawn) })),
);

export function linesOf(headers: readonly HeaderPair[]): string {
  return headers.map(([name, line]) => `${name}: ${line}\r\n`).join("");
}
