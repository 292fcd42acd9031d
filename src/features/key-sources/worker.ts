// A request whose key may be elsewhere than in a header: it becomes an exchange with the key that is found, a refusal, or a request
// without a key, of which its route decides. The body is read only if the key may be there. A request whose key cannot be
// looked for is refused, because it may have one: it never passes unseen.

import type { GraphqlReader, SearchedKey, SearchKey } from "../../kernel/request-feature.ts";
import { DIRECTIVE } from "../../kernel/config/key-source.ts";
import { type HeldBody, readBody, unreadOf } from "../../kernel/request/body.ts";
import { bodyRefusal } from "../../kernel/request/keyless.ts";
import { findKey, type FoundKey } from "../../kernel/request/find-key.ts";
import type { ExchangeIntent, SearchIntent } from "../../kernel/request/intent.ts";
import { type KeyPlaces, nameOf, readBodyValues } from "../../kernel/request/key-places.ts";
import type { IdempotencyKey } from "../../kernel/request/key.ts";

/** `graphql` reads the requests of GraphQL endpoints. */
export function keySearch(graphql: GraphqlReader | null): SearchKey {
  return (intent) => searchKey(intent, graphql);
}

async function searchKey(intent: SearchIntent, graphql: GraphqlReader | null): Promise<SearchedKey> {
  const { route, headers, passing } = intent;
  const places = { headers, search: passing.url.search };
  const early = await findKey(route, places, null);
  // What a GraphQL request is, only its body tells.
  if (early.kind !== "body" && !route.graphql) return withKey(intent, early, null);
  const body = await readBody({ request: passing.request, headers, route }, "search");
  if (body.kind === "whole") return searchBody(intent, places, body.body, graphql);
  // Too large to be looked at, a GraphQL request counts as a mutation.
  if (body.kind === "over" && early.kind === "key") return { kind: "keyed", intent: keyedIntent(intent, early), body };
  return { kind: "refuse", ...bodyRefusal(body, route) };
}

async function searchBody(
  intent: SearchIntent,
  places: KeyPlaces,
  body: HeldBody,
  graphql: GraphqlReader | null,
): Promise<SearchedKey> {
  const { route, headers, passing } = intent;
  const values = await readBodyValues(route, headers, body.bytes, passing.request);
  if (!route.graphql) return withKey(intent, await findKey(route, places, values), body);
  if (graphql === null) throw new TypeError("no feature reads GraphQL");
  const reading = await graphql.read(body.bytes, headers, places.search, passing.request);
  switch (reading.kind) {
    case "other":
      return { kind: "pass", passing, body };
    case "answered":
      body.free();
      return reading;
    case "mutation": {
      const name = nameOf(DIRECTIVE);
      const found = await findKey(route, places, new Map([...values, [name, reading.key]]));
      if (found.kind !== "absent") return withKey(intent, found, body);
      // Only a body that cannot be read has a value here: it may have the directive.
      const unread = values.get(name) ?? graphql.unreadDirective(body.bytes, places.search);
      return withKey(intent, unread.kind === "invalid" ? unread : found, body);
    }
  }
}

function keyedIntent({ passing: { request, url }, headers, route }: SearchIntent, key: IdempotencyKey): ExchangeIntent {
  return { kind: "exchange", request, headers, url, route, key };
}

function withKey(intent: SearchIntent, found: FoundKey, body: HeldBody | null): SearchedKey {
  switch (found.kind) {
    case "key":
      return {
        kind: "keyed",
        intent: keyedIntent(intent, found),
        body: body === null ? null : { kind: "whole", body },
      };
    case "invalid": {
      body?.free();
      const unread = body === null ? unreadOf(intent.passing.request, intent.headers) : null;
      return { kind: "refuse", problem: { code: "key-invalid", reason: found.reason }, unread };
    }
    case "absent":
    case "body":
      return { kind: "absent", body };
  }
}
