import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MAX_DOCUMENT_LENGTH } from "../../../../src/features/graphql/graphql-document.ts";
import { readGraphql } from "../../../../src/features/graphql/graphql.ts";
import { HeaderSnapshot } from "../../../../src/kernel/request/headers.ts";

const JSON_TYPE = { "Content-Type": "application/json" };

/** `other`, `hash`, `mutation`, `mutation KEY`, or `mutation 400` with the reason. */
async function read(
  body: unknown,
  headers: Readonly<Record<string, string>> = JSON_TYPE,
  search = "",
): Promise<string> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const view = new HeaderSnapshot(Object.entries(headers));
  const reading = await readGraphql(new TextEncoder().encode(text), view, search);
  if (reading.kind !== "mutation") return reading.kind;
  switch (reading.key.kind) {
    case "absent":
      return "mutation";
    case "text":
      return `mutation ${reading.key.text}`;
    case "invalid":
      return `mutation 400 ${reading.key.reason.replace("The directive @idempotent of the mutation ", "")}`;
  }
}

const QUERY = "query Q { mutation }";
const MUTATION = 'mutation M { pay @idempotent(key: "k1") { id } }';
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const persisted = (hash: string): object => ({ extensions: { persistedQuery: { version: 1, sha256Hash: hash } } });

describe("what a document does", () => {
  it.each([
    ["{ me }", {}, "other"],
    ["query Q { mutation }", {}, "other"],
    ["subscription S { mutation }", {}, "other"],
    ['query Q { say(what: "mutation { pay }") } # mutation M { pay }', {}, "other"],
    ["fragment mutation on Query { a } query Q { ...mutation }", {}, "other"],
    ["mutation { pay }", {}, "mutation"],
    ["\ufeff,mutation{pay}", {}, "mutation"],
    [`${QUERY} ${MUTATION}`, { operationName: "Q" }, "other"],
    [`${QUERY} ${MUTATION}`, { operationName: "M" }, "mutation k1"],
    [`${QUERY} ${MUTATION}`, {}, "mutation k1"],
    [`${QUERY} ${MUTATION}`, { operationName: "Missing" }, "mutation k1"],
    [`${QUERY} ${MUTATION}`, { operationName: "" }, "mutation k1"],
    [`${QUERY} ${MUTATION}`, { operationName: 7 }, "mutation k1"],
    ["query M { a } mutation M { pay }", { operationName: "M" }, "mutation"],
    ["mutation {", {}, "mutation"],
    [`query Q { a } # mutation ${"x".repeat(MAX_DOCUMENT_LENGTH)}`, {}, "mutation"],
    [`query Q { ${"a ".repeat(MAX_DOCUMENT_LENGTH)} }`, {}, "other"],
    [`query Q { mutation ${"a ".repeat(4000)} }`, {}, "mutation"],
    [`query Q ${"{mutation".repeat(3000)}`, {}, "mutation"],
  ])("%.60s with %j: %s", async (query, others, result) => {
    expect(await read({ query, ...others })).toBe(result);
  });
});

describe("a mutation's key", () => {
  const withKey = (directives: string, variables: unknown = {}): Promise<string> =>
    read({ query: `mutation M($k: String! = "default", $n: ID) ${directives}`, variables });

  it.each([
    ['@idempotent(key: "on the operation") { pay }', {}, "mutation on the operation"],
    ['{ a: pay @idempotent(key: "same") b: pay @idempotent(key: """same""") }', {}, "mutation same"],
    ["@idempotent(key: 17) { pay }", {}, "mutation 17"],
    ["{ pay @idempotent(key: $k) }", { k: "given" }, "mutation given"],
    ["{ pay @idempotent(key: $k) }", {}, "mutation default"],
    ["{ pay @idempotent(key: $n) }", { n: 1e3 }, "mutation 1000"],
    ["{ pay @other(key: 1) { deeper @idempotent(key: 1) } }", {}, "mutation"],
    ["{ pay @idempotent(key: $k) }", { k: null }, "mutation 400 is neither a string nor a number."],
    ["{ pay @idempotent(key: $n) }", {}, "mutation 400 has the key $n, which has no value."],
    ["{ pay @idempotent(key: $n) }", null, "mutation 400 has the key $n, which has no value."],
    ["{ pay @idempotent(key: true) }", {}, "mutation 400 needs a key that is a text or a variable."],
    ["{ pay @idempotent }", {}, "mutation 400 needs a key that is a text or a variable."],
    ['{ pay @idempotent(key: "") }', {}, "mutation 400 is empty."],
    [
      '{ pay @idempotent(key: "a") pay @idempotent(key: "b") }',
      {},
      "mutation 400 is there with different keys; send one key for the whole request.",
    ],
  ])("%s with %j: %s", async (directives, variables, result) => {
    expect(await withKey(directives, variables)).toBe(result);
  });

  it("is in one of eight variables", async () => {
    const query = (count: number): string =>
      `mutation{${Array.from({ length: count }, (_, at) => `a${at}:pay@idempotent(key:$k${at})`).join(" ")}}`;
    const variables = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`k${at}`, "same"]));
    expect(await read({ query: query(8), variables })).toBe("mutation same");
    expect(await read({ query: query(9), variables })).toBe("mutation 400 names more than 8 variables; use one.");
  });

  it("in a variable that is there twice is refused", async () => {
    const body = `{"query":"mutation M($k:String!){pay@idempotent(key:$k)}","variables":{"k":"a","k":"b"}}`;
    expect(await read(body)).toBe("mutation 400 is there twice; send it once.");
  });
});

