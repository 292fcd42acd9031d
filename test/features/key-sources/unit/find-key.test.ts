import { describe, expect, it } from "vitest";
import { findKey } from "../../../../src/kernel/request/find-key.ts";
import { HeaderSnapshot } from "../../../../src/kernel/request/headers.ts";
import { readBodyValues } from "../../../../src/kernel/request/key-places.ts";
import { routeOf } from "../../../kernel/unit/config/support.ts";

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly search?: string;
  readonly body?: string | Uint8Array;
}

/** The key's text, or `absent`, or `400` with the reason. Looks without the body first, as the gateway does. */
async function find(keyFrom: readonly unknown[], { headers = {}, search = "", body = "" }: Sent, format = {}) {
  const route = routeOf({ key_from: keyFrom, key_format: format });
  const places = { headers: new HeaderSnapshot(Object.entries(headers)), search };
  const early = await findKey(route, places, null);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const found =
    early.kind === "body" ? await findKey(route, places, await readBodyValues(route, places.headers, bytes)) : early;
  switch (found.kind) {
    case "key":
      return `${early.kind === "body" ? "body: " : ""}${found.key}`;
    case "invalid":
      return `400 ${found.reason}`;
    case "absent":
    case "body":
      return found.kind;
  }
}

const JSON_TYPE = { "Content-Type": "application/json" };
const FORM_TYPE = { "Content-Type": "application/x-www-form-urlencoded;charset=utf-8" };

it("a key is given on as its header has it, and from elsewhere as a header would", async () => {
  const route = routeOf({ key_from: ["header:X-Key", "query:k"] });
  const found = (name: string, value: string, search: string) =>
    findKey(route, { headers: new HeaderSnapshot([[name, value]]), search }, null);
  expect(await found("X-Key", '"abc"', "")).toMatchObject({ key: "abc", raw: '"abc"' });
  expect(await found("Idempotency-Key", "other", "?k=abc")).toMatchObject({ key: "abc", raw: "abc" });
});

