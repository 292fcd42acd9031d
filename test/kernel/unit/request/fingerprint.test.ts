import { describe, expect, it } from "vitest";
import { MAX_JSON_BYTES, MAX_JSON_DEPTH } from "../../../../src/kernel/request/json.ts";
import { canonicalJson } from "../../../support/canonical-json.ts";
import { SMALL_BYTES } from "../../../../src/kernel/request/body.ts";
import { sha256 } from "../../../../src/kernel/request/digest.ts";
import { fingerprintDigested, fingerprintRequest } from "../../../../src/kernel/request/fingerprint.ts";
import { finish } from "../../../support/slices.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const of = (text: string, compare: "bytes" | "json" | "none" = "json"): Promise<string> =>
  fingerprintRequest({ method: "POST", path: "/p", query: "", headers: [] }, bytes(text), { as: compare });

const canonicalOf = (body: Uint8Array): Uint8Array | null => finish(canonicalJson(body));

describe("the fingerprint of JSON", () => {
  it("ignores the order of members, white space and the spelling of numbers and strings", async () => {
    expect(await of(String.raw`{"b":1.0,"a":"\u0041"}`)).toBe(await of(`{ "a": "A", "b": 1 }`));
  });

  it("differs when a value, a type or an array's order does", async () => {
    const all = await Promise.all(
      [`{"a":1}`, `{"a":2}`, `{"a":"1"}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":null}`, `{}`].map((text) => of(text)),
    );
    expect(new Set(all).size).toBe(all.length);
  });

  it("compares bytes if numbers exceed a double's precision, so that two amounts never become one", async () => {
    expect(await of(`{"amount":9007199254740993}`)).not.toBe(await of(`{"amount":9007199254740992}`));
    expect(await of(`{"amount":0.1000000000000000055}`)).not.toBe(await of(`{"amount":0.1}`));
    expect(await of(`{"amount":1e-400}`)).not.toBe(await of(`{"amount":0}`));
    expect(await of(`{"amount":1e400}`)).not.toBe(await of(`{"amount":1e401}`));
    // Subnormals have fewer digits the smaller they are.
    expect(await of(`[1.2345678e-320]`)).not.toBe(await of(`[1.2345679e-320]`));
  });

  it("recognises each spelling of a number that a double holds exactly", async () => {
    expect(await of(`[0.30000000000000004]`)).toBe(await of(`[30000000000000004e-17]`));
    expect(await of(`[9007199254740992]`)).toBe(await of(`[9007199254740992.0]`));
    expect(await of(`[5e-324]`)).toBe(await of(`[0.5e-323]`));
    expect(await of(`[-0.0, 1e21, 1e-7]`)).toBe(await of(`[0, 1000000000000000000000, 0.0000001]`));
  });

  it("compares bytes if a member is repeated, since parsers may use either", async () => {
    expect(await of(`{"amount":9,"amount":2}`)).not.toBe(await of(`{"amount":1,"amount":2}`));
    expect(canonicalOf(bytes(`[{"a":1,"\\u0061":2}]`))).toBeNull();
    expect(canonicalOf(bytes(String.raw`{"a":"\":","b":{"__proto__":1,"":"x:"}}`))).not.toBeNull();
  });

  it("orders members by their UTF-16 code units, as written or escaped", () => {
    const ordered = String.raw`{"\n":1,"\"":2,"A":3,"é":4,"\ud83c\udf88":5,"\ue000":6}`;
    const turned = String.raw`{"\ue000":6,"\ud83c\udf88":5,"\u00e9":4,"\u0041":3,"\"":2,"\u000a":1}`;
    const form = new TextDecoder().decode(canonicalOf(bytes(turned)) ?? undefined);
    expect(form).toBe(new TextDecoder().decode(canonicalOf(bytes(ordered)) ?? undefined));
    expect(Object.values(JSON.parse(form))).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("compares bytes if a text is too large or nested too deeply, or has a number of more than 1,024 characters", () => {
    const ofSize = (size: number): Uint8Array => bytes(`"${"a".repeat(size - 2)}"`);
    expect(canonicalOf(ofSize(MAX_JSON_BYTES))).toHaveLength(MAX_JSON_BYTES);
    expect(canonicalOf(ofSize(MAX_JSON_BYTES + 1))).toBeNull();
    const nested = (depth: number): Uint8Array => bytes('{"b":'.repeat(depth - 1) + "[1]" + "}".repeat(depth - 1));
    expect(canonicalOf(nested(MAX_JSON_DEPTH))).not.toBeNull();
    expect(canonicalOf(nested(MAX_JSON_DEPTH + 1))).toBeNull();
    expect(canonicalOf(bytes("[".repeat(100_000) + "]".repeat(100_000)))).toBeNull();
    expect(canonicalOf(bytes(`1.${"0".repeat(1022)}`))).toEqual(bytes("1"));
    expect(canonicalOf(bytes(`1.${"0".repeat(1023)}`))).toBeNull();
  });

  it("reads each name correctly, whatever names were read before", async () => {
    // The platform's parser, once it has seen the first, takes the others for it (V8 13.6).
    const texts = [String.raw`{"A":1,"\\":2}`, String.raw`{"A":1,"\n":2}`, String.raw`{"A":1,"\u0061":2}`];
    const all = await Promise.all(texts.map((text) => of(text)));
    expect(new Set(all).size).toBe(3);
    expect(all[2]).toBe(await of(`{"A":1,"a":2}`));
  });

  it("compares bytes if a body is not JSON, and never equals a JSON text", () => {
    for (const text of ["", "{", "\u{feff}{}", "\u0000"]) expect(canonicalOf(bytes(text))).toBeNull();
    expect(canonicalOf(new Uint8Array([0x22, 0xff, 0x22]))).toBeNull();
  });

  it("reads trailing zeros and exponents as equal numbers", async () => {
    expect(await of(`{"n":100000000000000000000}`)).toBe(await of(`{"n":1e20}`));
  });
});

describe("the fingerprint", () => {
  it("leaves the body out under none", async () => {
    expect(await of("a", "none")).toBe(await of("b", "none"));
    expect(await of("a", "none")).not.toBe(await of("a", "bytes"));
  });
});

describe("the fingerprint of bytes", () => {
  const parts = { method: "POST", path: "/p", query: "", headers: [] };
  const ofBytes = (body: Uint8Array): Promise<string> => fingerprintRequest(parts, body, { as: "bytes" });

  it("is the same for a body of more than SMALL_BYTES that was digested while it arrived", async () => {
    const body = new Uint8Array(SMALL_BYTES + 1).fill(7);
    expect(await ofBytes(body)).toBe(await fingerprintDigested(parts, await sha256(body), { as: "bytes" }));
  });

  it("differs with each byte of a body, on both sides of SMALL_BYTES", async () => {
    const sizes = [0, 1, 4096, SMALL_BYTES, SMALL_BYTES + 1];
    const bodies = sizes.flatMap((size) => [new Uint8Array(size), new Uint8Array(size).fill(1, size - 1)]);
    expect(new Set(await Promise.all(bodies.map(ofBytes))).size).toBe(2 * sizes.length - 1);
  });

  it("tells a body from a larger one whose digest it is", async () => {
    const large = new Uint8Array(SMALL_BYTES + 1);
    expect(await ofBytes(await sha256(large))).not.toBe(await ofBytes(large));
  });
});