describe("a batch", () => {
  it("is a mutation if one of its requests is, with one key", async () => {
    expect(await read([{ query: QUERY }, { query: "{ a }" }])).toBe("other");
    expect(await read([{ query: QUERY }, { query: MUTATION }])).toBe("mutation k1");
    const query = "mutation($k: String!) { pay @idempotent(key: $k) }";
    expect(
      await read([
        { query, variables: { k: "a" } },
        { query, variables: { k: "a" } },
      ]),
    ).toBe("mutation a");
    expect(
      await read([
        { query, variables: { k: "a" } },
        { query, variables: { k: "b" } },
      ]),
    ).toContain("different keys");
    expect(await read([{ query }, { query, variables: { k: "b" } }])).toContain("which has no value");
    expect(await read([])).toBe("mutation");
    expect(await read([{ query: QUERY }, { query: QUERY }], JSON_TYPE, "?query={a}")).toBe("mutation");
    expect(await read([{ query: QUERY }, 7])).toBe("mutation");
    expect(await read(Array.from({ length: 101 }, () => ({ query: QUERY })))).toBe("mutation");
  });
});

describe("a request whose document is elsewhere", () => {
  it("is asked for it if it has a hash alone", async () => {
    expect(await read(persisted(hashOf(QUERY)))).toBe("answered");
    expect(await read({ query: null, operationName: null, ...persisted(hashOf(QUERY)) })).toBe("answered");
    expect(await read({ query: QUERY, ...persisted(hashOf(QUERY)) })).toBe("other");
    expect(await read({ query: QUERY, ...persisted(hashOf(MUTATION)) })).toBe("mutation");
    expect(await read({ query: MUTATION, ...persisted(hashOf(MUTATION)) })).toBe("mutation k1");
  });

  it("is a mutation if it has an id, or nothing", async () => {
    for (const id of [{ id: "1" }, { documentId: "1" }, { doc_id: 1 }]) {
      expect(await read(id)).toBe("mutation");
      expect(await read({ query: QUERY, ...id })).toBe("mutation");
    }
    expect(await read({})).toBe("mutation");
    expect(await read("7")).toBe("mutation");
  });
});

describe("a member that servers may read in two ways", () => {
  it.each([
    '{"query":"{a}","query":"mutation{pay}"}',
    '{"query":"{a}","qu\\u0065ry":"mutation{pay}"}',
    '{"query":["{a}"]}',
    '{"query":"{a}","operationName":"A","operationName":"B"}',
    // Go's decoder takes any case, and the last.
    '{"query":"{a}","Query":"mutation{pay}"}',
    '{"query":"{a}","QU\\u0045RY":"mutation{pay}"}',
    '{"query":"query A{a} mutation B{pay}","operationName":"A","OperationName":"B"}',
    '{"query":"{a}","DocumentID":"1"}',
    // The hash of a stored document (Mercurius), or nothing.
    '{"query":"5d2e","persisted":true}',
    '{"query":""}',
    '{"query":"{a}"',
    "not JSON",
  ])("makes it a mutation: %s", async (body) => {
    expect(await read(body)).toBe("mutation");
  });
});

