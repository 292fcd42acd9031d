// Every form of answer is stored and replayed exactly: statuses with and without a body, status texts, repeated headers, ranges
// and multipart bodies; and, as a property, any status, headers and bytes.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, type HeaderPair, headerValue, type RawResponse } from "../../../support/http.ts";
import type { Behaviour } from "../../../support/origin.ts";
import { expectFirstAnswer, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

let scene: Scene;
beforeAll(async () => {
  // No status is anything but a result here, and a replay leaves nothing out.
  const all = { refused: [], ambiguous: [], omit_headers: [] };
  scene = await startScene({ shards: 1 }, [
    { path: "/plain", ...all },
    { path: "/omits", omit_headers: ["set-cookie", "x-secret"] },
  ]);
});
afterAll(() => scene.close());

interface Exchange {
  readonly first: RawResponse;
  readonly replay: RawResponse;
}

/** The first answer and its replay, which must be the same; the origin acts once. */
async function exchange(path: string, behaviour: Behaviour, omitted: readonly string[] = []): Promise<Exchange> {
  const key = freshKey();
  await scene.origin.behave({ key }, { sequence: [behaviour, { status: 599, body: "a second effect" }] });
  const first = await scene.send({ path, key });
  const replay = await scene.send({ path, key });
  expectFirstAnswer(first, behaviour.status ?? 200);
  expectReplay(replay, first, omitted);
  expect(await scene.origin.effects(key)).toBe(1);
  return { first, replay };
}

/**
 * Each name once, with its values as RFC 9110 section 5.3 joins them, where empty elements say nothing (5.6.1); `Set-Cookie`
 * is the one that may not be joined.
 */
function byName(headers: readonly HeaderPair[], names: readonly string[]): Record<string, readonly string[]> {
  const valuesOf = (wanted: string): readonly string[] =>
    headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
  const elements = (values: readonly string[]): readonly string[] =>
    values.flatMap((value) => value.split(",").map((element) => element.trim())).filter((element) => element !== "");
  return Object.fromEntries(
    names
      .map((name) => name.toLowerCase())
      .map((name) => [name, name === "set-cookie" ? valuesOf(name) : elements(valuesOf(name))]),
  );
}

const boundary = [
  "--cut\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/8\r\n\r\nab\r\n",
  "--cut\r\nContent-Type: text/plain\r\nContent-Range: bytes 6-7/8\r\n\r\ngh\r\n--cut--\r\n",
].join("");

const FORMS: readonly (readonly [name: string, behaviour: Behaviour])[] = [
  ["200, empty", { status: 200, body: "" }],
  ["200, empty and chunked", { status: 200, body: "", chunked: true }],
  ["201 with a text of its own", { status: 201, statusText: "Made By Hand", body: "made" }],
  ["200 with the text of another", { status: 200, statusText: "Not Found", body: "found" }],
  ["204", { status: 204 }],
  ["204 with a text of its own", { status: 204, statusText: "Nothing To Say" }],
  ["205", { status: 205 }],
  ["205 without a length", { status: 205, chunked: true }],
  ["206, one range", { status: 206, headers: [["Content-Range", "bytes 2-3/8"]], body: "cd" }],
  [
    "206, two ranges",
    { status: 206, headers: [["Content-Type", "multipart/byteranges; boundary=cut"]], body: boundary },
  ],
  [
    "206, two ranges, chunked",
    { status: 206, headers: [["Content-Type", "multipart/byteranges; boundary=cut"]], body: boundary, chunked: true },
  ],
  ...([300, 301, 302, 303, 307, 308] as const).flatMap((status): [string, Behaviour][] => [
    [`${status} with a body`, { status, headers: [["Location", "/elsewhere?a=b#c"]], body: "this way" }],
    [`${status}, empty`, { status, headers: [["Location", "https://elsewhere.invalid/"]] }],
  ]),
  ["304", { status: 304, headers: [["ETag", 'W/"1"']] }],
  [
    "304 with a length",
    {
      status: 304,
      headers: [
        ["ETag", '"1"'],
        ["Content-Length", "42"],
      ],
    },
  ],
  ["402 with a body", { status: 402, body: "pay" }],
  ["500, chunked", { status: 500, body: "broken", chunked: true }],
  ["503 where it is a result", { status: 503, headers: [["Retry-After", "7"]], body: "later" }],
  ["599", { status: 599, statusText: "Odd", body: "odd" }],
  [
    "repeated headers",
    {
      headers: [
        ["X-Many", "one"],
        ["X-Between", "b"],
        ["X-Many", "two"],
        ["x-many", "three"],
        ["Vary", "a"],
        ["Vary", "b"],
      ],
    },
  ],
  [
    "repeated cookies",
    {
      headers: [
        ["Set-Cookie", "a=1; Path=/"],
        ["Set-Cookie", "b=2, c"],
        ["Set-Cookie", "a=3"],
      ],
    },
  ],
  ["an empty header", { headers: [["X-Empty", ""]] }],
  ["a large header", { headers: [["X-Large", "v".repeat(20_000)]] }],
];

describe("forms of an answer", () => {
  it.each(FORMS)("%s", async (_name, behaviour) => {
    const { first } = await exchange("/plain", behaviour);
    if (behaviour.statusText !== undefined) expect(first.statusText).toBe(behaviour.statusText);
    expect(first.body.toString()).toBe(behaviour.body ?? "");
    const sent = (behaviour.headers ?? []).filter(([name]) => name !== "Content-Length");
    const names = sent.map(([name]) => name);
    expect(byName(first.headers, names)).toEqual(byName(sent, names));
    const length = headerValue(first, "content-length");
    if (first.status === 204) expect(length).toBeNull();
  });

  it("keeps the order of header names", async () => {
    const names = ["X-C", "X-A", "X-B", "ETag"];
    const { first, replay } = await exchange("/plain", { headers: names.map((name) => [name, name]) });
    const order = ({ headers }: RawResponse): string[] =>
      headers.map(([name]) => name.toLowerCase()).filter((name) => names.some((sent) => sent.toLowerCase() === name));
    expect(order(replay)).toEqual(order(first));
    expect(order(first)).toHaveLength(names.length);
  });

  it("leaves out of a replay only the headers that the route omits", async () => {
    const headers: [string, string][] = [
      ["Set-Cookie", "a=1"],
      ["X-Secret", "s"],
      ["X-Open", "o"],
      ["Set-Cookie", "b=2"],
    ];
    const { first } = await exchange("/omits", { headers, body: "x" }, ["set-cookie", "x-secret"]);
    expect(byName(first.headers, ["Set-Cookie", "X-Secret"])).toEqual({
      "set-cookie": ["a=1", "b=2"],
      "x-secret": ["s"],
    });
  });
});

/** What an origin may not say, and what is between two neighbours only; the fixed forms above have those. */
const NOT_SHOWN =
  /^(connection|content-length|date|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|idempotency-.*|idempotent-.*|set-cookie2?)$/;

const headerName = fc
  .stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,24}$/)
  .filter((name) => !NOT_SHOWN.test(name.toLowerCase()));
