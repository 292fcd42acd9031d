// A GraphQL endpoint (`graphql = true`) in front of a real GraphQL server: mutations take effect once, queries and subscriptions pass
// as they came. What counts as a mutation, and which key it has, is tested in unit/, and against the reference implementation in property/.

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { buildSchema, graphql } from "graphql";
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { blockWith } from "../../../support/docs.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, type HeaderPair, headerValue, type RawResponse } from "../../../support/http.ts";
import { expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { clientOf, type Message, removeGateway, startGateway } from "../../../support/e2e/scene.ts";

const schema = buildSchema(`
  directive @idempotent(key: String!) on MUTATION | FIELD
  type Payment { number: Int! amount: Int! }
  type Query { payments: Int! }
  type Mutation { pay(amount: Int!): Payment! }
`);

/** What the server has received and done. */
const seen: { payments: number; bodies: Buffer[]; documents: Map<string, string> } = {
  payments: 0,
  bodies: [],
  documents: new Map(),
};

const rootValue = {
  payments: () => seen.payments,
  pay: ({ amount }: { readonly amount: number }) => ({ number: ++seen.payments, amount }),
};

const requestSchema = v.object({
  query: v.optional(v.string()),
  operationName: v.nullish(v.string()),
  variables: v.nullish(v.record(v.string(), v.unknown())),
  extensions: v.optional(v.object({ persistedQuery: v.object({ sha256Hash: v.string() }) })),
});

/** As servers with automatically persisted queries do. */
async function execute({
  query,
  operationName,
  variables,
  extensions,
}: v.InferOutput<typeof requestSchema>): Promise<unknown> {
  const hash = extensions?.persistedQuery.sha256Hash ?? "";
  const source = query ?? seen.documents.get(hash);
  if (source === undefined) {
    return { errors: [{ message: "PersistedQueryNotFound", extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }] };
  }
  if (hash !== "") seen.documents.set(hash, source);
  return graphql({ schema, source, rootValue, operationName: operationName ?? null, variableValues: variables ?? {} });
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const body = await buffer(request);
  seen.bodies.push(body);
  if (request.headers["content-type"] === "application/graphql") return execute({ query: body.toString() });
  if (request.method === "GET") {
    const url = new URL(request.url ?? "", "http://origin");
    return execute({ query: url.searchParams.get("query") ?? "" });
  }
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("multipart/form-data")) {
    const form = await new Response(new Uint8Array(body), { headers: { "Content-Type": type } }).formData();
    return execute(v.parse(requestSchema, JSON.parse(v.parse(v.string(), form.get("operations")))));
  }
  const asked: unknown = JSON.parse(body.toString());
  return Array.isArray(asked)
    ? Promise.all(asked.map((one) => execute(v.parse(requestSchema, one))))
    : execute(v.parse(requestSchema, asked));
}

