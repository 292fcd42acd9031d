// From a request with a key to the exchange that the shard runs: its scope, body and fingerprint are read here. Nothing is
// sent before all of the request has been found good.

import { type Layout, layoutName } from "../config/layout.ts";
import type { Route, RouteRules } from "../config/resolved.ts";
import type { ClientProblem } from "../core/problem.ts";
import { attemptId, type RecordId } from "../core/units.ts";
import type { Telemetry } from "../traffic/exchange-reporter.ts";
import { type BodyReader, ByteReader } from "./body-reader.ts";
import { type BoundedBody, readBounded, readSmall, SMALL_BYTES } from "./body.ts";
import { ByteBudget } from "./byte-budget.ts";
import type { Encryptions } from "./encryption.ts";
import { lastEventId } from "./event-stream.ts";
import { type FingerprintParts, fingerprintRequest } from "./fingerprint.ts";
import { hostForScope } from "./forwarded.ts";
import { declaredLength, type HeadersView } from "./headers.ts";
import type { NamedElder } from "./hops.ts";
import type { ExchangeIntent } from "./intent.ts";
import {
  type ExchangeRequest,
  type NamesIn,
  type RecordName,
  type Upload,
  type Verification,
  WHOLE_BODY_BYTES,
} from "./message.ts";
import { countFor } from "./new-keys.ts";
import { originCall, verificationOf } from "./origin-parts.ts";
import { nameRecord } from "./record-name.ts";
import { readScope, type ScopeValues } from "./scope.ts";

/** How many body bytes all requests of one isolate may hold before a shard has taken them; beyond that, bodies flow through. */
const HELD_BYTES = 24 << 20;

/** The longest that any of them is held: it is read soon or not held, and then offered three times at most. */
const HELD_MS = 60_000;

/** Counts the body bytes that the requests of this isolate hold. */
export const requestMemory = new ByteBudget(HELD_BYTES, HELD_MS);

/** The parts of a request that have been read. */
export type ReadExchange =
  | { readonly kind: "exchange"; readonly exchange: ExchangeRequest }
  /** `unread` is the rest of a body that is too large; `null` otherwise. */
  | { readonly kind: "refuse"; readonly problem: ClientProblem; readonly unread: BodyReader | null };

export async function readExchange(
  intent: ExchangeIntent,
  telemetry: Telemetry,
  encryptions: Encryptions,
): Promise<ReadExchange> {
  const { headers, url, route } = intent;
  const scope = readScope(headers, hostForScope(url, headers, route), route.scope);
  if ("problem" in scope) return refuse({ code: "request-invalid", reason: scope.problem });
  const body = await readBody(intent);
  switch (body.kind) {
    case "broken":
      return refuse({ code: "request-invalid", reason: "The request's body broke off or is malformed." });
    case "too-large":
      return refuse({ code: "body-too-large", limitBytes: route.maxRequestBodyBytes }, body.rest);
    case "whole":
    case "over": {
      const exchange = await exchangeOf(intent, scope.values, body, telemetry);
      if (route.sealed === false) return { kind: "exchange", exchange };
      const head = await encryptions.encrypted(exchange.head, scope.values, route.sealed);
      return { kind: "exchange", exchange: { ...exchange, head } };
    }
  }
}

function refuse(problem: ClientProblem, unread: BodyReader | null = null): ReadExchange {
  return { kind: "refuse", problem, unread };
}

type ReadBody = BoundedBody | { readonly kind: "broken" } | { readonly kind: "too-large"; readonly rest: BodyReader };

