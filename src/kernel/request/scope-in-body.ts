// What a scope needs of the body: the parts of it that are there, and whether it is the body for which the caller was proved. A part counts in its
// canonical form (RFC 8785), whatever it is, so that spellings of one value are one scope. Where readers could take different values, the request
// is refused: it must not get into the scope of another value. A body that lacks the member, or is empty, is in a scope of its own.

import type { Route } from "../config/resolved.ts";
import { bodyPartsOf } from "../config/scope-part.ts";
import type { ClientProblem } from "../record/problem.ts";
import type { HeldOrFlowing } from "./body.ts";
import type { HeadersView } from "./headers.ts";
import { MAX_JSON_BYTES, MAX_JSON_DEPTH, type JsonNode, scanText, type UnreadJson } from "./json.ts";
import { findPlaces, textOfJson } from "./json-places.ts";
import { bodySlicer, unreadableFor } from "./key-places.ts";
import { WHOLE_BODY_BYTES } from "./message.ts";
import type { CallerProofs, JsonPart, JsonParts } from "./scope.ts";
import type { WaitingCaller } from "./time-slicer.ts";

/** Whether the body says in which scope a request is, or was in an earlier one. */
export function hasScopeInBody({ scope, previousScopes }: ScopesOfRoute): boolean {
  return bodyPartsOf(scope).length > 0 || previousScopes.some((parts) => bodyPartsOf(parts).length > 0);
}

/** `request`: whose memory is free when nobody waits any more. */
export interface ScopedBody {
  readonly headers: HeadersView;
  readonly route: ScopesOfRoute;
  readonly request: WaitingCaller | null;
}

type ScopesOfRoute = Pick<Route, "scope" | "previousScopes">;

/** What the body has for each of the parts. */
export async function jsonParts({ headers, route, request }: ScopedBody, body: HeldOrFlowing): Promise<JsonParts> {
  const parts = [route.scope, ...route.previousScopes].flatMap(bodyPartsOf);
  const all = (part: JsonPart): JsonParts => new Map(parts.map(({ name }) => [name, part]));
  const refuse = (problem: ClientProblem): JsonParts => all({ problem });
  if (body.kind === "over") return refuse(TOO_LARGE);
  const { bytes } = body.body;
  if (bytes.byteLength === 0) return all({ value: null });
  const unreadable = unreadableFor(headers, UNTOLD);
  if (unreadable !== null) return refuse({ code: "request-invalid", reason: unreadable });
  const found = await bodySlicer.run(
    valuesIn(
      bytes,
      parts.map(({ tokens }) => tokens),
    ),
    request,
  );
  if (found === "too large") return refuse(TOO_LARGE);
  if (typeof found === "string")
    return refuse({ code: "request-invalid", reason: `${UNREAD_JSON[found]}, so ${UNTOLD}.` });
  return new Map(parts.map(({ name }, index) => [name, partOf(found[index] ?? null, name)]));
}

/** What is at each pointer: the text is read whole, and only what is found there becomes values. Pauses after each slice of its work. */
function* valuesIn(
  body: Uint8Array,
  pointers: readonly (readonly string[])[],
): Generator<undefined, readonly FoundValue[] | UnreadJson> {
  const text = textOfJson(body);
  if (text === null) return "not JSON";
  const places = yield* findPlaces(text, pointers, "ambiguous");
  if (typeof places === "string") return places;
  const values: FoundValue[] = [];
  for (const place of places) {
    if (place === null || place === "ambiguous") values.push(place);
    else values.push(yield* scanText(text.slice(place.from, place.to), "compared"));
  }
  return values;
}

/** `null`: nothing. */
type FoundValue = JsonNode | UnreadJson | "ambiguous" | null;

function partOf(found: FoundValue, name: string): JsonPart {
  if (found === null) return { value: null };
  if (typeof found !== "string" && found.canonical !== null) return { value: found.canonical };
  const wrong = found === "too large" ? TOO_LONG : AMBIGUOUS;
  const reason = `The value at ${name} in the body, which says whose key this is, ${wrong}.`;
  return { problem: { code: "request-invalid", reason } };
}

const AMBIGUOUS = "can be read in more than one way: send each name once, in one case, and exact numbers";
const TOO_LONG = `may have at most ${MAX_JSON_BYTES / 1024} KiB`;

const UNTOLD = "the gateway cannot tell whose key this is";

const UNREAD_JSON = {
  "not JSON": "The body is not JSON in UTF-8",
  "too deep": `The body has more than ${MAX_JSON_DEPTH.toLocaleString("en")} levels of JSON`,
} as const;

const TOO_LARGE: ClientProblem = { code: "body-too-large", limitBytes: WHOLE_BODY_BYTES, holds: "scope" };

/** Whether a proof is whole only with the body. */
export function needBody(proofs: CallerProofs): boolean {
  for (const proof of proofs.values()) if ("value" in proof && proof.checkBody !== undefined) return true;
  return false;
}

/** The proofs as this body leaves them. */
export async function proofsWithBody(proofs: CallerProofs, body: HeldOrFlowing): Promise<CallerProofs> {
  const checked = [...proofs].map(async ([name, proof]) => {
    if (!("value" in proof) || proof.checkBody === undefined) return [name, proof] as const;
    const problem = body.kind === "over" ? TOO_LARGE_TO_PROVE : await proof.checkBody(body.body.bytes);
    return [name, problem === null ? proof : { problem }] as const;
  });
  return new Map(await Promise.all(checked));
}

const TOO_LARGE_TO_PROVE: ClientProblem = { code: "body-too-large", limitBytes: WHOLE_BODY_BYTES, holds: "signature" };
