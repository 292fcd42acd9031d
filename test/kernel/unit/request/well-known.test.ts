// What the gateway publishes of its routes for clients.

import * as v from "valibot";
import { expect, it } from "vitest";
import { readConfig } from "../../../../src/features/settings.ts";
import { wellKnownResponse } from "../../../../src/kernel/request/well-known.ts";

const published = v.looseObject({
  routes: v.array(
    v.looseObject({ fingerprint: v.looseObject({ of: v.array(v.string()), query: v.optional(v.string()) }) }),
  ),
});

it.each([
  ["none", ["method", "path"], undefined],
  ["exact", ["method", "path", "query"], undefined],
  ["sorted", ["method", "path", "query"], "sorted"],
])("says what a retry may change: query = %j", async (query, of, reported) => {
  const read = readConfig({
    IDEMPOTENCY: { origin: "https://api.acme.com" },
    ROUTES: [{ path: "/pay", fingerprint: { query } }],
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const { routes } = v.parse(published, await wellKnownResponse(read.config).json());
  expect(routes.map(({ fingerprint }) => [fingerprint.of, fingerprint.query])).toEqual([[of, reported]]);
});

it.each(["required", "optional"])("says whether a request needs a key, and of which form: %s", async (key) => {
  const read = readConfig({
    IDEMPOTENCY: { origin: "https://api.acme.com" },
    ROUTES: [{ path: "/pay", key, key_format: { pattern: "^k", min: 2, max: 9 } }],
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const { routes } = v.parse(published, await wellKnownResponse(read.config).json());
  expect(routes[0]).toMatchObject({
    key: { required: key === "required", minLength: 2, maxLength: 9, pattern: "^k" },
  });
});
