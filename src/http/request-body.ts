// Reads the body of a request that a route protects, as far as it may be held in memory.

import type { Route } from "../config/resolved.ts";
import type { ClientProblem } from "../core/problem.ts";
import { type BodyReader, ByteReader } from "./body-reader.ts";
import { type BoundedBody, readBounded, readSmall, SMALL_BYTES } from "./body.ts";
import { ByteBudget } from "./byte-budget.ts";
import { declaredLength, type HeadersView } from "./headers.ts";
import type { ExchangeIntent } from "./intent.ts";
import { WHOLE_BODY_BYTES } from "./message.ts";
import { isAccepted, preferencesIn } from "./prefer.ts";

/** How many body bytes all requests of one isolate may hold before a shard has taken them; beyond that, bodies flow through. */
const HELD_BYTES = 24 << 20;

/** The longest that any of them is held: it is read soon or not held, and then offered three times at most. */
const HELD_MS = 60_000;

/** Counts the body bytes that the requests of this isolate hold. */
export const requestMemory = new ByteBudget(HELD_BYTES, HELD_MS);

export const BROKEN_BODY: ClientProblem = {
  code: "request-invalid",
  reason: "The request's body broke off or is malformed.",
};

export type ReadBody =
  | BoundedBody
  | { readonly kind: "broken" }
  | { readonly kind: "too-large"; readonly rest: BodyReader };

/** Reads a body as far as it may be held. */
export async function readBody({
  request,
  headers,
  route,
}: Pick<ExchangeIntent, "request" | "headers" | "route">): Promise<ReadBody> {
  const limitBytes = flowsThrough(route, headers) ? Number.POSITIVE_INFINITY : route.maxRequestBodyBytes;
  const length = declaredLength(headers);
  if (length !== null && length > limitBytes && request.body !== null) {
    return { kind: "too-large", rest: new ByteReader(request.body) };
  }
  const bound = Math.min(WHOLE_BODY_BYTES, limitBytes);
  const isSmall = length !== null && length <= Math.min(SMALL_BYTES, bound);
  const reading = isSmall ? readSmall(request) : readBounded(request.body, bound, requestMemory);
  const body = await reading.catch(() => null);
  if (body === null) return { kind: "broken" };
  return body.kind === "over" && body.readBytes > limitBytes ? { kind: "too-large", rest: body.rest } : body;
}

/** Where the route compares no bodies, any size is good, unless the request is stored to be tried later. */
function flowsThrough({ fingerprint, async }: Route, headers: HeadersView): boolean {
  if (fingerprint.body !== "none") return false;
  return async === "never" || !isAccepted(async, preferencesIn(headers.get("prefer")));
}

/** The body of a request that is refused before it is read: a client may send all of it before it reads the answer (drain.ts). */
export function unreadOf({ body }: Request, headers: HeadersView): BodyReader | null {
  const isSmall = (declaredLength(headers) ?? Number.POSITIVE_INFINITY) <= SMALL_BYTES;
  return body === null || isSmall ? null : new ByteReader(body);
}