describe("other forms of a request", () => {
  const FORM_TYPE = { "Content-Type": "application/x-www-form-urlencoded" };

  it("are application/graphql and forms", async () => {
    expect(await read(QUERY, { "Content-Type": "application/graphql" })).toBe("other");
    expect(await read(MUTATION, { "Content-Type": "application/graphql; charset=utf-8" })).toBe("mutation k1");
    expect(await read(`query=${encodeURIComponent(QUERY)}`, FORM_TYPE)).toBe("other");
    const query = encodeURIComponent("mutation($k: String!) { pay @idempotent(key: $k) }");
    expect(await read(`query=${query}&variables=${encodeURIComponent('{"k":"v"}')}`, FORM_TYPE)).toBe("mutation v");
    expect(await read(`query={a}&query=${query}`, FORM_TYPE)).toBe("mutation");
    expect(await read(`query={a}&extensions={}`, FORM_TYPE)).toBe("mutation");
  });

  it.each([
    ["", "?Query=mutation{pay}"],
    ["", "?x=1;query=mutation{pay}"],
    ["", "?+query=mutation{pay}"],
    ["", "?qu%u0065ry=mutation{pay}"],
    ["&Query=mutation{pay}", ""],
    [";query=mutation{pay}", ""],
    ["&+query=mutation{pay}", ""],
    [`&${"+".repeat(1000)}query=mutation{pay}`, ""],
  ])("are mutations if servers may read another field as the document: %.30s %s", async (more, search) => {
    expect(await read(`query={a}${more}`, FORM_TYPE, search)).toBe("mutation");
  });

  it("are mutations if the body is both a form and JSON", async () => {
    const body = '{"query":"{a}","x":"&query=mutation{pay}&y="}';
    expect(await read(body)).toBe("other");
    expect(await read(body, FORM_TYPE)).toBe("mutation");
    expect(await read(body, {})).toBe("mutation");
    expect(await read({ query: "{a}" }, FORM_TYPE)).toBe("other");
  });

  it("are mutations in another charset than UTF-8, or where JSON is no document", async () => {
    const body = { query: "+AG0-utation{pay}{" };
    expect(await read(body, { "Content-Type": "application/json; charset=utf-7" })).toBe("mutation");
    expect(await read({ query: "{a}" }, { "Content-Type": 'application/json; Charset="UTF-8"' })).toBe("other");
    expect(await read(body, { "Content-Type": "application/json; charset=utf-8; charset=utf-7" })).toBe("mutation");
    expect(await read('{"query":"mut\\u0061tion{pay}"}', { "Content-Type": "application/graphql" })).toBe("mutation");
  });

  it("are uploads", async () => {
    const upload = async (...operations: readonly string[]): Promise<string> => {
      const form = new FormData();
      for (const one of operations) form.append("operations", one);
      form.append("map", '{"0":["variables.file"]}');
      form.append("0", new Blob(["mutation"]), "a.txt");
      const response = new Response(form);
      return read(await response.text(), { "Content-Type": response.headers.get("content-type") ?? "" });
    };
    expect(await upload(JSON.stringify({ query: QUERY }))).toBe("mutation");
    expect(await upload(JSON.stringify({ query: MUTATION }))).toBe("mutation k1");
    expect(await upload(JSON.stringify({ query: QUERY }), JSON.stringify({ query: MUTATION }))).toBe("mutation");
    expect(await upload()).toBe("mutation");
    expect(await read("?", { "Content-Type": "multipart/form-data; boundary=x" })).toBe("mutation");
  });

  it("are uploads, of which those with more than 200 lines like a boundary are not read", async () => {
    const upload = (lines: number): string => {
      const fields = [
        ["operations", JSON.stringify({ query: MUTATION })],
        ["0", "\r\n--".repeat(lines)],
      ];
      const parts = fields.map(
        ([name, text]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
      );
      return `${parts.join("")}--b--`;
    };
    const type = { "Content-Type": "multipart/form-data; boundary=b" };
    // Three lines are boundaries.
    expect(await read(upload(197), type)).toBe("mutation k1");
    expect(await read(upload(198), type)).toBe("mutation");
  });

  it("may have their document, its name or its variables in the URL", async () => {
    const search = (fields: Readonly<Record<string, string>>): string => `?${new URLSearchParams(fields).toString()}`;
    expect(await read({ query: QUERY }, JSON_TYPE, search({ query: MUTATION }))).toBe("mutation k1");
    expect(await read({ query: QUERY }, JSON_TYPE, search({ query: QUERY }))).toBe("other");
    const both = `${QUERY} ${MUTATION}`;
    expect(await read({ query: both, operationName: "Q" }, JSON_TYPE, search({ operationName: "M" }))).toBe(
      "mutation k1",
    );
    expect(await read({ query: both }, JSON_TYPE, search({ operationName: "Q" }))).toBe("other");
    expect(await read({ query: QUERY }, JSON_TYPE, search({ extensions: "{}" }))).toBe("mutation");
    expect(await read({ query: QUERY }, JSON_TYPE, "?query=%zz")).toBe("mutation");
    const query = "mutation($k: String!) { pay @idempotent(key: $k) }";
    const variables = search({ variables: '{"k":"url"}' });
    expect(await read({ query, variables: { k: "body" } }, JSON_TYPE, variables)).toBe("mutation url");
  });

  it("of which nothing is known are mutations", async () => {
    expect(await read({ query: QUERY }, { "Content-Type": "application/x-protobuf" })).toBe("mutation");
    expect(await read({ query: QUERY }, { ...JSON_TYPE, "Content-Encoding": "gzip" })).toBe("mutation");
  });
});
