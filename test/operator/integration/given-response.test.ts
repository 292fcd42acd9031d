import { describe, expect, it } from "vitest";
import { contradictionIn, previewOf } from "../../../src/operator/given-response.ts";
import type { GivenResponse } from "../../../src/operator/given-response.ts";

const JSON_TYPE = ["content-type", "application/json"] as const;
const GZIP = ["content-encoding", "gzip"] as const;

type Given = Partial<Omit<GivenResponse, "body">> & { readonly text?: string; readonly bytes?: readonly number[] };

function givenOf({ status = 201, headers = [], text = "", bytes }: Given): GivenResponse {
  return { status, headers, body: bytes === undefined ? new TextEncoder().encode(text) : Uint8Array.from(bytes) };
}

const contradictionOf = (given: Given): string | null => contradictionIn(givenOf(given), given.bytes === undefined);

describe("a response that an operator gives", () => {
  it.each<[string, Given, string]>([
    ["JSON that breaks off", { headers: [JSON_TYPE], text: '{"id":"pay_88101"' }, "not JSON"],
    ["no body under a JSON type", { headers: [JSON_TYPE] }, "not JSON"],
    [
      "JSON with a type of its own",
      { headers: [["Content-Type", "application/problem+json"]], text: "no" },
      "not JSON",
    ],
    ["JSON with parameters", { headers: [["content-type", "Application/JSON; charset=utf-8"]], text: "{" }, "not JSON"],
    ["JSON that is no UTF-8", { headers: [JSON_TYPE], bytes: [34, 255, 34] }, "not JSON"],
    ["two types", { headers: [JSON_TYPE, ["Content-Type", "text/plain"]], text: "1" }, "more than once"],
    ["a type that is none", { headers: [["content-type", "json"]], text: "1" }, "not a media type"],
    ["a coded text", { headers: [GZIP], text: "1" }, "given as text"],
    ["gzip that is none", { headers: [GZIP], bytes: [0x31] }, "not gzip"],
    ["half of what gzip begins with", { headers: [GZIP], bytes: [0x1f, 0] }, "not gzip"],
    ["a body where there is none", { status: 304, text: "1" }, "has no body"],
  ])("contradicts itself: %s", (_what, given, why) => {
    expect(contradictionOf(given)).toContain(why);
  });

  it.each<[string, Given]>([
    ["JSON", { headers: [JSON_TYPE], text: ' {"id":1} ' }],
    ["no body, and none allowed", { status: 204, headers: [JSON_TYPE] }],
    ["JSON in gzip", { headers: [JSON_TYPE, GZIP], bytes: [0x1f, 0x8b, 8] }],
    ["nothing in gzip", { headers: [GZIP], bytes: [] }],
    ["text that says that it is not coded", { headers: [["content-encoding", " Identity"]], text: "1" }],
    ["bytes", { headers: [["content-type", "image/png"]], bytes: [0, 255] }],
    ["nothing but a status", {}],
  ])("does not contradict itself: %s", (_what, given) => {
    expect(contradictionOf(given)).toBeNull();
  });

  it.each<[Given, readonly string[]]>([
    [{ status: 302 }, ["A redirect without a location header.", "The body is empty."]],
    [{ text: "x" }, ["A body without a content-type header."]],
    [{ status: 204 }, []],
    [
      { headers: [["content-encoding", "br"]], bytes: [0] },
      [expect.any(String), expect.stringContaining("not checked")],
    ],
    [{ status: 399, headers: [JSON_TYPE], text: "1" }, []],
    [{ status: 400, headers: [JSON_TYPE], text: "1" }, [expect.stringContaining("Status 400 tells every retry")]],
  ])("is previewed with warnings of what is unusual: %j", (given, warnings) => {
    expect(previewOf(givenOf(given), []).warnings).toEqual(warnings);
  });

  it("is previewed without the headers that its route omits, each named once", () => {
    const cookies = [["Set-Cookie", "a=1"] as const, ["Set-Cookie", "b=2"] as const];
    expect(previewOf(givenOf({ headers: [JSON_TYPE, ...cookies], text: '"é"' }), ["set-cookie"])).toEqual({
      status: 201,
      headers: [JSON_TYPE],
      omittedHeaders: ["Set-Cookie"],
      sizeBytes: 4,
      body: '"é"',
      warnings: [],
    });
  });
});
