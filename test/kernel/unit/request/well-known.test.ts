// What the gateway publishes of its routes for clients.

import * as v from "valibot";
import { expect, it } from "vitest";
import { readConfig } from "../../../../src/features/settings.ts";
import { wellKnownResponse } from "../../../../src/kernel/request/well-known.ts";

const published = v.looseObject({
  specification: v.string(),
  problems: v.array(
    v.strictObject({
      type: v.string(),
      code: v.string(),
      title: v.string(),
      status: v.number(),
      retryable: v.union([v.boolean(), v.literal("by unknownOutcome")]),
    }),
  ),
  routes: v.array(
    v.looseObject({ fingerprint: v.looseObject({ of: v.array(v.string()), query: v.optional(v.string()) }) }),
  ),
});

async function publishedFor(route: object): Promise<v.InferOutput<typeof published>> {
  const read = readConfig({ IDEMPOTENCY: { origin: "https://api.acme.com" }, ROUTES: [{ path: "/pay", ...route }] });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return v.parse(published, await wellKnownResponse(read.config).json());
}

it.each([
  ["none", ["method", "path"], undefined],
  ["exact", ["method", "path", "query"], undefined],
  ["sorted", ["method", "path", "query"], "sorted"],
])("says what a retry may change: query = %j", async (query, of, reported) => {
  const { routes } = await publishedFor({ fingerprint: { query } });
  expect(routes.map(({ fingerprint }) => [fingerprint.of, fingerprint.query])).toEqual([[of, reported]]);
});

it.each(["required", "optional"])("says whether a request needs a key, and of which form: %s", async (key) => {
  const { routes } = await publishedFor({ key, key_format: { pattern: "^k", min: 2, max: 9 } });
  expect(routes[0]).toMatchObject({
    key: { required: key === "required", minLength: 2, maxLength: 9, pattern: "^k" },
  });
});

it("says of each problem with which status it comes, and whether a retry is worth something", async () => {
  const { problems } = await publishedFor({});
  expect(problems.map(({ code, status, retryable }) => `${code} ${status} ${retryable}`).toSorted()).toEqual([
    "attempts-exhausted 502 true",
    "body-too-large 413 false",
    "cancel-refused 409 true",
    "configuration-invalid 500 false",
    "credential-invalid 401 false",
    "identity-unavailable 503 true",
    "in-flight 409 true",
    "key-abandoned 409 false",
    "key-expired 409 false",
    "key-invalid 400 false",
    "key-missing 400 false",
    "key-not-known 404 false",
    "key-reused 422 false",
    "monitor-not-found 404 false",
    "origin-dropped 502 by unknownOutcome",
    "origin-timeout 504 by unknownOutcome",
    "origin-unreachable 502 true",
    "outcome-unknown 409 by unknownOutcome",
    "repeated-content 409 false",
    "request-invalid 400 false",
    "response-not-kept 409 false",
    "store-unavailable 503 true",
    "too-many-keys 429 true",
  ]);
  for (const { type, code } of problems) expect(type).toBe(`/.well-known/idempotency#${code}`);
});

it("names the draft, and for how long a route keeps its answers", async () => {
  const { specification, routes } = await publishedFor({ retention: "36h" });
  expect(specification).toContain("draft-ietf-httpapi-idempotency-key-header");
  expect(routes[0]).toMatchObject({ path: "/pay", methods: ["POST", "PATCH"], retentionSeconds: 36 * 3_600 });
});