let server: Server;
let gateway: Gateway;
beforeAll(async () => {
  server = createServer((request, response) => {
    void answer(request).then((result) =>
      response.writeHead(200, { "Content-Type": "application/graphql-response+json" }).end(JSON.stringify(result)),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = v.parse(v.object({ port: v.number() }), server.address()) satisfies Pick<AddressInfo, "port">;
  gateway = await startGateway(`http://127.0.0.1:${port}`, { shards: 2 }, [
    { path: "/graphql", graphql: true },
    { path: "/optional", graphql: true, key: "optional" },
  ]);
});
afterAll(async () => {
  await removeGateway(gateway);
  server.close();
});
beforeEach(() => {
  seen.payments = 0;
  seen.bodies = [];
});

const JSON_LINE: HeaderPair = ["Content-Type", "application/json"];
/** As the documentation has it. */
const PAY = blockWith("src/features/graphql/README.md", "mutation Pay");
const QUERY = "query Ask { payments }";

function ask(body: unknown, others: Partial<Message> = {}): Promise<RawResponse> {
  const text = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return clientOf(gateway.url).send({ path: "/graphql", headers: [JSON_LINE], body: text, ...others });
}

const dataOf = ({ body }: RawResponse): unknown => JSON.parse(body.toString());

describe("a mutation", () => {
  it("with its key in a variable of its directive takes effect once", async () => {
    const key = freshKey();
    const body = { query: PAY, variables: { key } };
    const first = await ask(body);
    expect(dataOf(first)).toEqual({ data: { pay: { number: 1 } } });
    expect([headerValue(first, "idempotency-key"), headerValue(first, "idempotency-status")]).toEqual([key, "first"]);
    expectReplay(await ask(body), first);
    expect(seen.payments).toBe(1);
    expect(seen.bodies.map(String)).toEqual([JSON.stringify(body)]);
  });

  it("without a key is refused, and nothing is forwarded", async () => {
    const problem = expectProblem(await ask({ query: "mutation { pay(amount: 5) { number } }" }), {
      code: "key-missing",
      status: 400,
      retryable: false,
      echo: null,
    });
    expect(problem.detail).toContain("the Idempotency-Key header, or the directive @idempotent of the mutation");
    expect(seen.bodies).toEqual([]);
  });

  it("with a large body is protected by a key in a header, and needs one", async () => {
    const body = { query: PAY, variables: { key: freshKey(), filler: "x".repeat(1 << 20) } };
    expectProblem(await ask(body), { code: "body-too-large", status: 413, retryable: false, echo: null });
    const others = { key: freshKey() };
    const first = await ask(body, others);
    expectReplay(await ask(body, others), first);
    expect(seen.payments).toBe(1);
  });
});

describe("a query", () => {
  it("passes each time, byte by byte, white space and chunks too", async () => {
    const text = '{ "query" :\t"{ payments }" }';
    for (const payments of [3, 4]) {
      seen.payments = payments;
      const answered = await ask(text, { chunked: payments === 4 });
      expect(JSON.stringify(dataOf(answered))).toContain(`"payments":${payments}`);
      expect(headerValue(answered, "idempotency-status")).toBeNull();
    }
    expect(seen.bodies.map(String)).toEqual([text, text]);
  });

  it("with a key passes too, and is told that the key has no effect", async () => {
    const others = { key: freshKey() };
    for (const _ of [1, 2]) {
      expect(headerValue(await ask({ query: QUERY }, others), "idempotency-status")).toBe("ignored");
    }
    expect(seen.bodies).toHaveLength(2);
  });
});

describe("an automatically persisted query", () => {
  const persisted = (query: string): object => ({
    extensions: { persistedQuery: { version: 1, sha256Hash: createHash("sha256").update(query).digest("hex") } },
  });

  it("is asked for its document, and its mutation then takes effect once", async () => {
    const variables = { key: freshKey() };
    for (const attempt of [1, 2, 3]) {
      const known = await ask({ variables, ...persisted(PAY) });
      expect(dataOf(known)).toEqual({
        errors: [{ message: "PersistedQueryNotFound", extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }],
      });
      const whole = await ask({ query: PAY, variables, ...persisted(PAY) });
      expect(dataOf(whole)).toEqual({ data: { pay: { number: 1 } } });
      expect(headerValue(whole, "idempotency-status")).toBe(attempt === 1 ? "first" : "replayed");
    }
    expect(seen.bodies).toHaveLength(1);
  });

  it("cannot hide a mutation behind a query's document", async () => {
    seen.documents.set(createHash("sha256").update(PAY).digest("hex"), PAY);
    const answered = await ask({ query: QUERY, ...persisted(PAY) });
    expectProblem(answered, { code: "key-missing", status: 400, retryable: false, echo: null });
    expect(seen.bodies).toEqual([]);
  });
});

const BOUNDARY = "----boundary-of-a-form-that-is-sent";
const UPLOAD_LINE: HeaderPair = ["Content-Type", `multipart/form-data; boundary=${BOUNDARY}`];

/** As the GraphQL multipart request specification has it, with so many files. */
function uploadOf(operations: object, files: number): string {
  const fields = [["operations", JSON.stringify(operations)], ...Array.from({ length: files }, (_, at) => [at, "x"])];
  const parts = fields.map(
    ([name, text]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
  );
  return `${parts.join("")}--${BOUNDARY}--\r\n`;
}

describe('with key = "optional"', () => {
  const send = (body: unknown, others: Partial<Message> = {}): Promise<RawResponse> =>
    ask(body, { path: "/optional", ...others });

  it("an upload that can be read has the key of its directive", async () => {
    const body = uploadOf({ query: PAY, variables: { key: "in-an-upload" } }, 100);
    const first = await send(body, { headers: [UPLOAD_LINE] });
    expectReplay(await send(body, { headers: [UPLOAD_LINE] }), first);
    expect(seen.payments).toBe(1);
  });
});
