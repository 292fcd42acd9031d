import { describe, expect, it } from "vitest";
import { canonicalJson, fingerprintRequest } from "../../../src/http/fingerprint.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const of = (text: string, compare: "bytes" | "json" | "none" = "json"): Promise<string> =>
  fingerprintRequest({ method: "POST", path: "/p", query: "", headers: [] }, bytes(text), compare);

describe("the fingerprint of JSON", () => {
  it("is the same whatever the order of members, white space and spelling of numbers and strings", async () => {
    expect(await of(String.raw`{"b":1.0,"a":"\u0041"}`)).toBe(await of(`{ "a": "A", "b": 1 }`));
  });

  it("differs when a value, a type or an array's order does", async () => {
    const all = await Promise.all(
      [`{"a":1}`, `{"a":2}`, `{"a":"1"}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":null}`, `{}`].map((text) => of(text)),
    );
    expect(new Set(all).size).toBe(all.length);
  });

  it("compares bytes where numbers exceed a double's precision, so that two amounts never become one", async () => {
    expect(await of(`{"amount":9007199254740993}`)).not.toBe(await of(`{"amount":9007199254740992}`));
    expect(await of(`{"amount":0.1000000000000000055}`)).not.toBe(await of(`{"amount":0.1}`));
    expect(await of(`{"amount":1e-400}`)).not.toBe(await of(`{"amount":0}`));
    expect(await of(`{"amount":1e400}`)).not.toBe(await of(`{"amount":1e401}`));
  });

  it("compares bytes where a member is repeated, of which readers may take either", async () => {
    expect(await of(`{"amount":9,"amount":2}`)).not.toBe(await of(`{"amount":1,"amount":2}`));
    expect(canonicalJson(bytes(`[{"a":1,"\\u0061":2}]`))).toBeNull();
    expect(canonicalJson(bytes(String.raw`{"a":"\":","b":{"__proto__":1,"":"x:"}}`))).not.toBeNull();
  });

  it("compares bytes where finding the canonical form would hold up everybody else", () => {
    const long = (count: number): Uint8Array => bytes(`[${"1,".repeat(count)}1]`);
    expect(canonicalJson(long(1000))).not.toBeNull();
    expect(canonicalJson(long(1 << 19))).toBeNull();
    expect(canonicalJson(bytes("[".repeat(200_000) + "]".repeat(200_000)))).toBeNull();
  });

  it("compares bytes where there is no JSON, and never equals a JSON text", () => {
    for (const text of ["", "{", "\u{feff}{}", "\u0000"]) expect(canonicalJson(bytes(text))).toBeNull();
    expect(canonicalJson(new Uint8Array([0x22, 0xff, 0x22]))).toBeNull();
  });

  it("takes trailing zeros and exponents for the numbers that they are", async () => {
    expect(await of(`{"n":100000000000000000000}`)).toBe(await of(`{"n":1e20}`));
  });
});

describe("the fingerprint", () => {
  it("leaves the body out under none", async () => {
    expect(await of("a", "none")).toBe(await of("b", "none"));
    expect(await of("a", "none")).not.toBe(await of("a", "bytes"));
  });
});
