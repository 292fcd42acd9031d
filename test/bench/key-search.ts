// What it costs to find a key in a body, or to tell what a GraphQL request does, and how long nobody else is answered meanwhile: for the
// bodies that are dearest. In Node, as fingerprint.ts. Nothing is warm in the only round of a fresh process.
//
//   npm run bench -- keys [--rounds 9] [--only graphql]
//   npm run bench -- keys --rounds 1 --only "graphql: braces"

import { parseKeySource, type KeySource, type WrittenSource } from "../../src/kernel/config/key-source.ts";
import { findKey } from "../../src/kernel/request/find-key.ts";
import { readGraphql } from "../../src/features/graphql/graphql.ts"; // feature: graphql
import { readBodyValues } from "../../src/kernel/request/key-places.ts";
import { MAX_JSON_BYTES, MAX_JSON_DEPTH } from "../../src/kernel/request/json.ts";
import { WORST_JSON } from "../support/worst-json.ts";
import { encoded, filled, MEBIBYTE, printHead, row } from "./longest-stretch.ts";

/** Where the current stretch began, and those before it. */
let begun = 0;
let times: number[] = [];

/** All pauses are timers of the slicer. */
const { setTimeout } = globalThis;
Object.assign(globalThis, {
  setTimeout: (resume: () => void, ms: number) => {
    times.push(performance.now() - begun);
    return setTimeout(() => {
      begun = performance.now();
      resume();
    }, ms);
  },
});

async function stretches(work: () => Promise<unknown>): Promise<readonly number[]> {
  times = [];
  begun = performance.now();
  await work();
  return [...times, performance.now() - begun];
}

const typed = (type: string): Headers => new Headers({ "content-type": type });
const JSON_TYPE = typed("application/json");
const FORM_TYPE = typed("application/x-www-form-urlencoded");

async function key(name: string, body: string, written: readonly WrittenSource[], headers = JSON_TYPE): Promise<void> {
  const keyFrom = written.map((one): KeySource => {
    const source = parseKeySource(one);
    if (!source.ok) throw new Error(source.message);
    return source.value;
  });
  const route = { keyFrom, keyFormat: { pattern: null, min: 1, max: 255 } };
  const bytes = encoded(body);
  await row(name, () =>
    stretches(async () => findKey(route, { headers, search: "" }, await readBodyValues(route, headers, bytes))),
  );
}

// feature: graphql begins
async function graphql(name: string, body: string, headers = JSON_TYPE): Promise<void> {
  const bytes = encoded(body);
  await row(`graphql: ${name}`, () => stretches(() => readGraphql(bytes, headers, "")));
}
// feature: graphql ends

const pointers = (many: number, name: (at: number) => string): readonly string[] =>
  Array.from({ length: many }, (_, at) => `json:/${name(at)}`);

printHead("the dearest bodies, or a document of 16 KiB");
for (const many of [1, 4, 8]) {
  const short = pointers(many, (at) => String(at));
  for (const [name, text] of Object.entries(WORST_JSON)) await key(`${many} pointers: ${name}`, text, short);
  const deep = pointers(many, (at) => `${"a/".repeat(60)}${at}`);
  await key(`${many} pointers: deep`, `${'{"a":'.repeat(MAX_JSON_DEPTH)}1${"}".repeat(MAX_JSON_DEPTH)}`, deep);
  const objects = `[${filled('{"a":{"a":{"a":{}}}},', MAX_JSON_BYTES - 10)}1]`;
  await key(
    `${many} pointers: objects in the path`,
    objects,
    pointers(many, (at) => `0/a/a/a/${at}`),
  );
  const escapes = `{${filled(String.raw`"\u0061":1,`, MAX_JSON_BYTES - 10)}"x":1}`;
  await key(
    `${many} pointers: names of escapes`,
    escapes,
    pointers(many, (at) => "abcdefgh".charAt(at)),
  );
  const long = String.raw`"\u0061${"n".repeat(200)}":1,`;
  const alike = pointers(many, (at) => `${"n".repeat(100)}${at}`);
  await key(`${many} pointers: long names of an escape`, `{${filled(long, MAX_JSON_BYTES - 10)}"x":1}`, alike);
  const same = pointers(many, (at) => `${"n".repeat(200)}${at}`);
  const names = `{${filled(`"${"n".repeat(200)}x":1,`, MAX_JSON_BYTES - 10)}"x":1}`;
  await key(`${many} pointers: names alike but for their ends`, names, same);
}
await key("template of 8", WORST_JSON["empty objects"] ?? "", [
  { template: Array.from({ length: 8 }, (_, at) => `{json:/${at}}`).join("-") },
]);
await key(
  "cloudevent",
  `{"source":"/a","data":[${filled('{"b":1,"a":2},', MAX_JSON_BYTES - 100)}1],"id":"1"}`,
  ["cloudevent"],
  typed("application/cloudevents+json"),
);
const fields = Array.from({ length: 8 }, (_, at) => `form:${"n".repeat(at)}`.replace(/:$/, ":x"));
await key("8 fields: a value of escapes", `a=${filled("%41", MEBIBYTE - 2)}`, fields, FORM_TYPE);
await key("8 fields: two-byte pairs", filled("a&"), fields, FORM_TYPE);
await key("8 fields: names of escapes", filled("%6e%6e%6e=&"), fields, FORM_TYPE);
await key("8 fields: a name of escapes", filled("%6e"), fields, FORM_TYPE);

// feature: graphql begins
const DOCUMENT = 16 * 1024;
const start = "mutation{";
const fill = (part: string, end = "}", bytes = DOCUMENT): string =>
  `${start}${filled(part, bytes - start.length - end.length)}${end}`;
