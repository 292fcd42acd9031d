import { describe, expect, it } from "vitest";
import { type KeyFormat, parseKey } from "../../../../src/kernel/request/key.ts";

const FORMAT: KeyFormat = { pattern: null, min: 1, max: 255 };
const NAMES = ["Idempotency-Key"];

function parse(value: string | null, format = FORMAT): string {
  const headers = new Headers(value === null ? {} : { "Idempotency-Key": value });
  const parsed = parseKey(headers, NAMES, format);
  return parsed.kind === "key" ? `key ${parsed.key}` : parsed.kind;
}

describe("parseKey", () => {
  it("reads a structured-field string and the bare value as one key", () => {
    expect(parse('"8e03978e-40d5"')).toBe("key 8e03978e-40d5");
    expect(parse("8e03978e-40d5")).toBe("key 8e03978e-40d5");
  });

  it("unescapes a quoted key", () => {
    expect(parse(String.raw`"a\"b\\c"`)).toBe(String.raw`key a"b\c`);
  });

  it("ignores parameters, which are not part of the key", () => {
    expect(parse('"a";v=1')).toBe("key a");
    expect(parse(`"a"${";p".repeat(2046)}`)).toBe("key a");
  });

  it.each([
    ["empty", ""],
    ["an empty string", '""'],
    ["a space inside quotes", '"a b"'],
    ["a bare space", "a b"],
    ["an unterminated string", '"a'],
    ["something after the string", '"a"b'],
    ["a list of strings", '"a", "b"'],
    ["two bare keys", "a, b"],
    ["two bare keys joined by a proxy", "a,b"],
    ["a lone quote", '"'],
    ["a bad escape", String.raw`"a\n"`],
    ["256 characters", "k".repeat(256)],
    ["a value of more than 4096 characters, whatever is in it", `"a"${";p".repeat(2047)}`],
    ["two lines of which the first ends in a parameter", '"a";p="x, y"'],
    ["a character beyond ASCII", "kéy"],
  ])("refuses %s", (_what, value) => {
    expect(parse(value)).toBe("invalid");
  });

  it("accepts 255 characters", () => {
    expect(parse("k".repeat(255))).toBe(`key ${"k".repeat(255)}`);
  });

  it("distinguishes an absent key from an empty one", () => {
    expect(parse(null)).toBe("absent");
  });

  it("checks a key against the route's format", () => {
    const format = { pattern: "^[0-9a-f-]{8}$", min: 8, max: 8 };
    expect(parse("0123abcd", format)).toBe("key 0123abcd");
    expect(parse("0123abcX", format)).toBe("invalid");
    expect(parse("0123abc", format)).toBe("invalid");
    expect(parse("0123abcde", format)).toBe("invalid");
    expect(parse("x0123abcdx", { pattern: "[0-9a-f]{8}|y", min: 1, max: 20 })).toBe("invalid");
  });

  it("counts the characters of the key, without quotes", () => {
    const format = { pattern: null, min: 4, max: 6 };
    expect(["abc", "abcd", '"abcdef"', "abcdefg"].map((key) => parse(key, format))).toEqual([
      "invalid",
      "key abcd",
      "key abcdef",
      "invalid",
    ]);
  });

  it("reads the key from an alias, and refuses two different ones", () => {
    const names = ["Idempotency-Key", "X-Request-Id"];
    const read = (headers: Record<string, string>): string => {
      const parsed = parseKey(new Headers(headers), names, FORMAT);
      return parsed.kind === "key" ? `${parsed.header} ${parsed.key}` : parsed.kind;
    };
    expect(read({ "x-request-id": "a" })).toBe("X-Request-Id a");
    expect(read({ "x-request-id": '"a"', "idempotency-key": "a" })).toBe("Idempotency-Key a");
    expect(read({ "x-request-id": "a", "idempotency-key": "b" })).toBe("invalid");
  });
});
