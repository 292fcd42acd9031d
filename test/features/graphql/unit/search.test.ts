// What becomes of a request to a GraphQL endpoint: it has a key, passes, or is refused because it may have a key that is not seen.

import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { graphqlReader } from "../../../../src/features/graphql/worker.ts";
import { keySearch } from "../../../../src/features/key-sources/worker.ts";
import { HeaderSnapshot } from "../../../../src/kernel/request/headers.ts";
import { blockWith } from "../../../support/docs.ts";
import { routeOf } from "../../../kernel/unit/config/support.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const UPLOAD_TYPE = { "Content-Type": "multipart/form-data; boundary=b" };
const PAY = blockWith("src/features/graphql/README.md", "mutation Pay");
const variables = { key: "k" };
const IN_FRAGMENT =
  "mutation Pay($key: String!) { ...P } fragment P on Mutation { pay(amount: 5) @idempotent(key: $key) { number } }";

/** `key K`, `pass`, or the code of the problem. */
async function search(
  key: "optional" | "required",
  body: unknown,
  headers: Readonly<Record<string, string>> = JSON_TYPE,
): Promise<string> {
  const route = routeOf({ graphql: true, key });
  const url = new URL("https://api.example.com/graphql");
  const raw = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const request = new Request(url, { method: "POST", headers, body: new Uint8Array(Buffer.from(raw)) });
  const passing = { request, url, origin: route.origin, trustForwarded: false, keyNames: [] };
  const found = await keySearch(graphqlReader)({
    kind: "search",
    alternatives: [],
    passing,
    headers: new HeaderSnapshot(request.headers),
    route,
  });
  switch (found.kind) {
    case "keyed":
      return `key ${found.intent.key.key}`;
    case "refuse":
      return found.problem.code;
    // Its route decides.
    case "absent":
      return key === "optional" ? "pass" : "key-missing";
    case "pass":
    case "answered":
      return found.kind;
  }
}

/** As the GraphQL multipart request specification has it, with so many parts. */
function uploadOf(parts: number): string {
  const operations = JSON.stringify({ query: PAY, variables });
  return Array.from(
    { length: parts },
    (_, at) =>
      `--b\r\nContent-Disposition: form-data; name="${at === 0 ? "operations" : at}"\r\n\r\n${at === 0 ? operations : "x"}\r\n`,
  )
    .join("")
    .concat("--b--\r\n");
}

describe("a mutation", () => {
  it.each([
    [
      "without a key is refused, or passes where keys are optional",
      { query: "mutation { pay }" },
      "key-missing",
      "pass",
    ],
    ["has the key of its directive", { query: PAY, variables }, "key k", "key k"],
  ])("%s", async (_what, body, required, optional) => {
    expect(await search("required", body)).toBe(required);
    expect(await search("optional", body)).toBe(optional);
  });

  it("has the key of a header, unless its directive has another", async () => {
    const headers = { ...JSON_TYPE, "Idempotency-Key": "h" };
    expect(await search("required", { query: "mutation { pay }" }, headers)).toBe("key h");
    expect(await search("required", { query: PAY, variables }, headers)).toBe("key-invalid");
  });

  it.each([
    [
      "is compressed",
      gzipSync(JSON.stringify({ query: PAY, variables })),
      { ...JSON_TYPE, "Content-Encoding": "gzip" },
    ],
    ["is in another charset", { query: PAY, variables }, { "Content-Type": "application/json; charset=utf-16" }],
    ["is longer than a document that is parsed", { query: `${PAY}#${"x".repeat(33_000)}`, variables }, JSON_TYPE],
    ["is in an upload of more than 200 parts", uploadOf(202), UPLOAD_TYPE],
    ["has it in a fragment", { query: IN_FRAGMENT, variables }, JSON_TYPE],
    ["quotes it", { query: "mutation { pay(amount: 5) { number } }", variables: { why: PAY } }, JSON_TYPE],
    ["has it behind an escape", JSON.stringify({ query: IN_FRAGMENT, variables }).replace("@", "\\u0040"), JSON_TYPE],
  ])(
    "whose directive cannot be read, because it %s, is refused, but not with a key in a header",
    async (_why, body, headers) => {
      expect(await search("optional", body, headers)).toBe("key-invalid");
      expect(await search("optional", body, { ...headers, "Idempotency-Key": "h" })).toBe("key h");
    },
  );
});

it("queries pass, whatever key they have", async () => {
  for (const key of ["required", "optional"] as const) {
    expect(await search(key, { query: "{ payments }" }, { ...JSON_TYPE, "Idempotency-Key": "h" })).toBe("pass");
  }
});
