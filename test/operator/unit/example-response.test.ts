import { describe, expect, it } from "vitest";
import { epochMs, recordId } from "../../../src/kernel/record/units.ts";
import { exampleIn } from "../../../src/operator/example-response.ts";

const ID = recordId("ab".repeat(32));

type Headers = readonly (readonly [string, string])[];

function recordWith(headers: Headers, sizeBytes = 20, status = 201) {
  return { id: ID, encrypted: false, response: { status, statusText: "", headers, sizeBytes }, timeline: [] } as const;
}

describe("what a form for a response is filled in with", () => {
  it("is the status and the type of a response, and none of its other headers", () => {
    const headers: Headers = [
      ["Content-Type", "application/json"],
      ["Location", "/v1/payments/of-another-caller"],
      ["Set-Cookie", "session=another-callers"],
    ];
    expect(exampleIn(recordWith(headers))).toEqual({
      id: ID,
      status: 201,
      mediaType: "application/json",
      hasText: true,
    });
  });

  it.each([
    ["application/json; charset=utf-8; profile=secret-of-a-caller", "application/json; charset=utf-8", true],
    ["application/problem+json", "application/problem+json", true],
    ["text/plain; charset=iso-8859-1", "text/plain; charset=iso-8859-1", false],
    ["multipart/form-data; boundary=of-another", "multipart/form-data", false],
    ["image/png", "image/png", false],
    ["no type", null, false],
  ])("keeps of the type %s: %s", (type, mediaType, hasText) => {
    expect(exampleIn(recordWith([["content-type", type]]))).toMatchObject({ mediaType, hasText });
  });

  it("offers no body that is encoded, empty, or too large for a form", () => {
    const json: Headers = [["content-type", "application/json"]];
    expect(exampleIn(recordWith([...json, ["content-encoding", "gzip"]]))?.hasText).toBe(false);
    expect(exampleIn(recordWith(json, 0))?.hasText).toBe(false);
    expect(exampleIn(recordWith(json, 16_384))?.hasText).toBe(true);
    expect(exampleIn(recordWith(json, 16_385))?.hasText).toBe(false);
  });

  it("is nothing of an encrypted record, of one without a response, and of one that an operator gave", () => {
    const record = recordWith([["content-type", "application/json"]]);
    expect(exampleIn({ ...record, encrypted: true })).toBeNull();
    expect(exampleIn({ ...record, response: null })).toBeNull();
    const given = { type: "change", at: epochMs(0), action: "resolve", by: "ann", reason: "" } as const;
    expect(exampleIn({ ...record, timeline: [given] })).toBeNull();
  });
});
