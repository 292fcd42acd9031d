// Routers differ in which paths they treat as the same, so a route of the gateway has to protect every path for which the
// origin's router runs the handler. Tested with Fastify and Express: however a path is spelled, no handler of a protected
// route ever runs unprotected.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, type RawResponse } from "../../../support/http.ts";
import { problemCode } from "../../../support/e2e/guarantees-client.ts";
import { type HandlerRun, PATHS, type RoutersOrigin, startRoutersOrigin } from "../../../support/e2e/routers-origin.ts";
import { type Client, clientOf, removeGateway, startGateway } from "../../../support/e2e/scene.ts";

let origin: RoutersOrigin;
let gateway: Gateway;
let client: Client;
beforeAll(async () => {
  origin = await startRoutersOrigin();
  gateway = await startGateway(
    origin.url,
    { shards: 2 },
    PATHS.map((path) => ({ path })),
  );
  client = clientOf(gateway.url);
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

interface Asked {
  readonly response: RawResponse | null;
  readonly runs: readonly HandlerRun[];
}

async function ask(router: string, target: string, key: string | null): Promise<Asked> {
  const id = freshKey();
  const headers = [
    ["X-Case", id],
    ["X-Router", router],
    ["X-Target", encodeURI(target)],
  ] as const;
  const message = { path: target, headers, ...(key === null ? {} : { key }) };
  // A target of which the runtime makes nothing ends the connection.
  const response = await client.send(message).catch(() => null);
  return { response, runs: origin.runs.filter((run) => run.case === id) };
}

const unprotected = ({ runs }: Asked): readonly HandlerRun[] => runs.filter(({ attempt }) => attempt !== "1");

describe("a handler of a protected route", () => {
  it.each([
    ["fastify", "/v1/ord%65rs/a%2fb"],
    ["fastify", "/v1/ord%65rs/%3b"],
    ["fastify", "/v1/p%61yments/..%2fx"],
    ["fastify", "/v1/p%61yments/%2e%2e%2fx"],
    ["fastify", "/v1/orders/"],
    ["fastify", "/v1/ord%65rs/"],
    ["fastify", "/v1/carts//items"],
    ["fastify", "/v1/drafts%2f/../dr%61fts/"],
    ["fastify, loose", "//v1/ORD%45RS//a%2fb/"],
    ["fastify, loose", "/V1/skus/ABC"],
    ["fastify, semicolons", "/v1/refunds;x/y"],
    ["fastify, semicolons", "/v1/r%65funds;x/%2f"],
    ["express", "/V1/Orders/A"],
    ["express", "/v1/REFUNDS/"],
    ["express", "/v1/drafts"],
    ["decoded, then express", "/v1%2f%6frders/a%252fb"],
    ["decoded, then fastify", "/v1/%256frders%2fa"],
  ])("of %s runs for %s protected alone", async (router, target) => {
    const without = await ask(router, target, null);
    expect([without.response === null ? null : problemCode(without.response), without.runs]).toEqual([
      "key-missing",
      [],
    ]);
    const keyed = await ask(router, target, freshKey());
    expect(unprotected(keyed)).toEqual([]);
  });

  it("always runs protected, however its path is spelled", async () => {
    const counts = { ran: 0, missing: 0, odd: 0 };
    const asked = fc.tuple(fc.constantFrom(...origin.routers), oddPath, fc.boolean());
    const property = fc.asyncProperty(fc.array(asked, { minLength: 16, maxLength: 32 }), async (all) => {
      const answers = await Promise.all(
        all.map(([router, target, hasKey]) => ask(router, target, hasKey ? freshKey() : null)),
      );
      for (const answer of answers) {
        expect(unprotected(answer)).toEqual([]);
        counts.ran += answer.runs.length;
        counts.odd += answer.runs.filter(({ target }) => /%|\/\/|;|[A-Z]/.test(target)).length;
        if (answer.response !== null && problemCode(answer.response) === "key-missing") counts.missing += 1;
      }
    });
    await fc.assert(property, { numRuns: 60, interruptAfterTimeLimit: 60_000 });
    // Otherwise nothing has been tried.
    expect(Math.min(counts.ran, counts.missing, counts.odd)).toBeGreaterThan(50);
  });

  it("does not run when the path matches no route: the request passes to the origin", async () => {
    for (const target of ["/v1/order", "/v1/refunds/x", "/v1", "/v1/refunds%2fx", "/v1/carts/1/items/2", "/"]) {
      const { response, runs } = await ask("fastify", target, null);
      expect([target, response?.status, runs]).toEqual([target, 404, []]);
    }
  });
});

const base = fc.constantFrom<string[]>(
  "/v1/orders/a",
  "/v1/orders/",
  "/v1/payments/x/y",
  "/v1/payments",
  "/v1/refunds",
  "/v1/carts/1/items",
  "/v1/drafts/",
  "/v1/SKUs/ABC",
);

const escaped = (character: string): string => `%${(character.codePointAt(0) ?? 0).toString(16).padStart(2, "0")}`;

type Change = (path: string, at: number) => string;

const replaced =
  (make: (character: string) => string): Change =>
  (path, at) =>
    path.slice(0, at) + make(path[at] ?? "") + path.slice(at + 1);

const inserted =
  (text: string): Change =>
  (path, at) =>
    path.slice(0, at) + text + path.slice(at);

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom<Change>(
      replaced(escaped),
      replaced((character) => escaped(character).toUpperCase()),
      replaced((character) =>
        character === character.toUpperCase() ? character.toLowerCase() : character.toUpperCase(),
      ),
      replaced((character) => escaped(character).replace("%", "%25")),
    ),
  },
  fc
    .constantFrom("/", "//", "%2f", "%5c", "\\", ";", ";x=1", "%3b", "%00", "%3f", "%23", "+", "%20", "%ff", "%c3%a9")
    .map(inserted),
  fc.constantFrom("/./", "/../", "..%2f", "%2e%2e/", "x/../", "%2e%2e%2f", "x%2f..%2f", "/%2e/").map(inserted),
  fc.constantFrom<Change>(
    (path) => `${path}/`,
    (path) => path.replace(/\/$/, ""),
    (path) => `/${path}`,
  ),
);

/** A path of a protected route, written in another way, which may make another path of it. */
const oddPath = fc
  .tuple(base, fc.array(fc.tuple(change, fc.nat({ max: 40 })), { minLength: 1, maxLength: 4 }))
  .map(([path, changes]) => changes.reduce((before, [make, at]) => make(before, 1 + (at % before.length)), path));