describe("a key in the JSON body", () => {
  it.each([
    ['{"id":"evt_1"}', "body: evt_1"],
    ['{"id":12345}', "body: 12345"],
    ['{"id":"12345"}', "body: 12345"],
    ['{"id":1e5}', "body: 100000"],
    ['{"id":1E5}', "body: 100000"],
    ['{"id":100000.0}', "body: 100000"],
    ['{"id":9007199254740993}', "body: 9007199254740993"],
    ['{"id":123456789012345678901234567890}', "body: 123456789012345678901234567890"],
    ['{"id":-0}', "body: 0"],
    ['{"\\u0069d":"escaped \\u00e9"}', "body: (escaped%20%C3%A9)"],
    ['{"other":[{"id":"x"}],"id":"y"}', "body: y"],
    ["{}", "absent"],
    ["", "absent"],
    ["[]", "absent"],
    ['"text"', "absent"],
    ['{"id":null}', "400 The member /id of the JSON body is neither a string nor a number."],
    ['{"id":true}', "400 The member /id of the JSON body is neither a string nor a number."],
    ['{"id":{}}', "400 The member /id of the JSON body is neither a string nor a number."],
    ['{"id":""}', "400 The member /id of the JSON body is empty."],
    ['{"id":"\\ud800"}', "400 The member /id of the JSON body is not valid Unicode."],
    [
      '{"id":0.1234567890123456789}',
      "400 The member /id of the JSON body is a number that not all programs read alike; send it as a string.",
    ],
    ['{"id":"a","id":"a"}', "400 The member /id of the JSON body is there twice; send it once."],
    ['{"id":"a","i\\u0064":"b"}', "400 The member /id of the JSON body is there twice; send it once."],
    ['{"id":{},"id":"b"}', "400 The member /id of the JSON body is there twice; send it once."],
    [`{"id":"${"x".repeat(5000)}"}`, "400 The member /id of the JSON body is longer than 4096 characters."],
    [
      '{"id":"a","b":"\u0001"}',
      "400 The member /id of the JSON body cannot be read, because the body is not JSON in UTF-8.",
    ],
    ['{"id":"a"', "400 The member /id of the JSON body cannot be read, because the body is not JSON in UTF-8."],
    [
      '{"id":"a"} {"id":"b"}',
      "400 The member /id of the JSON body cannot be read, because the body is not JSON in UTF-8.",
    ],
    ['\ufeff{"id":"a"}', "400 The member /id of the JSON body cannot be read, because the body is not JSON in UTF-8."],
  ])("%s gives: %s", async (body, result) => {
    expect(await find(["json:/id"], { headers: JSON_TYPE, body })).toBe(result);
  });

  it.each([
    ["json:/data/0/id", '{"data":[{"id":"first"},{"id":"second"}]}', "body: first"],
    ["json:/data/1/id", '{"data":[{"id":"first"},{"id":"second"}]}', "body: second"],
    ["json:/data/1/id", '{"data":{"1":{"id":"named"}}}', "body: named"],
    ["json:/a~1b/~0", '{"a/b":{"~":"x"}}', "body: x"],
    ["json:/", '{"":"empty name"}', "body: (empty%20name)"],
    [
      "json:/a/b",
      '{"a":{"b":"1"},"a":{"c":"2"}}',
      "400 The member /a/b of the JSON body is there twice; send it once.",
    ],
    ["json:/a/b", '{"a":{"x":{"b":"deep"}},"b":"top"}', "absent"],
    ["json:/a/b", '{"a":"scalar"}', "absent"],
    ["json:/a\\n", '{"a\\n":"newline"}', "absent"],
  ])("at %s of %s: %s", async (pointer, body, result) => {
    expect(await find([pointer], { headers: JSON_TYPE, body })).toBe(result);
  });

  it.each([
    [{}, true],
    [{ "Content-Type": "application/vnd.api+json" }, true],
    [{ "Content-Type": "text/plain; charset=UTF-8" }, false],
    [{ "Content-Type": "multipart/form-data; boundary=x" }, false],
    [{ "Content-Type": "application/octet-stream" }, false],
  ])(
    "in a body that is no JSON is a problem only if the body's type says JSON, or nothing: %j",
    async (headers, isProblem) => {
      const result = await find(["json:/id"], { headers, body: "not JSON" });
      expect(result).toBe(
        isProblem
          ? "400 The member /id of the JSON body cannot be read, because the body is not JSON in UTF-8."
          : "absent",
      );
    },
  );

  it("is found in JSON that is called text or a form, and not looked for in other types", async () => {
    const body = '{"id":"a"}';
    const results = await Promise.all(
      ["text/plain", "application/x-www-form-urlencoded", "image/png"].map((type) =>
        find(["json:/id"], { headers: { "Content-Type": type }, body }),
      ),
    );
    expect(results).toEqual(["body: a", "body: a", "absent"]);
  });

  it("may have 4,096 characters", async () => {
    const body = `{"id":"${"x".repeat(4096)}"}`;
    expect(await find(["json:/id"], { headers: JSON_TYPE, body })).toMatch(/^body: /);
  });

  it("is refused where the body is compressed or not UTF-8", async () => {
    expect(await find(["json:/id"], { headers: { ...JSON_TYPE, "Content-Encoding": "gzip" }, body: "?" })).toBe(
      "400 The body is compressed (Content-Encoding: gzip), so no key can be read from it; send it uncompressed.",
    );
    const body = Buffer.from('{"id":"\u00ff"}', "latin1");
    expect(await find(["json:/id"], { headers: JSON_TYPE, body })).toContain("is not JSON in UTF-8");
  });
});

describe("a key in JSON that is not read", () => {
  const CANNOT = "400 The member /id of the JSON body cannot be read, because the body has more than";
  const deep = `{"id":"a","b":${"[".repeat(1000)}${"]".repeat(1000)}}`;
  const large = `{"id":"a","b":"${"x".repeat(256 * 1024)}"}`;

  it.each([
    ["deep", deep, "1,000 levels of JSON."],
    ["large", large, "256 KiB of JSON."],
  ])(
    "is refused, because it is too %s, also if the body is called something else, but not in a text",
    async (_, body, what) => {
      expect(await find(["json:/id"], { headers: JSON_TYPE, body })).toBe(`${CANNOT} ${what}`);
      expect(await find(["json:/id"], { headers: { "content-type": "text/plain" }, body })).toBe(`${CANNOT} ${what}`);
      expect(await find(["json:/id"], { headers: { "content-type": "text/plain" }, body: `x${body}` })).toBe("absent");
    },
  );
});

