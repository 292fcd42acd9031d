// A request whose key may be elsewhere than in a header: it becomes an exchange with the key that is found, a refusal, or a request
// that passes because its route asks for no key. The body is read only if the key may be there. A request whose key cannot be
// looked for is refused, because it may have one: it never passes unseen.

import { describeSources } from "../config/key-source.ts";
import type { ClientProblem } from "../core/problem.ts";
import type { BodyReader } from "./body-reader.ts";
import type { BoundedBody, HeldBody } from "./body.ts";
import { findKey, type FoundKey } from "./find-key.ts";
import type { ExchangeIntent, SearchIntent } from "./intent.ts";
import { readBodyValues } from "./key-places.ts";
import { WHOLE_BODY_BYTES } from "./message.ts";
import type { PassThroughRequest } from "./pass-through.ts";
import { BROKEN_BODY, readBody } from "./request-body.ts";

/** A request that its route lets pass, and its body if that has been read. */
export interface PassOn {
  readonly kind: "pass";
  readonly passing: PassThroughRequest;
  readonly body: HeldBody | null;
}

export type SearchedKey =
  /** `body` is `null` as long as nobody has read it. */
  | { readonly kind: "keyed"; readonly intent: ExchangeIntent; readonly body: BoundedBody | null }
  | { readonly kind: "refuse"; readonly problem: ClientProblem; readonly unread: BodyReader | null }
  | PassOn;

export async function searchKey(intent: SearchIntent): Promise<SearchedKey> {
  const { route, headers, passing } = intent;
  const places = { headers, search: passing.url.search };
  const found = await findKey(route, places, null);
  if (found.kind !== "body") return withKey(intent, found, null);
  const body = await readBody({ request: passing.request, headers, route });
  switch (body.kind) {
    case "broken":
      return refuse(BROKEN_BODY);
    case "too-large":
      return refuse(tooLarge(route.maxRequestBodyBytes), body.rest);
    case "over": {
      // A body of this size could be held: too many others are.
      if (body.readBytes <= WHOLE_BODY_BYTES) return refuse({ code: "store-unavailable" }, body.rest);
      return refuse(tooLarge(WHOLE_BODY_BYTES), body.rest);
    }
    case "whole": {
      const values = await readBodyValues(route, headers, body.body.bytes);
      return withKey(intent, await findKey(route, places, values), body.body);
    }
  }
}

function tooLarge(limitBytes: number): ClientProblem {
  const isForKey = limitBytes >= WHOLE_BODY_BYTES;
  return isForKey
    ? { code: "body-too-large", limitBytes: WHOLE_BODY_BYTES, holdsKey: true }
    : { code: "body-too-large", limitBytes };
}

function refuse(problem: ClientProblem, unread: BodyReader | null = null): SearchedKey {
  return { kind: "refuse", problem, unread };
}

function withKey({ passing, headers, route }: SearchIntent, found: FoundKey, body: HeldBody | null): SearchedKey {
  switch (found.kind) {
    case "key": {
      const { request, url } = passing;
      const intent: ExchangeIntent = { kind: "exchange", request, headers, url, route, key: found };
      return { kind: "keyed", intent, body: body === null ? null : { kind: "whole", body } };
    }
    case "invalid":
      body?.free();
      return refuse({ code: "key-invalid", reason: found.reason });
    case "absent":
    case "body":
      if (route.key === "optional") return { kind: "pass", passing, body };
      body?.free();
      return refuse({ code: "key-missing", ways: describeSources(route.keyFrom) });
  }
}
