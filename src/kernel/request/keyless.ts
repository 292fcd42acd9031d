// A request in which there is no key: one is made from its content if its route does that, and otherwise the route decides.

import { describeSources } from "../config/key-source.ts";
import type { Route } from "../config/resolved.ts";
import type { ClientProblem } from "../record/problem.ts";
import type { CanonicalMultipart, MakeContentKey, ProveCaller, SearchedKey } from "../request-feature.ts";
import type { BodyReader } from "./body-reader.ts";
import { type HeldBody, type HeldOrFlowing, readBody, type ReadBody, unreadOf } from "./body.ts";
import { comparedParts, fingerprintRequest } from "./fingerprint.ts";
import type { ExchangeIntent, SearchIntent } from "./intent.ts";
import { WHOLE_BODY_BYTES } from "./message.ts";
import { readScopes } from "./read-scopes.ts";
import { isSomebody, isWholeScope } from "./record-name.ts";
import { hasScopeInBody, jsonParts } from "./scope-in-body.ts";
import { type CallerProofs, NO_PROOFS } from "./scope.ts";

/** Why a body in which a key is looked for is refused: it has to be held whole. */
export function bodyRefusal(
  body: Exclude<ReadBody, { kind: "whole" }>,
  { maxRequestBodyBytes }: Pick<Route, "maxRequestBodyBytes">,
): { readonly problem: ClientProblem; readonly unread: BodyReader | null } {
  switch (body.kind) {
    case "refuse":
      return { problem: body.problem, unread: body.rest };
    case "too-large":
    case "over": {
      const limitBytes = body.kind === "over" ? WHOLE_BODY_BYTES : maxRequestBodyBytes;
      const problem = { code: "body-too-large", limitBytes } as const;
      if (limitBytes < WHOLE_BODY_BYTES) return { problem, unread: body.rest };
      return { problem: { ...problem, limitBytes: WHOLE_BODY_BYTES, holds: "key" }, unread: body.rest };
    }
  }
}

export type KeylessRequest =
  /** The key is made from the content of this caller's request. */
  | {
      readonly kind: "keyed";
      readonly intent: ExchangeIntent;
      readonly body: HeldOrFlowing | null;
      readonly proofs: CallerProofs;
    }
  | Extract<SearchedKey, { readonly kind: "refuse" | "pass" | "answered" }>;

/** What it is read with. */
export interface KeylessPorts {
  readonly proveCaller: ProveCaller;
  /** Only where the feature is. */
  readonly makeContentKey?: MakeContentKey;
  readonly canonicalMultipart?: CanonicalMultipart;
}

/**
 * A key is made only for a caller who shares a scope with nobody: strangers would get each other's answers. `read`: what has been read of the body;
 * `known`: whose request it is, if that has been read.
 */
export async function readKeyless(
  intent: SearchIntent,
  read: HeldBody | null,
  known: CallerProofs | null,
  ports: KeylessPorts,
): Promise<KeylessRequest> {
  const { route, headers, passing } = intent;
  if (route.contentKey === null) return withoutKey(intent, read, route);
  const caller = { route, headers, url: passing.url, request: passing.request };
  const proofs = known ?? (route.identities.length > 0 ? await ports.proveCaller(caller) : NO_PROOFS);
  const scopes = readScopes(caller, proofs);
  if ("problem" in scopes && scopes.problem.code !== "credential-invalid") return refused(intent, read, scopes.problem);
  const isInBody = hasScopeInBody(route);
  // As long as nobody says whose request it is, only a key of its own would help.
  const ofNobody = { ...route, contentKey: null };
  if ("problem" in scopes || !(isInBody ? isSomebody : isWholeScope)(scopes.scope)) {
    return withoutKey(intent, read, ofNobody);
  }
  if (ports.makeContentKey === undefined) throw new TypeError("no feature makes keys from content");
  const { request, url } = passing;
  const made = await ports.makeContentKey(intent, read, (body) => {
    const { parts, comparison } = comparedParts({ request, headers, url, route });
    return fingerprintRequest(parts, body, comparison, request, ports.canonicalMultipart);
  });
  switch (made.kind) {
    case "keyed": {
      if (!isInBody) return { ...made, proofs };
      const body = made.body ?? (await readBody(made.intent, "search"));
      if (body.kind !== "whole") return { kind: "refuse", ...bodyRefusal(body, route) };
      const whole = readScopes(caller, proofs, await jsonParts({ headers, route, request }, body));
      if ("problem" in whole) return refused(intent, body.body, whole.problem);
      return isWholeScope(whole.scope) ? { ...made, body, proofs } : withoutKey(intent, body.body, ofNobody);
    }
    case "absent":
      return withoutKey(intent, made.body, route);
    case "refuse":
    case "pass":
    case "answered":
      return made;
  }
}

/** `ways`: where a key could have been. */
function withoutKey(
  intent: SearchIntent,
  body: HeldBody | null,
  ways: Pick<Route, "keyFrom" | "contentKey">,
): KeylessRequest {
  if (intent.route.key === "optional") return { kind: "pass", passing: intent.passing, body };
  const described = describeSources(ways);
  return refused(intent, body, { code: "key-missing", ways: described === "" ? "a credential" : described });
}

function refused({ passing, headers }: SearchIntent, body: HeldBody | null, problem: ClientProblem): KeylessRequest {
  body?.free();
  return { kind: "refuse", problem, unread: body === null ? unreadOf(passing.request, headers) : null };
}