describe("a body in another charset than UTF-8", () => {
  const { "Content-Type": json } = JSON_TYPE;

  it.each([
    ["json:/id", `${json}; charset=UTF-16LE`, "charset=utf-16le"],
    ["json:/id", `${json}; charset=utf-8; charset=utf-7`, "charset=utf-7"],
    ["json:/id", `text/plain;format=flowed;Charset = "ISO-8859-1"`, 'charset = "iso-8859-1"'],
    ["json:/id", `${json}; charset`, "charset"],
    ["form:id", "application/x-www-form-urlencoded; charset=ebcdic-cp-us", "charset=ebcdic-cp-us"],
    ["cloudevent", "application/cloudevents+json; charset=us-ascii", "charset=us-ascii"],
  ])("is refused where %s would be read from it: %s", async (source, type, named) => {
    const body = source === "form:id" ? "id=a" : '{"id":"a","source":"b"}';
    expect(await find([source], { headers: { "Content-Type": type }, body })).toBe(
      `400 The body is not in UTF-8 (Content-Type: ${named}), so no key can be read from it; send it in UTF-8.`,
    );
  });

  it("is not looked at where the key comes first, or where its type has no such place", async () => {
    const sources = ["header:X-Key", "json:/id"];
    const headers = { "Content-Type": `${json}; charset=utf-16` };
    expect(await find(sources, { headers: { ...headers, "X-Key": "k" }, body: "?" })).toBe("k");
    expect(await find(["form:id"], { headers, body: "?" })).toBe("absent");
    expect(await find(sources, { headers, body: "" })).toBe("absent");
  });

  it.each(["utf-8", "UTF8", '"utf-8"', " UTF-8 "])("is none in %s", async (charset) => {
    const headers = { "Content-Type": `${json};charset=${charset}` };
    expect(await find(["json:/id"], { headers, body: '{"id":"a"}' })).toBe("body: a");
  });
});

describe("a key in a form or a query", () => {
  it.each([
    ["id=a&x=b", "a"],
    ["x=%26id%3Dno&%69d=a%20b+c", "(a%20b%20c)"],
    ["id=%c3%a9", "(%C3%A9)"],
    ["x=1", "absent"],
    ["idx=1&d=2&=3&&", "absent"],
    ["id", "400 P is empty."],
    ["id=", "400 P is empty."],
    ["id=a&id=a", "400 P is there twice; send it once."],
    ["id=%zz", "400 P has invalid percent-encoding."],
    ["id=%ff", "400 P has invalid percent-encoding."],
    [`id=${"x".repeat(4097)}`, "400 P is longer than 4096 characters."],
  ])("%s: %s", async (text, result) => {
    expect(await find(["query:id"], { search: `?${text}` })).toBe(result.replace("P", "The query parameter id"));
    const inBody = result.startsWith("400") || result === "absent" ? result : `body: ${result}`;
    expect(await find(["form:id"], { headers: FORM_TYPE, body: text })).toBe(inBody.replace("P", "The form field id"));
  });

  it("is not looked for in bodies of another type", async () => {
    expect(await find(["form:id"], { headers: JSON_TYPE, body: "id=a" })).toBe("absent");
  });
});

describe("a CloudEvent's key", () => {
  const binary = { "ce-specversion": "1.0", "ce-source": "/a%20shop", "ce-id": "1" };
  const structured = { "Content-Type": "application/cloudevents+json; charset=utf-8" };

  it("is the same in binary and in structured mode", async () => {
    const key = "(/a%20shop:1)";
    expect(await find(["cloudevent"], { headers: { ...binary, ...JSON_TYPE }, body: '{"id":"no"}' })).toBe(key);
    const body = '{"specversion":"1.0","source":"/a shop","id":"1","data":{"id":"no"}}';
    expect(await find(["cloudevent"], { headers: structured, body })).toBe(`body: ${key}`);
  });

  it("may begin with a word that keeps it apart from other keys", async () => {
    expect(await find([["text:events", "cloudevent"]], { headers: binary })).toBe("(events:/a%20shop:1)");
    const body = '{"specversion":"1.0","source":"/a shop","id":"1"}';
    expect(await find([["text:a", "text:b", "cloudevent"]], { headers: structured, body })).toBe(
      "body: (a:b:/a%20shop:1)",
    );
  });

  it.each([
    [{ headers: { "ce-id": "1" } }, "absent"],
    [{ headers: JSON_TYPE, body: '{"source":"a","id":"1"}' }, "absent"],
    [{ headers: { ...binary, "ce-id": "%zz" } }, "400 ce-id has invalid percent-encoding."],
    [{ headers: structured, body: '{"source":"a"}' }, "absent"],
    [{ headers: { "Content-Type": "application/cloudevents-batch+json" }, body: "[]" }, "400 A batch of CloudEvents"],
    [
      { headers: { "Content-Type": "application/cloudevents+avro" } },
      "400 CloudEvents as application/cloudevents+avro",
    ],
  ])("of %j is: %s", async (sent, result) => {
    expect((await find(["cloudevent"], sent)).startsWith(result)).toBe(true);
  });
});