const DOCUMENTS: Readonly<Record<string, string>> = {
  "one letter names": fill("a "),
  "as many tokens as may be": `${start}${"a ".repeat(990)}}`,
  "as many fields with an alias, an argument and a directive": `${start}${"a:b(c:$d)@e".repeat(120)}}`,
  braces: `${start}${"a{".repeat(480)}a${"}".repeat(480)}}`,
  "braces that do not end": fill("a{", ""),
  lists: `${start}a(b:${"[".repeat(480)}${"]".repeat(480)})}`,
  objects: `${start}a(b:${"{a:".repeat(320)}1${"}".repeat(320)})}`,
  comments: fill("#\n", "a}"),
  "one comment": fill("#", "\na}"),
  "empty lines": fill("\n", "a}"),
  commas: fill(",", "a}"),
  "a block string of lines": fill("\n", '""")}').replace("{", '{a(b:"""'),
  "a block string of indented lines": fill(" \n", '""")}').replace("{", '{a(b:"""'),
  "a string of escapes": fill(String.raw`\u0061`, '")}').replace("{", '{a(b:"'),
  "a string of characters": fill("é", '")}').replace("{", '{a(b:"'),
  "long number": fill("1", ")}").replace("{", "{a(b:"),
  "an error after empty lines": fill("\n", "!"),
  operations: "mutation a{b}".repeat(160),
  fragments: `mutation{a} ${"fragment a on b{c}".repeat(120)}`,
  variables: `mutation(${"$a:B=1 ".repeat(160)}){a}`,
};
for (const [name, query] of Object.entries(DOCUMENTS)) await graphql(name, JSON.stringify({ query }));
for (const name of ["as many tokens as may be", "braces", "comments", "a block string of lines"]) {
  const query = JSON.stringify({ query: DOCUMENTS[name] });
  const many = Math.floor((MAX_JSON_BYTES - 2) / (query.length + 1));
  await graphql(`a batch: ${name}`, `[${Array.from({ length: Math.min(many, 100) }, () => query).join(",")}]`);
}
const small = (bytes: number, text: string): string => `${text}${" ".repeat(bytes - text.length)}`;
const hashes = (many: number): string =>
  `[${Array.from({ length: many }, () => JSON.stringify({ query: small(2500, "{a}"), extensions: { persistedQuery: { sha256Hash: "00" } } })).join(",")}]`;
await graphql("a batch of 100 with hashes", hashes(100));
await graphql(
  "a batch of 100 small mutations",
  `[${Array.from({ length: 100 }, () => JSON.stringify({ query: `${start}${"a ".repeat(900)}}` })).join(",")}]`,
);
await graphql("a batch of 87,000", `[${filled("{},", MAX_JSON_BYTES - 10)}{}]`);
await graphql("a query of 256 KiB", JSON.stringify({ query: `{a}${" ".repeat(MAX_JSON_BYTES - 100)}` }));
await graphql("a query of escapes", `{"query":"{a}${filled(String.raw`\u0061`, MAX_JSON_BYTES - 100)}"}`);
await graphql("a query of line feeds", `{"query":"{a}${filled(String.raw`\n`, MAX_JSON_BYTES - 100)}"}`);
await graphql(
  "a query with a hash",
  JSON.stringify({
    query: `{a}${" ".repeat(MAX_JSON_BYTES - 200)}`,
    extensions: { persistedQuery: { sha256Hash: "00" } },
  }),
);
await graphql(
  "a long hash",
  JSON.stringify({ query: "{a}", extensions: { persistedQuery: { sha256Hash: "A".repeat(MAX_JSON_BYTES - 200) } } }),
);
await graphql("names of escapes", `{${filled(String.raw`"\u0051uery":1,`, MAX_JSON_BYTES - 10)}"x":1}`);
await graphql("a form with a value of escapes", `query=${filled("%41", MEBIBYTE - 10)}`, FORM_TYPE);
await graphql("a form with a value of letters and one escape", `query=%41${filled("a", MEBIBYTE - 10)}`, FORM_TYPE);
await graphql("a form with a value of plus signs", `query=${filled("+", MEBIBYTE - 10)}`, FORM_TYPE);
await graphql("a form with a value of long escapes", `query=${filled("%F0%9F%8E%88", MEBIBYTE - 12)}`, FORM_TYPE);
await graphql("a form with two-byte pairs", filled("a&"), FORM_TYPE);
await graphql("a form with names of plus signs", filled(`${"+".repeat(900)}=&`), FORM_TYPE);
await graphql("a form with names of escapes", filled(`${"%41".repeat(300)}=&`), FORM_TYPE);
await graphql("a form with long names", filled(`${"a".repeat(1100)}=&`), FORM_TYPE);
const variables = (many: number): string =>
  `mutation a(${Array.from({ length: many }, (_, at) => `$a${at}:ID`).join(" ")}){${Array.from({ length: many }, (_, at) => `b${at}:b@idempotent(key:$a${at})`).join(" ")}}`;
await graphql(
  "8 variables",
  JSON.stringify({ query: variables(8), variables: { x: filled("a", MAX_JSON_BYTES - 1000) } }),
);
await graphql(
  "a form with variables",
  `query=${encodeURIComponent(variables(8))}&variables=${filled("%22", MAX_JSON_BYTES)}`,
  FORM_TYPE,
);
const part = (name: string, content: string): string =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;
const MULTIPART = typed("multipart/form-data; boundary=b");
await graphql(
  "an upload of small parts",
  `${part("operations", '{"query":"mutation{a}"}')}${filled(part("x", ""), MEBIBYTE - 100)}--b--`,
  MULTIPART,
);
await graphql(
  "an upload of a file",
  `${part("operations", '{"query":"mutation{a}"}')}${part("x", filled("--b", MEBIBYTE - 300))}--b--`,
  MULTIPART,
);
// feature: graphql ends
