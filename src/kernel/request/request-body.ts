// Reads the body of a request that a route protects, as far as it may be held in memory.

import type { Route } from "../config/resolved.ts";
import type { ClientProblem } from "../record/problem.ts";
import { BROKEN_BODY, LATE_BODY } from "./body.ts";
import { type BodyReader, ByteReader } from "./body-reader.ts";
import { type BoundedBody, readBounded, readSmall, SMALL_BYTES, type UnheldBody } from "./body.ts";
import { ByteBudget } from "./byte-budget.ts";
import { declaredLength, type HeadersView } from "./headers.ts";
import type { ExchangeIntent } from "./intent.ts";
import { WHOLE_BODY_BYTES } from "./message.ts";
import { isAccepted, preferencesIn } from "./prefer.ts";

/** How many body bytes all requests of one isolate may hold before a shard has taken them; beyond that, bodies flow through. */
const HELD_BYTES = 12 << 20;

/** The longest that any of them is held: it is read soon or not held, and then offered three times at most. */
const HELD_MS = 60_000;

/** Counts the body bytes that the requests of this isolate hold. */
export const requestMemory = new ByteBudget(HELD_BYTES, HELD_MS);

/** The same for bodies in which a key may be: they cannot flow, so bodies that can take no room from them. */
const searchMemory = new ByteBudget(HELD_BYTES, HELD_MS);

/** A body that is whole, or goes on. */
export type HeldOrFlowing = Exclude<BoundedBody, UnheldBody>;

export type ReadBody =
  | HeldOrFlowing
  | { readonly kind: "too-large"; readonly rest: BodyReader }
  /** Not to be had: the problem says why. */
  | { readonly kind: "refuse"; readonly problem: ClientProblem; readonly rest: BodyReader | null };

/** Reads a body as far as it may be held. `purpose`: a body in which a key is looked for has to be held whole. */
export async function readBody(
  { request, headers, route }: Pick<ExchangeIntent, "request" | "headers" | "route">,
  purpose: "forward" | "search",
): Promise<ReadBody> {
  const limitBytes = flowsThrough(route, headers) ? Number.POSITIVE_INFINITY : route.maxRequestBodyBytes;
  const length = declaredLength(headers);
  if (length !== null && length > limitBytes && request.body !== null) {
    return { kind: "too-large", rest: new ByteReader(request.body) };
  }
  const bound = Math.min(WHOLE_BODY_BYTES, limitBytes);
  const isSmall = length !== null && length <= Math.min(SMALL_BYTES, bound);
  const { idleTimeoutMs } = route.rules;
  const reading = isSmall
    ? readSmall(request, idleTimeoutMs)
    : readBounded(request.body, {
        limitBytes: bound,
        budget: purpose === "search" ? searchMemory : requestMemory,
        idleMs: idleTimeoutMs,
        unlessHeld: purpose === "search" ? "refuse" : "flow",
        caller: request,
      });
  const body = await reading.catch(() => null);
  if (body === null) return { kind: "refuse", problem: BROKEN_BODY, rest: null };
  switch (body.kind) {
    case "late":
      return { kind: "refuse", problem: LATE_BODY, rest: body.rest };
    case "no-room":
      return { kind: "refuse", problem: { code: "store-unavailable" }, rest: body.rest };
    case "over":
      return body.readBytes > limitBytes ? { kind: "too-large", rest: body.rest } : body;
    case "whole":
      return body;
  }
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
