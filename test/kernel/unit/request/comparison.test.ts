import { describe, expect, it } from "vitest";
import type { FingerprintRule } from "../../../../src/kernel/config/resolved.ts";
import { comparedHeaders, comparisonOf } from "../../../../src/kernel/request/comparison.ts";
import { comparedQuery } from "../../../../src/kernel/request/compared-query.ts";
import { fingerprintRequest } from "../../../../src/kernel/request/fingerprint.ts";
import { MAX_JSON_BYTES } from "../../../../src/kernel/request/json.ts";
import { MAX_PLACED_BYTES } from "../../../../src/kernel/request/json-places.ts";

const RULE: FingerprintRule = { body: "bytes", selection: null, query: "exact", queryExcept: [], headers: [] };
const EXCEPT: FingerprintRule = { ...RULE, body: "json", selection: { kind: "except", pointers: ["/t"] } };
const ONLY: FingerprintRule = { ...RULE, body: "json", selection: { kind: "only", pointers: ["/a"] } };
const FORM: FingerprintRule = { ...RULE, body: "form" };
const MULTIPART: FingerprintRule = { ...RULE, body: "multipart", headers: ["content-type"] };

const said = (type: string | null, encoding?: string): Headers =>
  new Headers([
    ...(type === null ? [] : [["content-type", type] as [string, string]]),
    ...(encoding === undefined ? [] : [["content-encoding", encoding] as [string, string]]),
  ]);

const asOf = (rule: FingerprintRule, type: string | null, encoding?: string): string =>
  comparisonOf(rule, said(type, encoding)).as;

/** The fingerprint of a request, as the Worker makes it. */
function print(rule: FingerprintRule, body: string, type: string | null, encoding?: string): Promise<string> {
  const headers = said(type, encoding);
  const comparison = comparisonOf(rule, headers);
  const parts = {
    method: "POST",
    path: "/p",
    query: comparedQuery("", rule),
    headers: comparedHeaders(rule.headers, headers, comparison),
  };
  return fingerprintRequest(parts, new TextEncoder().encode(body), comparison);
}

describe("how a body is compared", () => {
  it.each<[FingerprintRule["body"]]>([["none"], ["bytes"], ["json"]])("%s: so, whatever the headers say", (body) => {
    expect(comparisonOf({ ...RULE, body }, said("text/html; charset=utf-16", "gzip"))).toEqual({ as: body });
  });

  it.each([
    "application/json",
    "Application/JSON; charset=UTF-8",
    'application/json;charset="utf-8"',
    "application/cloudevents+json",
    "text/json",
    "text/plain",
    null,
  ])("a selection applies to JSON: %s", (type) => {
    expect(asOf(EXCEPT, type)).toBe("selected json");
  });

  it.each([
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "application/xml",
    "application/json; charset=utf-16",
    "application/json; charset=utf-8; charset=utf-16",
    "application/json, application/xml",
    "application/json;",
    "application/json; charset",
    "json",
    "",
  ])("a selection does not apply to what may be read otherwise: %s", (type) => {
    expect(asOf(EXCEPT, type)).toBe("typed bytes");
  });

  it.each([
    ["application/x-www-form-urlencoded", "form"],
    ["application/x-www-form-urlencoded;charset=utf-8", "form"],
    ["application/x-www-form-urlencoded; charset=iso-8859-1", "typed bytes"],
    ["multipart/form-data; boundary=b", "typed bytes"],
    ["application/json", "typed bytes"],
    [null, "typed bytes"],
  ])("a form is one that says so: %s", (type, as) => {
    expect(asOf(FORM, type)).toBe(as);
  });

  it.each([
    ["multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW", "----WebKitFormBoundary7MA4YWxkTrZu0gW"],
    ['Multipart/Form-Data; Boundary="a:b=?c"; charset=utf-8', "a:b=?c"],
  ])("a multipart body is one that names its boundary: %s", (type, boundary) => {
    expect(comparisonOf(MULTIPART, said(type))).toMatchObject({ as: "multipart", boundary });
  });

  it.each([
    "multipart/form-data",
    "multipart/form-data; boundary=",
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary="a b"',
    'multipart/form-data; boundary="a\\"b"',
    "multipart/form-data; boundary=a:b",
    "multipart/form-data; boundary=a; boundary=b",
    "multipart/form-data; boundary=a; charset=utf-16",
    "multipart/form-data; boundary=a, multipart/form-data; boundary=b",
    `multipart/form-data; boundary=${"b".repeat(71)}`,
    "multipart/mixed; boundary=b",
    "application/x-www-form-urlencoded",
    null,
  ])("a multipart body is no other: %s", (type) => {
    expect(asOf(MULTIPART, type)).toBe("typed bytes");
  });

  it.each([
    [EXCEPT, "application/json"],
    [FORM, "application/x-www-form-urlencoded"],
    [MULTIPART, "multipart/form-data; boundary=b"],
  ])("a compressed body is compared as it is: %j", (rule, type) => {
    for (const encoding of ["gzip", "identity", ""]) expect(asOf(rule, type, encoding)).toBe("typed bytes");
  });
});

