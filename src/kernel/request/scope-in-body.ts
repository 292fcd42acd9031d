// What a scope needs of the body: the parts of it that are there, and whether it is the body for which the caller was proved. A part counts in its
// canonical form (RFC 8785), whatever it is, so that spellings of one value are one scope. Where readers could take different values, the request
// is refused: it must not get into the scope of another value. A body that lacks the member, or is empty, is in a scope of its own.

import type { Route } from "../config/resolved.ts";
import { bodyPartsOf } from "../config/scope-part.ts";
import type { ClientProblem } from "../record/problem.ts";
import type { HeldOrFlowing } from "./body.ts";
import type { HeadersView } from "./headers.ts";
import { certainNodeAt } from "./json-pointer.ts";
import { MAX_JSON_BYTES, MAX_JSON_DEPTH, type JsonNode, scanJson } from "./json.ts";
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
  const all = (part: (name: string, tokens: readonly string[]) => JsonPart): JsonParts =>
    new Map(parts.map(({ name, tokens }) => [name, part(name, tokens)]));
  const refuse = (problem: ClientProblem): JsonParts => all(() => ({ problem }));
  if (body.kind === "over") return refuse(TOO_LARGE);
  const { bytes } = body.body;
  if (bytes.byteLength === 0) return all(() => ({ value: null }));
  const unreadable = unreadableFor(headers, UNTOLD);
  if (unreadable !== null) return refuse({ code: "request-invalid", reason: unreadable });
  const root = await bodySlicer.run(scanJson(bytes, "compared"), request);
  if (root === "too large") return refuse(TOO_LARGE);
  if (typeof root === "string")
    return refuse({ code: "request-invalid", reason: `${UNREAD_JSON[root]}, so ${UNTOLD}.` });
  return all((name, tokens) => partAt(root, name, tokens));
}

function partAt(root: JsonNode, name: string, tokens: readonly string[]): JsonPart {
  const node = certainNodeAt(root, tokens);
  if (node === null) return { value: null };
  if (node !== "ambiguous" && node.canonical !== null) return { value: node.canonical };
  const reason = `The value at ${name} in the body, which says whose key this is, can be read in more than one way: send each name once, in one case, and exact numbers.`;
  return { problem: { code: "request-invalid", reason } };
}

const UNTOLD = "the gateway cannot tell whose key this is";

const UNREAD_JSON = {
  "not JSON": "The body is not JSON in UTF-8",
  "too deep": `The body has more than ${MAX_JSON_DEPTH.toLocaleString("en")} levels of JSON`,
} as const;

const TOO_LARGE: ClientProblem = { code: "body-too-large", limitBytes: MAX_JSON_BYTES, holds: "scope" };

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