/** Visible ASCII, with spaces and tabs inside. */
const headerText = fc.stringMatching(/^([!-~]([\t -~]{0,40}[!-~])?)?$/);
const headerPair = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.oneof({ weight: 4, arbitrary: headerName }, fc.constantFrom("Vary", "X-Again")), headerText),
  },
  // An empty Set-Cookie sets none (RFC 6265, section 5.2); the runtime does not show it.
  fc.tuple(
    fc.constant("Set-Cookie"),
    headerText.filter((text) => text !== ""),
  ),
);
const status = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 200, max: 599 }) },
  fc.constantFrom(200, 204, 205, 206, 304, 301, 408, 429, 503, 599),
);
const anyAnswer = fc.record({
  status,
  statusText: fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
  headers: fc.array(headerPair, { maxLength: 12 }),
  body: fc.uint8Array({ maxLength: 3_000, size: "max" }),
  chunked: fc.boolean(),
});

/** About as many as a few seconds hold. */
const RUNS = 200;

describe("any answer", () => {
  it("is stored and replayed exactly: status, text, headers and bytes", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, async ({ body, headers, ...line }) => {
        const hasBody = ![204, 205, 304].includes(line.status);
        const bytes = Buffer.from(hasBody ? body : []);
        const given = headers.filter(([name]) => !/^content-type$/i.test(name));
        const { first } = await exchange("/plain", { ...line, headers: given, bodyBase64: bytes.toString("base64") });
        expect(first.statusText).toBe(line.statusText);
        expect(first.body.equals(bytes)).toBe(true);
        const names = given.map(([name]) => name);
        expect(byName(first.headers, names)).toEqual(byName(given, names));
      }),
      { numRuns: RUNS },
    );
  });
});