describe("the fingerprint", () => {
  it("is always the same for the same request, so that older records are found", async () => {
    const parts = { method: "POST", path: "/v1/payments", query: "?b=2&a=1", headers: ["2026-01-01", null] };
    const body = new TextEncoder().encode('{ "b": 1.0, "a": "A" }');
    const all = (["none", "bytes", "json"] as const).map((as) => fingerprintRequest(parts, body, { as }));
    expect(await Promise.all(all)).toEqual([
      "0a8025197e3c864b755c232f4ac1aef5449d67dbeebf91ff3df916efbf0dec2d",
      "12d80deff492f00b251451114516db2e43afb3a3aa544d5b21fcc6bfbf0d162d",
      "b451ea0222de288d7407acd7d8fc1d2aae0354502c58a54df9a3156830fbe8f2",
    ]);
    expect(comparedQuery(parts.query, RULE)).toBe(parts.query);
  });

  it("leaves out what does not count also of JSON that has no canonical form, or is larger than is read for one", async () => {
    const json = (body: string): Promise<string> => print(EXCEPT, body, "application/json");
    const fill = "x".repeat(MAX_JSON_BYTES);
    for (const rest of [`"a":"${fill}"`, '"a":9007199254740993', '"a":1,"a":2']) {
      const all = [`{"t":1,${rest}}`, `{"t":{"t":2}, ${rest}}`, `{${rest},"t":3}`, `{${rest}}`];
      expect(new Set(await Promise.all(all.map(json))).size).toBe(1);
      const others = [`{${rest},"b":1}`, `{${rest.replace('"a"', '"b"')}}`, `[${rest.replaceAll('"a":', "")}]`];
      expect(new Set(await Promise.all([...others, all[0] ?? ""].map(json))).size).toBe(4);
    }
    const huge = [9_007_199_254_740_993n, 9_007_199_254_740_995n].map((t) => json(`{"t":${t},"a":1}`));
    expect(new Set(await Promise.all(huge)).size).toBe(1);
  });

  it("leaves out nothing where readers may differ about it, and nothing of more than a MiB", async () => {
    for (const rest of [`"t":1,"a":"${"x".repeat(MAX_JSON_BYTES)}"`, `"a":"${"x".repeat(MAX_PLACED_BYTES)}"`]) {
      const both = ["2", "3"].map((t) => print(EXCEPT, `{"t":${t},${rest}}`, "application/json"));
      expect(new Set(await Promise.all(both)).size).toBe(2);
    }
  });

  it("differs between all rules, as soon as they apply", async () => {
    const body = '{"a":1,"b":2,"t":3}';
    const pointers = ["/t"];
    const rules: FingerprintRule[] = [
      RULE,
      { ...RULE, body: "json" },
      { ...RULE, body: "none" },
      { ...EXCEPT, selection: { kind: "except", pointers } },
      { ...EXCEPT, selection: { kind: "except", pointers: ["/u"] } },
      { ...EXCEPT, selection: { kind: "except", pointers: ["/t", "/u"] } },
      { ...EXCEPT, selection: { kind: "only", pointers } },
      { ...EXCEPT, selection: { kind: "only", pointers: ["/a", "/t"] } },
      { ...RULE, query: "sorted" },
      { ...RULE, query: "none" },
      { ...RULE, queryExcept: ["t"] },
    ];
    const all = await Promise.all(rules.map((rule) => print(rule, body, "application/json")));
    expect(new Set(all).size).toBe(rules.length);
  });

  it("takes all of a body that has nothing of what alone should count", async () => {
    expect(await print(ONLY, '{"b":1}', null)).not.toBe(await print(ONLY, '{"b":2}', null));
    expect(await print(ONLY, '{"b":1,"c":2}', null)).toBe(await print(ONLY, '{"c":2,"b":1}', null));
    expect(await print(ONLY, '{"a":1,"c":2}', null)).toBe(await print(ONLY, '{"a":1}', null));
  });

  it("takes a body without a canonical form as it is, selection or not", async () => {
    expect(await print(EXCEPT, '{"t":1,"a":1,"a":1}', null)).not.toBe(await print(EXCEPT, '{"t":1,"a":1,"a":2}', null));
    expect(await print(EXCEPT, '{"a":1,"t":', null)).not.toBe(await print(EXCEPT, '{"a":1,"t":1', null));
    expect(await print(FORM, "a=1;b=2", "application/x-www-form-urlencoded")).not.toBe(
      await print(FORM, "b=2;a=1", "application/x-www-form-urlencoded"),
    );
  });

  it("tells media types and codings of equal bytes apart, where the route expects one", async () => {
    const types = [
      ["application/x-www-form-urlencoded"],
      ["application/x-www-form-urlencoded", "gzip"],
      ["application/json"],
      ["text/plain"],
      ["multipart/form-data; boundary=b"],
      [null],
    ] as const;
    for (const rule of [EXCEPT, FORM, MULTIPART]) {
      const all = await Promise.all(types.map(([type, encoding]) => print(rule, "{}", type, encoding)));
      expect(new Set(all).size).toBe(types.length);
    }
  });
});
