// What it adds to a request that its key is looked for where `key_from` says, or that it is GraphQL. The bodies are those of small requests,
// but for the upload of many parts, which bounds what the runtime's own parser takes.

import { parseKeySource, type KeySource, type WrittenSource } from "../../../src/kernel/config/key-source.ts";
import { findKey } from "../../../src/kernel/request/find-key.ts";
import { readGraphql } from "../../../src/features/graphql/graphql.ts"; // feature: graphql
import { readBodyValues } from "../../../src/kernel/request/key-places.ts";
import { parseKey } from "../../../src/kernel/request/key.ts";

const FORMAT = { pattern: null, min: 1, max: 255 };
const KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324";
const encoder = new TextEncoder();

const BODY = encoder.encode(
  JSON.stringify({ id: KEY, shop: "s-17", amount: 4200, currency: "eur", customer: { name: "Ada" }, items: [1, 2, 3] }),
);
const HEADERS = new Headers({ "content-type": "application/json", "idempotency-key": KEY, "x-request-id": KEY });

function finder(...written: readonly WrittenSource[]): () => Promise<void> {
  const keyFrom = written.map((one): KeySource => {
    const source = parseKeySource(one);
    if (!source.ok) throw new Error(source.message);
    return source.value;
  });
  const route = { keyFrom, keyFormat: FORMAT };
  const places = { headers: HEADERS, search: "" };
  return async () => {
    const early = await findKey(route, places, null);
    const found =
      early.kind === "body" ? await findKey(route, places, await readBodyValues(route, HEADERS, BODY)) : early;
    if (found.kind !== "key") throw new Error(found.kind);
  };
}

// feature: graphql begins
function graphql(query: string): () => Promise<unknown> {
  const variables = { input: { amount: 4200, currency: "eur" } };
  const body = encoder.encode(JSON.stringify({ operationName: "Pay", query, variables }));
  return () => readGraphql(body, HEADERS, "");
}
// feature: graphql ends

// feature: graphql begins
const MUTATION = "mutation Pay($input: PayInput!) { pay(input: $input) { id status amount currency createdAt } }";

const UPLOAD = new Headers({ "content-type": "multipart/form-data; boundary=b" });
const part = (name: string, content: string): string =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;
const parts = encoder.encode(`${part("operations", '{"query":"mutation{a}"}')}${part("x", "").repeat(20_000)}--b--`);
// feature: graphql ends

export const KEY_CALLS: Readonly<Record<string, (request: Request) => unknown>> = {
  "key-default": () => parseKey(HEADERS, ["Idempotency-Key"], FORMAT),
  "key-header": finder("header:X-Request-Id"),
  "key-json": finder("json:/id"),
  "key-template": finder({ template: "pay-{json:/shop}-{json:/id}" }),
  "graphql-query": graphql(MUTATION.replace("mutation", "query")), // feature: graphql
  "graphql-mutation": graphql(MUTATION), // feature: graphql
  "worst-upload": () => readGraphql(parts, UPLOAD, ""), // feature: graphql
};
