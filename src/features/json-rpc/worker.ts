// JSON-RPC in the Worker: a replay under the id of the call that gets it, and what becomes of a request to a JSON-RPC server. It becomes an exchange if a
// route names its call, passes if none does, and is refused if nobody can say which call it is. The whole body is read first, because nothing else tells
// what the server will do.

import { pointerTokens } from "../../kernel/config/values.ts";
import { describeSources, type KeyPart, partsOf } from "../../kernel/config/key-source.ts";
import type { ClientProblem } from "../../kernel/record/problem.ts";
import type { SearchedKey, SetMember } from "../../kernel/request-feature.ts";
import type { BodyReader } from "../../kernel/request/body-reader.ts";
import { type HeldBody, readBody } from "../../kernel/request/body.ts";
import { findKey } from "../../kernel/request/find-key.ts";
import type { SearchIntent } from "../../kernel/request/intent.ts";
import { findPlaces, textOfJson, valueAt } from "../../kernel/request/json-places.ts";
import {
  bodySlicer,
  type BodyValues,
  jsonValue,
  nameOf,
  type PartValue,
  unreadableFor,
} from "../../kernel/request/key-places.ts";
import { repeatedValues } from "../../kernel/request/repeated-values.ts";
import type { ReplaySet, Route } from "../../kernel/config/resolved.ts";
import { WHOLE_BODY_BYTES } from "../../kernel/request/message.ts";
import { MAX_VALUE_LENGTH } from "../../kernel/request/key.ts";
import { type ChosenRoute, chooseRoute, mayBeProtected } from "./choose-route.ts";
import { type CallReading, readCall, type RpcCall } from "./read-call.ts";

export { editReplay } from "./edit-replay.ts";

export async function callSearch(intent: SearchIntent): Promise<SearchedKey> {
  const { route, headers, passing } = intent;
  const body = await readBody({ request: passing.request, headers, route }, "search");
  switch (body.kind) {
    case "refuse":
      return refuse(body.problem, body.rest);
    case "too-large":
      return refuse({ code: "body-too-large", limitBytes: route.maxRequestBodyBytes }, body.rest);
    case "over":
      return refuse({ code: "body-too-large", limitBytes: WHOLE_BODY_BYTES, holds: "key" }, body.rest);
    case "whole":
      return searchBody(intent, body.body);
  }
}

async function searchBody(intent: SearchIntent, body: HeldBody): Promise<SearchedKey> {
  const { headers, passing, alternatives } = intent;
  const routes = alternatives.filter(({ methods }) => methods.includes(passing.request.method));
  const pass: SearchedKey = { kind: "pass", passing, body };
  const wrong = (reason: string, isJson = true): Promise<SearchedKey> =>
    refuseCall(
      { code: "request-invalid", reason, ...(isJson ? null : { isNotJson: true }) },
      intent.route,
      body,
      passing.request,
    );
  // A server would read other text.
  const coded = unreadableFor(headers, UNTOLD);
  if (coded !== null) return wrong(coded);
  const reading = await bodySlicer.run(readCall(body.bytes), passing.request);
  switch (reading.kind) {
    case "unreadable":
      return wrong(`${reading.why} So ${UNTOLD}.`, reading.isJson);
    case "no-call":
      return pass;
    case "batch":
      return isProtected(reading, routes)
        ? wrong("The batch has a call that is protected, and one key stands for one call; send that call alone.")
        : pass;
    case "call": {
      const { call } = reading;
      if (call.unclear !== null) return mayBeProtected(routes, call) ? wrong(call.unclear) : pass;
      const chosen = chooseRoute(routes, call);
      return chosen === null ? pass : withKey(intent, call, chosen, body);
    }
  }
}

const UNTOLD = "nobody can say whether it calls what has to be protected";

function isProtected(
  { calls }: Extract<CallReading, { kind: "batch" }>,
  routes: SearchIntent["alternatives"],
): boolean {
  return calls.some((call) =>
    call.unclear === null ? chooseRoute(routes, call) !== null : mayBeProtected(routes, call),
  );
}

async function withKey(
  { headers, passing }: SearchIntent,
  { id: callId }: RpcCall,
  { route, isOptional }: ChosenRoute,
  body: HeldBody,
): Promise<SearchedKey> {
  const { request, url } = passing;
  const values = await bodySlicer.run(keyValues(route.keyFrom.flatMap(partsOf), body.bytes), request);
  const found = await findKey(route, { headers, search: url.search }, values);
  switch (found.kind) {
    case "key": {
      const sets = route.jsonrpc?.replaySet ?? [];
      const members = sets.length === 0 ? [] : await replayMembers(sets, body, request);
      return {
        kind: "keyed",
        intent: { kind: "exchange", request, headers, url, route, key: found, edits: { callId, members } },
        body: { kind: "whole", body },
      };
    }
    case "absent":
    case "body":
      if (isOptional) return { kind: "pass", passing, body };
      return refuseCall({ code: "key-missing", ways: describeSources(route) }, route, body, request);
    case "invalid":
      return refuseCall({ code: "key-invalid", reason: found.reason }, route, body, request);
  }
}

/** What a replay has for this call, as far as its body says it. */
async function replayMembers(
  sets: readonly ReplaySet[],
  body: HeldBody,
  caller: Request,
): Promise<readonly SetMember[]> {
  const pointers = sets.flatMap((set) => ("from" in set ? [set.from] : []));
  const values = await repeatedValues({ pointers }, body, caller);
  return sets.map((set) => ({
    tokens: pointerTokens(set.at),
    json: "from" in set ? (values.get(set.from) ?? null) : set.json,
  }));
}

/** What the body has at the places of keys. Pauses after each slice of its work. */
function* keyValues(parts: readonly KeyPart[], body: Uint8Array): Generator<undefined, BodyValues> {
  const json = parts.filter((part) => part.kind === "json");
  const text = textOfJson(body) ?? "";
  const places = yield* findPlaces(
    text,
    json.map(({ tokens }) => tokens),
  );
  const values = new Map<string, PartValue>();
  for (const [index, part] of json.entries()) {
    const place = typeof places === "string" ? null : (places[index] ?? null);
    if (place === null) continue;
    const value = place === "ambiguous" ? ({ kind: "repeated" } as const) : valueAt(text, place);
    const isLong = "text" in value && value.text.length > MAX_VALUE_LENGTH;
    values.set(nameOf(part), jsonValue([isLong ? { kind: "long" } : value], part));
  }
  return values;
}

/** A problem repeats the id of the call, so that its client finds that. */
async function refuseCall(problem: ClientProblem, route: Route, body: HeldBody, caller: Request): Promise<SearchedKey> {
  const repeated = await repeatedValues(route.problemShape, body, caller);
  body.free();
  return { kind: "refuse", problem, unread: null, repeated, route };
}

function refuse(problem: ClientProblem, unread: BodyReader | null = null): SearchedKey {
  return { kind: "refuse", problem, unread };
}