/** Reads a body as far as it may be held. Where the route compares no bodies they only flow through, so any size is good. */
async function readBody({ request, headers, route }: ExchangeIntent): Promise<ReadBody> {
  const limitBytes = route.fingerprint.body === "none" ? Number.POSITIVE_INFINITY : route.maxRequestBodyBytes;
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

async function exchangeOf(
  intent: ExchangeIntent,
  scope: ScopeValues,
  body: BoundedBody,
  { log, serverTiming, trace }: Telemetry,
): Promise<ExchangeRequest> {
  const { request, headers, url, route, key } = intent;
  const parts: FingerprintParts = {
    method: request.method,
    path: url.pathname,
    query: url.search,
    headers: route.fingerprint.headers.map((name) => headers.get(name)),
  };
  const bytes = body.kind === "whole" ? body.body.bytes : new Uint8Array();
  const { own, elders } = route.layouts;
  const olderScopes = olderScopesOf(intent);
  const olderNamesIn = (layout: Layout): Promise<readonly RecordId[]> =>
    Promise.all(olderScopes.map((values) => nameRecord(key.key, values, layoutName(layout))));
  const namesIn: NamesIn = async (layout) => [
    await nameRecord(key.key, scope, layoutName(layout)),
    ...(await olderNamesIn(layout)),
  ];
  const [id, fingerprint] = await Promise.all([
    nameRecord(key.key, scope, layoutName(own)),
    // If the body is still coming, the shard digests its bytes, and the fingerprint computed here is not used.
    fingerprintRequest(parts, bytes, route.fingerprint.body),
  ]);
  const older = olderScopes.length === 0 ? [] : await olderNamesIn(own);
  const verification = verificationOf(intent);
  const newKeys = route.newKeys === null ? null : await countFor(route.newKeys, scope, headers);
  return {
    head: {
      record: { ...named([id, ...older]), key: key.key, route: route.path },
      request: {
        echo: key.raw,
        attemptId: attemptId(crypto.randomUUID()),
        fingerprint,
        sameBytes: route.fingerprint.body === "bytes",
        upload: body.kind === "whole" ? null : uploadOf(headers, route, parts),
        isCached: false,
        lastEventId: lastEventId(headers.get("last-event-id")),
      },
      rules: rulesFor(route, verification),
      call: originCall(intent, trace, bytes.byteLength > 0),
      verification,
      telemetry: { log, serverTiming, trace },
      ...(newKeys === null ? null : { newKeys }),
      layout: own,
      ...(elders.length === 0 ? null : { elders: await namedElders(elders, namesIn) }),
    },
    namesIn,
    body: bytes,
    rest: body.kind === "whole" ? null : body.rest,
    free: () => {
      if (body.kind === "whole") body.body.free();
    },
  };
}

/** A record by its names: its own, then those of older scopes. */
export function named([id, ...olderIds]: Awaited<ReturnType<NamesIn>>): Pick<RecordName, "id" | "olderIds"> {
  return olderIds.length === 0 ? { id } : { id, olderIds };
}

/** A request that an older scope cannot tell was refused there, so it has no record there. */
function olderScopesOf({ request, url, route }: ExchangeIntent): readonly ScopeValues[] {
  return route.previousScopes.flatMap((parts) => {
    const scope = readScope(request.headers, hostForScope(url, request.headers, route), parts);
    return "problem" in scope ? [] : [scope.values];
  });
}

/** Layouts with the names that a request's record has there. */
export function namedElders(layouts: readonly Layout[], namesIn: NamesIn): Promise<readonly NamedElder[]> {
  return Promise.all(layouts.map(async (layout) => ({ layout, recordIds: await namesIn(layout) })));
}

function uploadOf(headers: HeadersView, { fingerprint, maxRequestBodyBytes }: Route, parts: FingerprintParts): Upload {
  return {
    fingerprintParts: fingerprint.body === "none" ? null : parts,
    length: declaredLength(headers),
    maxBytes: maxRequestBodyBytes,
    compare: fingerprint.body === "json" ? "json" : "bytes",
  };
}

/** The route's rules. If the origin cannot be asked about this key, clients are not advised to wait for its answer. */
function rulesFor({ rules }: Route, verification: Verification | null): RouteRules {
  const { policy } = rules;
  if (policy.unknown !== "verify" || verification !== null) return rules;
  return { ...rules, policy: { ...policy, unknown: "hold" } };
}