describe("several values together", () => {
  it("make one key, in which they cannot be confused", async () => {
    const both = (a: string, b: string): Promise<string> =>
      find([["header:X-A", "json:/b"]], { headers: { ...JSON_TYPE, "X-A": a }, body: JSON.stringify({ b }) });
    expect(await both("a", "b:c")).toBe("body: (a:b%3Ac)");
    expect(await both("a:b", "c")).toBe("body: (a%3Ab:c)");
    expect(await both("Thu, 1 Jan", "%20")).toBe("body: (Thu,%201%20Jan:%2520)");
  });

  it("give no key unless all are there", async () => {
    const sources = [["header:X-A", "query:b"], "header:X-C"];
    expect(await find(sources, { headers: { "X-A": "a" } })).toBe("absent");
    expect(await find(sources, { headers: { "X-A": "a", "X-C": "c" } })).toBe("c");
    expect(await find(sources, { headers: { "X-A": "a", "X-C": "c" }, search: "?b=b" })).toBe("(a:b)");
  });

  it("are a text of their own in a template", async () => {
    const sources = [{ template: "order-{header:X-A}/{query:b}" }];
    expect(await find(sources, { headers: { "X-A": "a" }, search: "?b=1%202" })).toBe("(order-a/1%202)");
    expect(await find(sources, { headers: { "X-A": "a" }, search: "?b=2" })).toBe("order-a/2");
    expect(await find(sources, { search: "?b=2" })).toBe("absent");
  });
});

describe("several sources", () => {
  const sources = ["header:X-Key", "query:k", "json:/id", ["json:/a", "json:/b"]];

  it("are tried in order, and the body is read only if none before it has a key", async () => {
    const body = '{"id":"json","a":"1","b":"2"}';
    expect(await find(sources, { headers: { ...JSON_TYPE, "X-Key": "header" }, body })).toBe("header");
    expect(await find(sources, { headers: JSON_TYPE, search: "?k=query", body })).toBe("query");
    expect(await find(sources, { headers: JSON_TYPE, body })).toBe("body: json");
    expect(await find(sources, { headers: JSON_TYPE, body: '{"a":"1","b":"2"}' })).toBe("body: (1:2)");
  });

  it("must not disagree where single values are read", async () => {
    expect(await find(sources, { headers: { "X-Key": "one" }, search: "?k=two" })).toBe(
      "400 X-Key and the query parameter k carry different keys; send only one.",
    );
    expect(await find(sources, { headers: { "X-Key": '"one"' }, search: "?k=one" })).toBe("one");
    const bodyFirst = ["json:/id", "header:X-Key"];
    const headers = { ...JSON_TYPE, "X-Key": "header" };
    expect(await find(bodyFirst, { headers, body: '{"id":"json"}' })).toContain("carry different keys");
    expect(await find(bodyFirst, { headers, body: '{"id":"header"}' })).toBe("body: header");
    expect(await find(bodyFirst, { headers, body: "{}" })).toBe("body: header");
  });

  it("are not compared with lists and templates, which are other keys by design", async () => {
    const lists = [["header:X-A", "header:X-B"], { template: "t-{header:X-A}" }, "header:X-Key"];
    expect(await find(lists, { headers: { "X-A": "a", "X-B": "b", "X-Key": "k" } })).toBe("(a:b)");
    expect(await find(lists, { headers: { "X-A": "a", "X-Key": "k" } })).toBe("t-a");
  });

  it("name one record for the same key, wherever it is", async () => {
    for (const key of ["plain", "a%20b", "(a:b)", "x".repeat(255)]) {
      const inHeader = await find(sources, { headers: { "X-Key": `"${key}"` } });
      const inBody = await find(sources, { headers: JSON_TYPE, body: JSON.stringify({ id: key }) });
      expect(inBody).toBe(`body: ${inHeader}`);
    }
  });
});

describe("a derived key", () => {
  it("that is too long ends with its digest", async () => {
    const body = JSON.stringify({ a: "é".repeat(40), b: "b".repeat(100) });
    const key = await find([["json:/a", "json:/b"]], { headers: JSON_TYPE, body });
    expect(key).toMatch(/^body: \((?:%C3%A9){24}%C3%A~[0-9a-f]{64}$/);
  });

  it("has to have the route's format", async () => {
    const sent = { headers: JSON_TYPE, body: '{"id":"abc"}' };
    expect(await find(["json:/id"], sent, { max: 2 })).toBe(
      "400 The member /id of the JSON body may have at most 2 characters.",
    );
    expect(await find(["json:/id"], sent, { pattern: "[a-c]+" })).toBe("body: abc");
  });
});
